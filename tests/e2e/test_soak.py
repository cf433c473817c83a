"""`scripts/soak` for less than a minute: an author, a follower and two light nodes, and their troubles."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from contextlib import closing, suppress

import pytest

from scripts.soak_suite.__main__ import memory_slope
from scripts.soak_suite.network import Member
from scripts.soak_suite.relay import Relay
from tests.lengths import only_whole
from tests.process import ROOT

pytestmark = pytest.mark.world

SMALL = ("--minutes=0.75", "--followers=1", "--lights=2", "--hurry=0.4", "--seed=3")


@only_whole
def test_a_small_network_agrees_after_its_troubles() -> None:
    """Agree after the troubles of a small network, without a program error."""
    command = [sys.executable, "-m", "scripts.soak_suite", *SMALL]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "met    all agree after" in done.stdout
    assert "met    program errors in all logs 0" in done.stdout
    assert "no trouble yet" in done.stdout.splitlines()[0], "a line each minute, the first at once"


def _echo() -> socket.socket:
    listener = socket.create_server(("127.0.0.1", 0))

    def answer(sock: socket.socket) -> None:
        with sock, suppress(OSError):
            sock.sendall(sock.recv(100))

    def serve() -> None:
        with suppress(OSError):
            while True:
                sock, _ = listener.accept()
                threading.Thread(target=answer, args=(sock,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    return listener


def test_a_cut_wire_carries_nothing_until_it_is_mended() -> None:
    """Carry nothing over a cut wire until it is mended, and end what was open."""
    with closing(_echo()) as listener:
        relay = Relay(listener.getsockname()[1])

        def ask() -> bytes:
            with socket.create_connection(("127.0.0.1", relay.port), timeout=5) as sock:
                sock.sendall(b"hello")
                return sock.recv(100)

        assert ask() == b"hello"
        with socket.create_connection(("127.0.0.1", relay.port), timeout=5) as open_before:
            relay.cut()
            assert open_before.recv(100) == b""
        with suppress(ConnectionError):  # refused before it was asked, or after
            assert ask() == b""
        relay.mend()
        assert ask() == b"hello"


def test_all_lives_together_have_one_slope() -> None:
    """Two lives of different size, each growing by 2 MB a minute after its first 90 s."""
    member = Member.__new__(Member)
    member.memory = [
        [(60.0 * minute, 100.0 + 2 * minute) for minute in range(10)],
        [(1_000.0 + 60 * minute, 300.0 + 2 * minute) for minute in range(10)],
    ]
    slope, lives = memory_slope([member], 0)
    assert (round(slope, 6), lives) == (2.0, 2)
