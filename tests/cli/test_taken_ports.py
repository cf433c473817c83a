"""A node whose ports are taken names all of them at once."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cfnode.cli.exits import ExitCode
from tests.support.cli.shell import Shell


@pytest.fixture
def taken() -> Iterator[list[int]]:
    """Yield three ports on which something listens."""
    with ExitStack() as sockets:
        opened = [sockets.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3)]
        yield [listener.getsockname()[1] for listener in opened]


def test_all_ports_that_are_taken_are_named_at_once(taken: list[int], tmp_path: Path) -> None:
    """Name all three ports that are taken, each with the flag that chooses another."""
    rpc, metrics, peers = taken
    flags = (f"--rpc-port={rpc}", f"--prometheus-port={metrics}", f"--listen-addr=/ip4/127.0.0.1/tcp/{peers}")
    code, _, err = Shell(tmp_path)("run", "--dev", "--tmp", *flags)
    assert code == ExitCode.NETWORK
    lines = err[err.index("Error: ") :].splitlines()
    assert len(lines) == 3, lines
    assert f"the JSON-RPC port {rpc} on 127.0.0.1 is in use" in lines[0]
    assert "--rpc-port" in lines[0]
    assert f"the metrics port {metrics} on 127.0.0.1 is in use" in lines[1]
    assert "--prometheus-port" in lines[1]
    assert f"cannot listen at /ip4/127.0.0.1/tcp/{peers}" in lines[2]
    assert "--port" in lines[2]


def test_free_ports_are_not_named(taken: list[int], tmp_path: Path) -> None:
    """Name only the port that is taken."""
    flags = ("--rpc-port=0", f"--prometheus-port={taken[1]}", "--port=0")
    code, _, err = Shell(tmp_path)("run", "--dev", "--tmp", *flags)
    assert code == ExitCode.NETWORK
    (line,) = err[err.index("Error: ") :].splitlines()
    assert f"the metrics port {taken[1]} on 127.0.0.1 is in use" in line
