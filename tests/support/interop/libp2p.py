"""A peer of the network in a process of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import trio


class Peer:
    """The running peer, and what it prints: one JSON object a line."""

    def __init__(self, process: trio.Process) -> None:
        self._process, self._read = process, bytearray()

    async def report(self) -> dict[str, Any]:
        """Return the next line of JSON that the peer prints."""
        assert self._process.stdout is not None
        while b"\n" not in self._read:
            data = await self._process.stdout.receive_some()
            assert data, "the peer has ended"
            self._read += data
        first, _, rest = bytes(self._read).partition(b"\n")
        self._read = bytearray(rest)
        report: dict[str, Any] = json.loads(first)
        return report

    async def say(self, line: str) -> None:
        """Write a line to its standard input."""
        assert self._process.stdin is not None
        await self._process.stdin.send_all(f"{line}\n".encode())


@asynccontextmanager
async def peer_process(script: Path, *arguments: str, program: str = "node") -> AsyncIterator[Peer]:
    """Yield the running program of a peer."""
    with trio.fail_after(120):
        async with trio.open_nursery() as nursery:
            run = partial(trio.run_process, stdin=subprocess.PIPE, stdout=subprocess.PIPE, check=False)
            process = await nursery.start(run, [program, str(script), *arguments])
            yield Peer(process)
            nursery.cancel_scope.cancel()
