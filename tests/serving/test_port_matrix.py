"""The matrix of ports: each listening port times each attack, on real processes.

While an attack lasts, an honest client of the port is answered; when the attackers have left, the port has
its connections, descriptors and memory back, and its process is idle. `--all` plays each attack on each port,
and measures how long the honest client waits; without it each attack is played on one port, and no time
counts.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.lengths import repeats
from tests.support.devchain.local_evm import require_py_evm
from tests.support.serving.attacking import attacking
from tests.support.serving.attacks import ATTACKS, unread_replies
from tests.support.serving.programs import PORTS, Honest, Program, running_programs
from tests.support.waiting import wait_until

pytestmark = pytest.mark.world

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
GRACE_S = {"node": 5.0, "service": 10.0, "evm": 5.0}
"""Seconds from the signal to the end, while stuck clients hold on; plus what a busy machine takes."""
SLACK_S = 20.0


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Program]]:
    """Run a node and a swap service for all tests of the file."""
    with running_programs(tmp_path_factory.mktemp("ports"), "node", "service") as running:
        yield running


@pytest.fixture(scope="module")
def evm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Yield a local EVM chain; without py-evm its tests are skipped."""
    require_py_evm()
    with running_programs(tmp_path_factory.mktemp("evm"), "evm") as running:
        yield running["evm"]


@pytest.fixture
def program(request: pytest.FixtureRequest, name: str) -> Program:
    """Return the program that a test names by itself, or by its port."""
    kind = PORTS.get(name, name)
    fixture: Program = request.getfixturevalue("evm" if kind == "evm" else "programs")
    return fixture if isinstance(fixture, Program) else fixture[kind]


@contextmanager
def comes_back(program: Program) -> Iterator[None]:
    """Check after the block that connections, memory and processor are free, and for tracebacks."""
    sockets, memory = program.sockets, program.rss_kib
    yield
    ended = time.monotonic()
    wait_until(lambda: program.is_idle(IDLE_SHARE), lambda: f"{program.name} does not become idle")
    assert time.monotonic() - ended < IDLE_S + SLACK_S, "busy after the attackers have left"
    wait_until(lambda: program.sockets <= sockets + MAX_SPARE_SOCKETS, lambda: f"{program.sockets} sockets")
    assert time.monotonic() - ended < BACK_S + SLACK_S, "connections without a client are kept"
    assert program.rss_kib < memory + MAX_MORE_KIB
    assert "Traceback" not in program.log, program.log[-4_000:]


def cells() -> list[tuple[str, str]]:
    """Return ports and attacks: all of them, or the ports in turn."""
    ports = list(PORTS)
    if repeats(1, 0):
        return [(name, attack) for name in ports for attack in ATTACKS]
    return [(ports[place % len(ports)], attack) for place, attack in enumerate(ATTACKS)]


def check_wait(p99: float, idle: float) -> None:
    """Check that an honest client waits hardly longer than without an attack."""
    if repeats(1, 0):
        assert p99 <= max(MAX_P99_S, SLOWER * idle), f"{p99:.3f} s, idle {idle:.3f} s"


@pytest.mark.parametrize(("name", "attack"), cells())
def test_each_port_stands_each_attack(name: str, attack: str, program: Program) -> None:
    """Answer an honest client and a newcomer during each attack, and recover after it."""
    target = program.targets[name]
    target.odd.clear()
    with comes_back(program), Honest(program, target) as honest:
        idle = honest.p99(repeats(5, 1) / 2)
        with attacking(attack, target):
            with Honest(program, target) as newcomer:  # for which there is a place, from the beginning on
                newcomer.ask()
            p99 = honest.p99(repeats(10, 1))
    assert target.odd == []
    check_wait(p99, idle)


@pytest.mark.parametrize("name", PORTS)
def test_without_descriptors_a_port_serves_its_clients_and_then_those_that_waited(
    name: str, program: Program
) -> None:
    """Serve its clients without descriptors, and those that waited once there are some again."""
    target = program.targets[name]
    with comes_back(program), Honest(program, target) as honest:
        idle = honest.p99(0.5)
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
        with Honest(program, target) as newcomer:
            newcomer.ask()
    check_wait(p99, idle)
    assert program.log.count("connections have to wait") <= len(PORTS)


@pytest.mark.parametrize("name", ["service", "node", "evm"])
def test_a_process_stops_in_time_while_stuck_clients_hold_on(name: str, program: Program) -> None:
    """Stop in time while stuck clients hold on."""
    with ExitStack() as stack:
        for target in program.targets.values():
            stack.enter_context(unread_replies(target))
        began = time.monotonic()
        os.kill(program.pid, signal.SIGTERM)
        wait_until(lambda: _has_ended(program.pid), lambda: f"{name} does not end")
        assert time.monotonic() - began < GRACE_S[name] + SLACK_S
    assert "Traceback" not in program.log, program.log[-4_000:]


def _has_ended(pid: int) -> bool:
    """Return whether the process has ended, also if the test has not asked for its exit code yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True
