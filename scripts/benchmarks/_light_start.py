"""Node that serves a long chain, and the measured start of a light node from it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cfnode.cli.client import CallRefused
from tests.process import NodeProcess, running_node

LISTENING = re.compile(r"Listening for peers at (\S+)")
PROVEN = "⏩ Proven: block"
MB = 1e6
LOOK_S = 0.25
"""Seconds between two reads of a node's progress and memory."""

Row = tuple[str, str, str, bool | None]


@dataclass(frozen=True, slots=True)
class LightStart:
    """Start of a light node; seconds from the start of its process."""

    listening: float
    """Seconds until the first answer to any call."""
    proven: float
    """Seconds until the last proof was checked."""
    answered: float
    """Seconds until the first verified answer about the state."""
    synced: float
    memory: float
    """Bytes resident in the node and its executor together, at most."""
    database: float
    """Bytes on disk."""


@contextmanager
def served(base: Path, spec: Path) -> Iterator[str]:
    """Run a node that serves the chain of a base path; yield its address."""
    flags = (f"--base-path={base}", f"--chain={spec}", "--sync=full", "--no-prometheus")
    with running_node(base, *flags, "--listen-addr=/ip4/127.0.0.1/tcp/0") as node:
        while (match := LISTENING.search(node.log)) is None:
            time.sleep(0.05)
        yield match[1]


def start_light(folder: Path, spec: Path, server: str) -> LightStart:
    """Start a node with `--sync=light-rpc`, and measure until it has synced; `folder` keeps its proofs."""
    flags = (f"--chain={spec}", "--sync=light-rpc", f"--reserved-nodes={server}", "--reserved-only")
    began = time.perf_counter()
    proven = memory = 0.0
    with running_node(folder, *flags, "--no-prometheus") as node, ThreadPoolExecutor(1) as threads:
        node.call("system_name")
        listening = time.perf_counter() - began
        answered = threads.submit(_first_answer, node)
        while node.call("system_health")["isSyncing"]:
            memory = max(memory, _memory(node))
            if not proven and PROVEN in node.log:
                proven = time.perf_counter() - began
            time.sleep(LOOK_S)
        synced = time.perf_counter() - began
        database = next(folder.rglob("data.mdb")).stat().st_blocks * 512
        return LightStart(listening, proven, answered.result() - began, synced, memory, database)


def _first_answer(node: NodeProcess) -> float:
    """Return the time when the node first returned the FLIP supply at the proven block.

    That takes code and metadata.
    """
    while node.call("chain_getHeader")["number"] == "0x0":
        time.sleep(LOOK_S / 5)
    while True:
        try:
            node.call("cf_flip_supply")
            return time.perf_counter()
        except CallRefused:
            time.sleep(LOOK_S / 5)


def _resident(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    match = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(match[1]) * 1024 if match else 0


def _memory(node: NodeProcess) -> int:
    pid = node.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return _resident(pid) + sum(_resident(int(child)) for child in children)
