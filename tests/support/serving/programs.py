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
from tests.support.serving.attacks import HOST, Target
from tests.swap_service.load import ServiceProcess

__all__ = ["PORTS", "Honest", "Program", "running_programs"]

ASK_S = 0.02
"""Seconds between two requests of the honest client."""
ANSWER_S = 120.0
"""Seconds that it waits for bytes."""
LOOK_S = 0.5
GONE = "http://127.0.0.1:9"
"""A node that does not run: the service serves what needs none."""

PORTS = {"JSON-RPC": "node", "metrics": "node", "swap service": "service", "partners' API": "service",
         "page": "service"}  # fmt: skip
"""The program of each port."""


@dataclass
class Program:
    """A process with listening ports."""

    name: str
    pid: int
    log_path: Path
    targets: dict[str, Target] = field(default_factory=dict)

    @property
    def log(self) -> str:
        """What it has logged."""
        return self.log_path.read_text()

    @property
    def sockets(self) -> int:
        """Its open sockets."""
        count = 0
        for each in Path(f"/proc/{self.pid}/fd").iterdir():
            with suppress(OSError):
                count += str(each.readlink()).startswith("socket:")
        return count

    def is_idle(self, share: float) -> bool:
        """Whether it uses less than this share of a processor."""
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
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.pid}/status").read_text())
        assert found is not None
        return int(found[1])


class Honest:
    """A client of this machine on one connection, which is opened again when the port closes it.

    Its times are without those in which the program's main thread, or its own, was ready to run while others
    had the processor: on a busy machine that is most of the time, and no fault of the port.
    """

    def __init__(self, program: Program, target: Target) -> None:
        self._program, self._target = program, target
        self._sock: socket.socket | None = None

    def __enter__(self) -> Honest:
        self.ask()
        return self

    def __exit__(self, *_: object) -> None:
        if self._sock is not None:
            self._sock.close()

    def ask(self) -> float:
        """Seconds until a request was answered with 200."""
        began = time.monotonic() - self._withheld_s()
        for _ in range(2):
            with suppress(ConnectionError):
                if self._sock is None:
                    self._sock = socket.create_connection((HOST, self._target.port), ANSWER_S)
                self._sock.sendall(self._target.head())
                if status := self._answer():
                    assert status == 200
                    return max(0.0, time.monotonic() - self._withheld_s() - began)
            assert self._sock is not None
            self._sock.close()
            self._sock = None
        raise AssertionError("the port closed two connections without an answer")

    def _withheld_s(self) -> float:
        """Seconds for which program and client have waited for a processor so far."""
        files = f"/proc/{self._program.pid}/schedstat", "/proc/thread-self/schedstat"
        return sum(int(Path(each).read_text().split()[1]) for each in files) / 1e9

    def _answer(self) -> int:
        """The status of the next answer; 0 if the port has closed the connection."""
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

    def p99(self, seconds: float) -> float:
        """That of requests for so long."""
        times, until = [self.ask()], time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(ASK_S)  # the rate of this client
            times.append(self.ask())
        return sorted(times)[int(len(times) * 0.99)]


@contextmanager
def running_programs(folder: Path) -> Iterator[dict[str, Program]]:
    """A development node with JSON-RPC and metrics, and a swap service with partners' API and page."""
    with ExitStack() as stack:
        node = stack.enter_context(running_node(folder, "--dev", "--rpc-max-connections=100"))
        found = re.search(r"Prometheus exporter started at [^ ]*:(\d+)", node.log)
        assert found is not None
        rpc = int(node.url.rpartition(":")[2])
        books = sqlite_url(folder / "books.sqlite")
        database = Database(books)
        database.migrate()
        database.close()
        service = ServiceProcess(folder, GONE, books, "--web")
        stack.callback(service.kill)
        port = int(service.url.rpartition(":")[2])
        yield {
            "node": Program("node", node.process.pid, node.log_path, {
                "JSON-RPC": Target(rpc, "/health", 100),
                "metrics": Target(int(found[1]), "/metrics", 32),
            }),
            "service": Program("service", service.process.pid, service.log_path, {
                "swap service": Target(port, "/healthcheck", 1_000),
                "partners' API": Target(port, "/v1/openapi.json", 1_000),
                "page": Target(port, "/web/login", 1_000),
            }),
        }  # fmt: skip
