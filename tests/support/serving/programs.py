"""Programs with listening ports in processes of their own, what they use, and an honest client."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from cfnode.ledger.database import Database, sqlite_url
from tests.process import running_node
from tests.support.devchain.local_evm import require_py_evm, running_evm
from tests.support.serving.attacks import HOST, Target, shake_hands
from tests.swap_service.load import ServiceProcess

__all__ = ["PORTS", "Honest", "Program", "running_programs"]

ASK_S = 0.02
"""Seconds between two requests of the honest client."""
ANSWER_S = 120.0
"""Seconds that it waits for bytes."""
LOOK_S = 0.5
GONE = "http://127.0.0.1:9"
"""A node that does not run: the service serves what needs none."""

PORTS = {
    "JSON-RPC": "node", "JSON-RPC by WebSocket": "node", "metrics": "node", "swap service": "service",
    "partners' API": "service", "page": "service", "local EVM chain": "evm",
}  # fmt: skip
"""The program of each port."""
ANSWERED = 200
_BINARY, _PING = 0x2, 0x9


@dataclass
class Program:
    """A process with listening ports."""

    name: str
    pid: int
    log_path: Path
    targets: dict[str, Target] = field(default_factory=dict)

    @property
    def log(self) -> str:
        """Log of the program."""
        return self.log_path.read_text()

    @property
    def sockets(self) -> int:
        """Its open sockets."""
        count = 0
        for path in Path(f"/proc/{self.pid}/fd").iterdir():
            with suppress(OSError):
                count += str(path.readlink()).startswith("socket:")
        return count

    def is_idle(self, share: float) -> bool:
        """Return whether it uses less than this share of a processor."""
        before = self.cpu_s
        time.sleep(LOOK_S)  # the time over which the processor's use is measured
        return self.cpu_s - before < LOOK_S * share

    @property
    def descriptors(self) -> int:
        """Its open file descriptors."""
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    @property
    def cpu_s(self) -> float:
        """Seconds of processor time that it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def rss_kib(self) -> int:
        """Its resident memory."""
        match = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.pid}/status").read_text())
        assert match is not None
        return int(match[1])


class Honest:
    """A client of this machine on one connection, which is opened again when the port closes it.

    Its times are without those in which the program's main thread, or its own, was ready to run while others
    had the processor: on a busy machine that is most of the time, and no fault of the port.
    """

    def __init__(self, program: Program, target: Target) -> None:
        self._program, self._target = program, target
        self._sock: socket.socket | None = None

    def __enter__(self) -> Honest:
        """Ask once, and begin."""
        self.ask()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        if self._sock is not None:
            self._sock.close()

    def ask(self) -> float:
        """Return seconds until a request was answered, over HTTP with 200."""
        began = time.monotonic() - self._withheld_s()
        for _ in range(2):
            with suppress(ConnectionError):
                if self._sock is None:
                    self._sock = socket.create_connection((HOST, self._target.port), ANSWER_S)
                    if self._target.is_websocket:
                        shake_hands(self._sock, self._target)
                self._sock.sendall(self._target.request)
                if status := self._message() if self._target.is_websocket else self._answer():
                    assert status == ANSWERED
                    return max(0.0, time.monotonic() - self._withheld_s() - began)
            assert self._sock is not None
            self._sock.close()
            self._sock = None
        raise AssertionError("the port closed two connections without an answer")

    def _withheld_s(self) -> float:
        """Return seconds for which program and client have waited for a processor so far."""
        files = f"/proc/{self._program.pid}/schedstat", "/proc/thread-self/schedstat"
        return sum(int(Path(file).read_text().split()[1]) for file in files) / 1e9

    def _answer(self) -> int:
        """Return the status of the next answer; 0 if the port has closed the connection."""
        assert self._sock is not None
        data = b""
        while b"\r\n\r\n" not in data:
            if not (more := self._sock.recv(65536)):
                return 0
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        missing = int(length[1]) - len(body) if length else 0
        while missing > 0:
            missing -= len(self._sock.recv(65536))
        return int(head.split()[1])

    def _message(self) -> int:
        """Return ANSWERED after the next message of a WebSocket; 0 if the port has closed the connection."""
        while len(head := self._bytes(2)) == 2:
            size = head[1] & 0x7F
            if size > 125:
                size = int.from_bytes(self._bytes(2 if size == 126 else 8), "big")
            kind, _ = head[0] & 0xF, self._bytes(size)
            if kind <= _BINARY:
                return ANSWERED
            if kind != _PING:
                break
        return 0

    def _bytes(self, size: int) -> bytes:
        """Return the next bytes; fewer at the end."""
        assert self._sock is not None
        data = b""
        while len(data) < size and (more := self._sock.recv(size - len(data))):
            data += more
        return data

    def p99(self, seconds: float) -> float:
        """Return the 99th percentile of requests during some seconds."""
        times, until = [self.ask()], time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(ASK_S)  # the rate of this client
            times.append(self.ask())
        return sorted(times)[int(len(times) * 0.99)]


@contextmanager
def running_programs(folder: Path, *names: str) -> Iterator[dict[str, Program]]:
    """Yield a node (JSON-RPC, metrics), a swap service (partners' API, page), an EVM chain next to the node.

    `names`: those of the programs that are needed. Without py-evm the test is skipped that needs the chain.
    """
    with ExitStack() as stack:
        programs: dict[str, Program] = {}
        if "node" in names or "evm" in names:
            programs["node"] = node = stack.enter_context(_node(folder))
        if "service" in names:
            programs["service"] = stack.enter_context(_service(folder))
        if "evm" in names:
            url = f"http://{HOST}:{node.targets['JSON-RPC'].port}"
            programs["evm"] = stack.enter_context(_evm(folder, url))
        yield programs


@contextmanager
def _node(folder: Path) -> Iterator[Program]:
    with running_node(folder, "--dev", "--rpc-max-connections=100") as node:
        match = re.search(r"Prometheus exporter started at [^ ]*:(\d+)", node.log)
        assert match is not None
        rpc = int(node.url.rpartition(":")[2])
        yield Program("node", node.process.pid, node.log_path, {
            "JSON-RPC": Target(rpc, "/health", 100),
            "JSON-RPC by WebSocket": Target(rpc, "/", 100, is_websocket=True),
            "metrics": Target(int(match[1]), "/metrics", 32),
        })  # fmt: skip


@contextmanager
def _service(folder: Path) -> Iterator[Program]:
    books = sqlite_url(folder / "books.sqlite")
    database = Database(books)
    database.migrate()
    database.close()
    service = ServiceProcess(folder, GONE, books, "--web")
    try:
        port = int(service.url.rpartition(":")[2])
        yield Program("service", service.process.pid, service.log_path, {
            "swap service": Target(port, "/healthcheck", 1_000),
            "partners' API": Target(port, "/v1/openapi.json", 1_000),
            "page": Target(port, "/web/login", 1_000),
        })  # fmt: skip
    finally:
        service.kill()


@contextmanager
def _evm(folder: Path, node: str) -> Iterator[Program]:
    require_py_evm()
    log = folder / "evm.log"
    with log.open("w") as stream, running_evm(folder, node, stderr=stream) as chain:
        port = int(chain.url.rpartition(":")[2])
        yield Program("evm", chain.process.pid, log, {"local EVM chain": Target(port, "/", 64)})
