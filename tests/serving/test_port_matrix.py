"""The matrix of ports: each listening port times each attack, on real processes.

While an attack lasts, an honest client of the port is answered; when the attackers have left, the port has
its connections, descriptors and memory back, and its process is idle.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cfnode.ledger.database import Database, sqlite_url
from tests.lengths import repeats
from tests.process import running_node
from tests.support.serving.attacks import ATTACKS, HOST, Target, unread_replies
from tests.support.waiting import wait_until
from tests.swap_service.load import ServiceProcess

pytestmark = pytest.mark.world

ASK_S = 0.02
"""Seconds between two requests of the honest client."""
MAX_P99_S = 0.1
SLOWER = 10.0
"""On a busy machine: so many times the p99 without an attack, if that is more."""
BACK_S = 10.0
"""Seconds until descriptors and memory are back."""
IDLE_S = 5.0
IDLE_SHARE = 0.3
"""The share of a processor that an idle process may use: a development node makes blocks."""
MAX_MORE_KIB = 60 * 1024
MAX_SPARE_SOCKETS = 3
SPARE_FILES = 6
"""Descriptors that a process without descriptors is left with."""
GRACE_S = {"node": 5.0, "service": 10.0}
"""Seconds from the signal to the end, while stuck clients hold on; plus what a busy machine takes."""
SLACK_S = 20.0


@dataclass
class Program:
    """A process with listening ports."""

    name: str
    pid: int
    log_path: Path
    targets: dict[str, Target] = field(default_factory=dict)

    @property
    def log(self) -> str:
        return self.log_path.read_text()

    @property
    def sockets(self) -> int:
        count = 0
        for each in Path(f"/proc/{self.pid}/fd").iterdir():
            with suppress(OSError):
                count += str(each.readlink()).startswith("socket:")
        return count

    @property
    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    @property
    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def rss_kib(self) -> int:
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.pid}/status").read_text())
        assert found is not None
        return int(found[1])


class Honest:
    """A client of this machine on one connection, which is opened again when the port closes it."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._sock: socket.socket | None = None

    def __enter__(self) -> Honest:
        self.ask()
        return self

    def __exit__(self, *_: object) -> None:
        if self._sock is not None:
            self._sock.close()

    def ask(self) -> float:
        """Seconds until a request was answered with 200."""
        began = time.monotonic()
        for _ in range(2):
            with suppress(ConnectionError):
                if self._sock is None:
                    self._sock = socket.create_connection((HOST, self._target.port), 30)
                self._sock.sendall(self._target.head())
                if status := self._answer():
                    assert status == 200
                    return time.monotonic() - began
            assert self._sock is not None
            self._sock.close()
            self._sock = None
        raise AssertionError("the port closed two connections without an answer")

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


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Program]]:
    """A node with JSON-RPC and metrics, and a swap service with partners' API and page."""
    folder = tmp_path_factory.mktemp("ports")
    with ExitStack() as stack:
        node = stack.enter_context(running_node(folder, "--dev", "--rpc-max-connections=100"))
        found = re.search(r"Prometheus exporter started at [^ ]*:(\d+)", node.log)
        assert found is not None
        rpc = int(node.url.rpartition(":")[2])
        books = sqlite_url(folder / "books.sqlite")
        database = Database(books)
        database.migrate()
        database.close()
        service = ServiceProcess(folder, node, books, "--web")  # type: ignore[arg-type]
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


PORTS = {"JSON-RPC": "node", "metrics": "node", "swap service": "service", "partners' API": "service",
         "page": "service"}  # fmt: skip


@pytest.fixture(scope="module")
def idle(programs: dict[str, Program]) -> dict[str, float]:
    """The p99 of an honest client of each port, without an attack."""
    found = {}
    for name, program in PORTS.items():
        with Honest(programs[program].targets[name]) as honest:
            found[name] = honest.p99(1.0)
    return found


@contextmanager
def comes_back(program: Program) -> Iterator[None]:
    """After the block, connections, memory and processor are free again, and the log has no traceback."""
    sockets, memory = program.sockets, program.rss_kib
    yield
    ended = time.monotonic()
    wait_until(lambda: _is_idle(program), lambda: f"{program.name} does not become idle")
    assert time.monotonic() - ended < IDLE_S + SLACK_S, "busy after the attackers have left"
    wait_until(lambda: program.sockets <= sockets + MAX_SPARE_SOCKETS, lambda: f"{program.sockets} sockets")
    assert time.monotonic() - ended < BACK_S + SLACK_S, "connections without a client are kept"
    assert program.rss_kib < memory + MAX_MORE_KIB
    assert "Traceback" not in program.log, program.log[-4_000:]


def _is_idle(program: Program) -> bool:
    before = program.cpu_s
    time.sleep(0.5)  # the time over which the processor's use is measured
    return program.cpu_s - before < 0.5 * IDLE_SHARE


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("name", PORTS)
def test_each_port_stands_each_attack(
    name: str, attack: str, programs: dict[str, Program], idle: dict[str, float]
) -> None:
    program = programs[PORTS[name]]
    target = program.targets[name]
    with comes_back(program), Honest(target) as honest:
        with ATTACKS[attack](target):
            p99 = honest.p99(repeats(10, 1))
        assert target.odd == []
        assert p99 <= max(MAX_P99_S, SLOWER * idle[name]), f"idle: {idle[name]:.3f} s"


@pytest.mark.parametrize("name", PORTS)
def test_without_descriptors_a_port_serves_its_clients_and_then_those_that_waited(
    name: str, programs: dict[str, Program], idle: dict[str, float]
) -> None:
    program = programs[PORTS[name]]
    target = program.targets[name]
    with comes_back(program), Honest(target) as honest:
        limits = resource.prlimit(program.pid, resource.RLIMIT_NOFILE)
        try:
            resource.prlimit(
                program.pid, resource.RLIMIT_NOFILE, (program.descriptors + SPARE_FILES, limits[1])
            )
            with ExitStack() as waiting:
                for _ in range(3 * SPARE_FILES):
                    if (sock := target.connect()) is not None:
                        waiting.enter_context(sock)
                p99 = honest.p99(1.0)
        finally:
            resource.prlimit(program.pid, resource.RLIMIT_NOFILE, limits)
        assert p99 <= max(MAX_P99_S, SLOWER * idle[name])
        with Honest(target) as newcomer:
            newcomer.ask()
    assert program.log.count("connections have to wait") <= len(PORTS)


@pytest.mark.parametrize("name", ["service", "node"])
def test_a_process_stops_in_time_while_stuck_clients_hold_on(name: str, programs: dict[str, Program]) -> None:
    program = programs[name]
    with ExitStack() as stack:
        for target in program.targets.values():
            stack.enter_context(unread_replies(target))
        began = time.monotonic()
        os.kill(program.pid, signal.SIGTERM)
        wait_until(lambda: _has_ended(program.pid), lambda: f"{name} does not end")
        assert time.monotonic() - began < GRACE_S[name] + SLACK_S
    assert "Traceback" not in program.log, program.log[-4_000:]


def _has_ended(pid: int) -> bool:
    """Whether the process has ended; its parent, the test, may not have asked for its exit code yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True
