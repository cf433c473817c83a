"""A real node in a process of its own, for tests that look at it from outside."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cfnode.cli import client
from tests.support.waiting import LIMIT_S

ROOT = Path(__file__).resolve().parent.parent
LISTENING = re.compile(
    r"Running JSON-RPC server: addr=[^ ]*?127\.0\.0\.1:(\d+)|Running JSON-RPC server: addr=0\.0\.0\.0:(\d+)"
)
START_LIMIT = 120.0
"""Seconds: far above what a start takes, so that only a node that hangs fails."""


class NodeProcess:
    """A running `cfnode run`; `log` is what it wrote to standard error."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self.process = process
        self.log_path = log
        self.url = ""

    @property
    def log(self) -> str:
        """The text that the node has logged."""
        return self.log_path.read_text()

    @property
    def ws_url(self) -> str:
        """The address of the node's WebSockets."""
        return self.url.replace("http://", "ws://")

    def call(self, method: str, *params: Any, **named: Any) -> Any:
        """Return the result of one call; raise CallRefused with the error object."""
        return client.call(self.url, method, named or list(params), timeout=60)

    def wait_until_listening(self) -> None:
        """Read the port from the log; raises AssertionError with the log when the node has ended."""
        deadline = time.monotonic() + START_LIMIT
        while time.monotonic() < deadline:
            match = LISTENING.search(self.log)
            if match:
                self.url = f"http://127.0.0.1:{match.group(1) or match.group(2)}"
                return
            assert self.process.poll() is None, f"ended with {self.process.returncode}:\n{self.log}"
            time.sleep(0.02)
        raise AssertionError(f"not listening after {START_LIMIT} s:\n{self.log}")

    def stop(self, number: int = signal.SIGINT) -> int:
        """Send the signal, give the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(timeout=LIMIT_S)


def command(*arguments: str) -> list[str]:
    """Return `cfnode` in this interpreter."""
    return [sys.executable, "-m", "cfnode", *arguments]


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a newcomer: an empty home, nothing of ours set."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CFNODE_", "XDG_"))}
    return {**kept, "HOME": str(home), "PYTHONPATH": str(ROOT)}


@contextmanager
def running_node(folder: Path, *flags: str, log_name: str = "node.log") -> Iterator[NodeProcess]:
    """Yield a node that listens; ports are its own and `folder` its base path, unless flags differ."""
    with starting_node(folder, *flags, log_name=log_name) as node:
        node.wait_until_listening()
        yield node


@contextmanager
def starting_node(folder: Path, *flags: str, log_name: str = "node.log") -> Iterator[NodeProcess]:
    """Start a node, and yield it from its first moment on."""
    log = folder / log_name
    ports = ["--rpc-port=0", "--port=0", *([] if "--no-prometheus" in flags else ["--prometheus-port=0"])]
    where = (
        []
        if any(flag.startswith(("--base-path", "--tmp")) for flag in flags)
        else [f"--base-path={folder}/base"]
    )
    names = {flag.partition("=")[0] for flag in flags}
    names |= {"--port"} if "--listen-addr" in names else set()
    ports = [flag for flag in ports if flag.partition("=")[0] not in names]
    with log.open("w") as stream:
        process = subprocess.Popen(
            command("run", *where, *ports, *flags),
            stderr=stream,
            stdout=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            env=environment(folder),
            text=True,
            start_new_session=True,
        )
    try:
        yield NodeProcess(process, log)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(timeout=LIMIT_S)


def until(reached: Callable[[], bool]) -> None:
    """Ask a running node again and again; two minutes at most."""
    deadline = time.monotonic() + 120
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.02)
