"""Observers of an attack: probing processes, memory, and the head."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scripts.redteam_suite.attacker import BEGUN
from scripts.redteam_suite.rpc_wire import RpcFailed, WebSocket
from scripts.redteam_suite.stage import Node, until
from scripts.redteam_suite.target import Target
from tests.process import ROOT

MEMORY_S, HEAD_S = 0.1, 0.5
END_S = 90.0


class Helper:
    """Process of a module of this package that runs until its input ends, and then prints JSON."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"scripts.redteam_suite.{module}", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )

    def end(self, seconds: float = END_S) -> Any:
        """Let the process finish; return its output."""
        try:
            text, _ = self._process.communicate("", timeout=seconds)
        finally:
            self.kill()
        return json.loads(text)

    def kill(self) -> None:
        """Kill the process if it still runs."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


@contextmanager
def attacking(row: str, target: Target, seconds: float, log: Path) -> Iterator[None]:
    """Run the attack of a row from its beginning until the block ends. Raise TimeoutError."""
    order = [sys.executable, "-m", "scripts.redteam_suite.attacker", row, target.as_json(), str(seconds)]
    output = log.with_suffix(".out")
    with log.open("a") as stream, output.open("w") as written:
        process = subprocess.Popen(order, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=written, stderr=stream)
        try:
            until(lambda: BEGUN in output.read_text(), what="the attack begins")
            yield
        finally:
            process.kill()
            process.wait()


class Looks:
    """Observations of a node, and of the honest author, as rows of (when, what)."""

    def __init__(self) -> None:
        self.memory: list[tuple[float, float]] = []
        self.here: list[tuple[float, int]] = []
        """The node's best block, by its answers."""
        self.there: list[tuple[float, int]] = []

    def lag(self, begin: float, end: float) -> list[int]:
        """Return the blocks behind the author at each check.

        A node that does not answer keeps its last head.
        """
        lags, answers, node_head = [], iter([*self.here, (math.inf, 0)]), 0
        answered_at, number = next(answers)
        for looked, author_head in self.there:
            while answered_at <= looked:
                node_head = number
                answered_at, number = next(answers)
            if begin <= looked < end:
                lags.append(author_head - node_head)
        return lags


class Watch:
    """Monitor of a node's memory and of both heads, in threads, until it is closed."""

    def __init__(self, node: Node, author: Node) -> None:
        self._node = node
        self._ended = threading.Event()
        self.looks = Looks()
        heads = [(node, self.looks.here), (author, self.looks.there)]
        self._threads = [threading.Thread(target=self._look_at_memory, daemon=True)] + [
            threading.Thread(target=self._look_at_head, args=arguments, daemon=True) for arguments in heads
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> Looks:
        """Stop the threads, and return what they have seen."""
        self._ended.set()
        for thread in self._threads:
            thread.join(30)
        return self.looks

    def _look_at_memory(self) -> None:
        while not self._ended.wait(MEMORY_S):
            self.looks.memory.append((time.monotonic(), self._node.rss))

    def _look_at_head(self, node: Node, into: list[tuple[float, int]]) -> None:
        socket: WebSocket | None = None
        while not self._ended.wait(HEAD_S):
            try:
                socket = socket or WebSocket(node.rpc_port)
                number = int(socket.call("chain_getHeader")["number"], 16)
                into.append((time.monotonic(), number))
            except (RpcFailed, OSError):
                if socket is not None:
                    socket.close()
                socket = None


def honest(target: Target, *roles: str) -> Helper:
    """Start honest clients of the node in their own process."""
    return Helper("honest", json.dumps({"target": asdict(target), "roles": roles}))


def probe(node: Node) -> Helper:
    """Start the probe of the node's response times in its own process."""
    return Helper("probe", str(node.rpc_port), str(node.pid))
