"""SIGHUP to a real node: a service goes on, with or without a file of tokens; a closed terminal stops it."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.process import NodeProcess, command, environment, running_node, starting_node, until

OLD, NEW = "old-token-0123456789abcdef", "new-token-0123456789abcdef"


def tokens(folder: Path, token: str) -> Path:
    """Write a file of tokens."""
    path = folder / "tokens"
    path.touch(mode=0o600)
    path.write_text(f"watch read {token}\n")
    return path


def status(node: NodeProcess, token: str) -> int:
    """Return the status of a call with a token."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "system_name", "params": []}
    return httpx.post(node.url, json=body, headers={"authorization": f"Bearer {token}"}).status_code


def test_a_node_without_tokens_goes_on(tmp_path: Path) -> None:
    """Go on after SIGHUP without a file to reload."""
    with running_node(tmp_path, "--dev", "--dev-seal=manual", "--log-format=json") as node:
        for number in (1, 2):
            node.process.send_signal(signal.SIGHUP)
            until(lambda: node.log.count("SIGHUP: no file to reload") == number)  # noqa: B023
        assert node.call("system_name")
        assert node.stop(signal.SIGTERM) == 0


def test_a_node_with_tokens_reads_them_again(tmp_path: Path) -> None:
    """Read the tokens again after SIGHUP: the old one is refused."""
    path = tokens(tmp_path, OLD)
    with running_node(tmp_path, "--dev", "--dev-seal=manual", f"--rpc-auth-token-file={path}") as node:
        assert [status(node, OLD), status(node, NEW)] == [200, 401]
        tokens(tmp_path, NEW)
        node.process.send_signal(signal.SIGHUP)
        until(lambda: "SIGHUP: read 1 tokens" in node.log)
        assert [status(node, OLD), status(node, NEW)] == [401, 200]
        assert node.stop(signal.SIGTERM) == 0


def test_a_start_is_not_interrupted(tmp_path: Path) -> None:
    """Start in spite of SIGHUP at any moment."""
    with starting_node(tmp_path, "--dev", "--dev-seal=manual") as node:
        until(lambda: "version" in node.log)

        def listens_after_a_signal() -> bool:
            node.process.send_signal(signal.SIGHUP)
            return "Running JSON-RPC server" in node.log

        until(listens_after_a_signal)
        node.wait_until_listening()
        assert node.call("system_name")


@contextmanager
def node_in_a_terminal(
    folder: Path, *flags: str, detached: bool = False
) -> Iterator[tuple[NodeProcess, int]]:
    """Yield a node with a terminal of its own, and the terminal's other end. `detached`: as by nohup."""

    def prepare() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        if detached:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

    terminal, inside = os.openpty()
    log = folder / "node.log"
    line = command("run", "--dev", "--dev-seal=manual", f"--base-path={folder}/base", "--no-prometheus")
    with log.open("w") as stream:
        process = subprocess.Popen(
            [*line, "--rpc-port=0", "--port=0", *flags], stdin=inside, stdout=inside, stderr=stream,
            env=environment(folder), start_new_session=True, preexec_fn=prepare, text=True,
        )  # fmt: skip
    node = NodeProcess(process, log)
    try:
        os.close(inside)
        node.wait_until_listening()
        yield node, terminal
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(timeout=60)


@pytest.mark.world
@pytest.mark.parametrize("has_tokens", [False, True])
def test_a_closed_terminal_stops_the_node(tmp_path: Path, has_tokens: bool) -> None:
    """Stop when the terminal is closed, and go on after a SIGHUP while it is open."""
    flags = [f"--rpc-auth-token-file={tokens(tmp_path, OLD)}"] if has_tokens else []
    with node_in_a_terminal(tmp_path, *flags) as (node, terminal):
        node.process.send_signal(signal.SIGHUP)
        until(lambda: "SIGHUP: " in node.log)
        assert node.process.poll() is None, "the terminal is still there"
        os.close(terminal)
        assert node.process.wait(timeout=60) == 0
        assert "SIGHUP: the terminal is closed" in node.log
        assert "🛑 Stopping" in node.log


@pytest.mark.world
def test_a_node_of_nohup_outlives_its_terminal(tmp_path: Path) -> None:
    """Outlive the terminal under nohup."""
    with node_in_a_terminal(tmp_path, detached=True) as (node, terminal):
        os.close(terminal)
        until(lambda: "SIGHUP: no file to reload" in node.log)
        assert node.call("system_name")
        assert node.stop(signal.SIGTERM) == 0
