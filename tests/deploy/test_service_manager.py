"""A service manager listens on a real socket: paths, abstract names, and a node from its start to its end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import trio

from cfnode.cli.service_manager import MAX_SOCKET_PATH_BYTES, ServiceManager, service_manager
from tests.process import command, environment

WAIT_S = 120.0
STILL_S = 3.0
"""Seconds without a message after which the loop stands still: thirty times the interval of its messages."""


@contextmanager
def listening(address: str) -> Iterator[socket.socket]:
    """Yield a datagram socket at a path, or at the abstract name after `@`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind("\0" + address[1:] if address.startswith("@") else address)
        receiver.settimeout(WAIT_S)
        yield receiver


@pytest.fixture(params=["path", "abstract"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of a notification socket, a path or an abstract name."""
    return f"@cfnode-test-{os.getpid()}" if request.param == "abstract" else str(tmp_path / "notify")


async def test_assignments_arrive_in_one_datagram(address: str) -> None:
    """Send assignments in one datagram."""
    with listening(address) as receiver:
        manager = service_manager({"NOTIFY_SOCKET": address})
        assert manager is not None
        assert await manager.send("READY=1", "STATUS=Idle")
        assert receiver.recv(1000) == b"READY=1\nSTATUS=Idle"


def test_without_a_service_manager_there_is_none() -> None:
    """Return none without a service manager."""
    assert service_manager({}) is None
    assert service_manager({"NOTIFY_SOCKET": ""}) is None


@pytest.mark.parametrize(
    "address", ["run/notify", "@", "/", "/" + "x" * MAX_SOCKET_PATH_BYTES, "vsock:2:1234"]
)
def test_an_unusable_socket_is_logged_and_ignored(address: str, caplog: pytest.LogCaptureFixture) -> None:
    """Log an unusable socket, and go on without one."""
    assert service_manager({"NOTIFY_SOCKET": address}) is None
    assert "NOTIFY_SOCKET is neither a path nor @NAME" in caplog.text


@pytest.mark.parametrize(
    ("variables", "seconds"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "-5"}, None),
        ({"WATCHDOG_USEC": "5 s"}, None),
    ],
)
def test_the_watchdog_is_for_this_process_alone(variables: dict[str, str], seconds: float | None) -> None:
    """Obey the watchdog of this process alone, and ignore a malformed interval."""
    manager = service_manager({"NOTIFY_SOCKET": "/run/systemd/notify", **variables})
    assert manager == ServiceManager(b"/run/systemd/notify", seconds)


async def test_a_socket_that_is_gone_does_not_end_the_node(tmp_path: Path) -> None:
    """Go on when the socket is gone."""
    assert not await ServiceManager(bytes(tmp_path / "missing")).send("READY=1")


async def test_a_full_queue_delays_the_node_for_a_second_at_most(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Give up on a full queue after a second of a clock that jumps, and return false."""
    path = str(tmp_path / "notify")
    with listening(path), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        with pytest.raises(BlockingIOError):
            for _ in range(100_000):
                sender.sendto(b"STATUS=Idle", path)
        assert not await ServiceManager(path.encode()).send("WATCHDOG=1")


def test_a_node_reports_its_whole_life(address: str, tmp_path: Path) -> None:
    """Report a node's life: ready with its status, alive, stopping."""
    with listening(address) as receiver:
        variables = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "200000"}
        flags = ("--dev", "--dev-seal=manual", "--rpc-port=0", "--port=0", "--no-prometheus", "--tmp")
        with (tmp_path / "log").open("w") as log:
            node = subprocess.Popen(
                command("run", *flags),
                env=environment(tmp_path) | variables,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        try:
            first = receiver.recv(1000).decode()
            assert "Running JSON-RPC server" in (tmp_path / "log").read_text()
            assert first == "READY=1\nSTATUS=Idle (0 peers), best: #0, finalized #0"
            following = [receiver.recv(1000).decode() for _ in range(4)]
            assert following.count("WATCHDOG=1") >= 3
            node.send_signal(signal.SIGTERM)
            messages = [receiver.recv(1000).decode()]
            while messages[-1] == "WATCHDOG=1":
                messages.append(receiver.recv(1000).decode())
            assert messages[-1] == "STOPPING=1\nSTATUS=Stopping"
            assert node.wait(timeout=WAIT_S) == 0
        finally:
            if node.poll() is None:
                node.kill()
                node.wait(timeout=WAIT_S)


def test_a_node_whose_loop_stands_still_feeds_no_watchdog(tmp_path: Path) -> None:
    """Its log goes to a full pipe: the loop waits in the next line of the log, and the process lives."""
    address = str(tmp_path / "notify")
    reading, writing = os.pipe()
    filling = os.open(f"/proc/self/fd/{writing}", os.O_WRONLY | os.O_NONBLOCK)
    with listening(address) as receiver, os.fdopen(reading, "rb", buffering=0) as log:
        flags = ("--dev", "--dev-block-time=500", "--rpc-port=0", "--port=0", "--no-prometheus", "--tmp")
        node = subprocess.Popen(
            command("run", *flags),
            env=environment(tmp_path) | {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "200000"},
            stderr=writing,
            stdin=subprocess.DEVNULL,
        )
        try:
            assert receiver.recv(1000).startswith(b"READY=1")
            with suppress(BlockingIOError):
                while os.write(filling, b" "):
                    pass
            receiver.settimeout(STILL_S)
            deadline = time.monotonic() + WAIT_S
            with pytest.raises(TimeoutError):
                while time.monotonic() < deadline:
                    receiver.recv(1000)
            assert node.poll() is None
            threading.Thread(target=lambda: all(iter(lambda: log.read(65536), b"")), daemon=True).start()
            receiver.settimeout(WAIT_S)
            while receiver.recv(1000) != b"WATCHDOG=1":
                pass
            node.send_signal(signal.SIGTERM)
            assert node.wait(timeout=WAIT_S) == 0
        finally:
            node.kill()
            node.wait(timeout=WAIT_S)
            os.close(filling)
            os.close(writing)
