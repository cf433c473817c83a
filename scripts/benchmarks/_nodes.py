"""Nodes of two checkouts, and what their processes take: processor time, and memory.

Other programs on the machine make a node slower, and take nothing from these figures.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["HERE", "Connection", "MeasuredNode", "before", "development_node"]

HERE = Path(__file__).resolve().parents[2]
"""The folder of the present code."""
_TICKS_S = os.sysconf("SC_CLK_TCK")
_LISTENING = "Running JSON-RPC server"


def before() -> Path | None:
    """Return the checkout of an older version that CFNODE_BENCH_BEFORE names."""
    named = os.environ.get("CFNODE_BENCH_BEFORE")
    return Path(named).absolute() if named else None


@dataclass(frozen=True, slots=True)
class MeasuredNode:
    """A running node: the id of its process, and its port for JSON-RPC."""

    pid: int
    port: int

    @property
    def tree(self) -> list[int]:
        """The ids of its process and of all below it."""
        return _tree(self.pid)

    @property
    def processor_s(self) -> float:
        """The seconds of processor time of its processes so far, with those that have ended."""
        return sum(map(_processor_s, self.tree))

    @property
    def own_processor_s(self) -> float:
        """The seconds of processor time of the node's own process so far."""
        return _processor_s(self.pid)

    @property
    def exact_s(self) -> float:
        """The seconds of processor time to the nanosecond, without threads that have ended."""
        return sum(map(_exact_s, self.tree))

    @property
    def exact_own_s(self) -> float:
        """The seconds of the node's own process alone, to the nanosecond, without threads that have ended."""
        return _exact_s(self.pid)

    @property
    def memory(self) -> int:
        """The bytes of memory that its processes have resident, added up."""
        return sum(_status(pid, "VmRSS") for pid in self.tree)


def _tree(pid: int) -> list[int]:
    children = [
        int(child)
        for thread in Path(f"/proc/{pid}/task").iterdir()
        for child in (thread / "children").read_text().split()
    ]
    return [pid, *(below for child in children for below in _tree(child))]


def _processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS_S  # own and ended children's, user and system


def _exact_s(pid: int) -> float:
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def _status(pid: int, name: str) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.split(f"{name}:")[1].split()[0]) * 1024


@contextmanager
def development_node(tree: Path, *flags: str) -> Iterator[MeasuredNode]:
    """Run a development node with the code of a checkout; yield it once it listens."""
    line = [sys.executable, "-u", "-m", "cfnode", "run", "--dev", "--dev-seal=manual", "--no-prometheus"]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    with (
        tempfile.TemporaryDirectory(prefix="cfnode-bench-") as folder,
        subprocess.Popen(
            [*line, "--rpc-port=0", "--port=0", f"--base-path={folder}", *flags],
            cwd=tree, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        ) as process,
    ):  # fmt: skip
        try:
            yield MeasuredNode(process.pid, _port(process))
        finally:
            process.terminate()
            assert process.stderr is not None
            process.stderr.read()


def _port(process: subprocess.Popen[str]) -> int:
    assert process.stderr is not None
    for line in process.stderr:
        if _LISTENING in line:
            return int(line.split("addr=")[1].split(",")[0].rpartition(":")[2])
    raise AssertionError("the node ended before it served")


class Connection:
    """One connection over HTTP, on which calls are made one after the other."""

    def __init__(self, port: int) -> None:
        self._host = f"127.0.0.1:{port}"
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def request(self, method: str, *params: Any) -> bytes:
        """Return the bytes of a call."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        head = f"POST / HTTP/1.1\r\nhost: {self._host}\r\ncontent-type: application/json\r\n"
        return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body

    def exchange(self, request: bytes) -> bytes:
        """Send a call; return the body of its answer."""
        self._socket.sendall(request)
        received = b""
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += self._more()
        head = received[:end].lower()
        size = end + 4 + int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        while len(received) < size:
            received += self._more()
        return received[end + 4 :]

    def call(self, method: str, *params: Any) -> Any:
        """Return the result of a call. Raises AssertionError for an error."""
        answer = json.loads(self.exchange(self.request(method, *params)))
        assert "result" in answer, answer
        return answer["result"]

    def _more(self) -> bytes:
        data = self._socket.recv(1 << 20)
        assert data, "the node closed the connection"
        return data
