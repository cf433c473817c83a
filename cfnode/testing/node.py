"""Development node for tests, which runs in its own process and ends with them.

It uses free ports of this machine, a fixed start time, a well-known broker key, and no peers. It logs to a
file; if it does not start, the error quotes the last lines.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cfnode.store.keystore import Keystore
from cfnode.testing.dev_calls import BROKER_URI
from cfnode.testing.errors import NodeDidNotStart
from cfnode.testing.frames import expected

__all__ = ["START_TIME_MS", "DevNode", "NodeDidNotStart", "running_node"]

__tracebackhide__ = expected

START_TIME_MS = 1_767_225_600_000
"""Unix milliseconds at which the chain's clock begins: 2026-01-01, so that equal calls give equal blocks."""
START_TIMEOUT_S = 120.0
"""Maximum seconds of the start on a machine with many concurrent tests; usually it takes two."""
STOP_TIMEOUT_S = 30.0
"""Maximum seconds of a graceful stop."""
LOG_POLL_S = 0.02
MAX_LOG_LINES = 20
_LISTENING = re.compile(r"Running JSON-RPC server: addr=[^ ]*?127\.0\.0\.1:(\d+)")
SYSTEM = sys.platform
"""Name of this operating system: linux, darwin, …"""
_BY_KERNEL = "import ctypes, signal; ctypes.CDLL(None).prctl(1, signal.SIGINT)"
"""Has the kernel stop this process gracefully when its parent ends (PR_SET_PDEATHSIG, Linux)."""
_BY_WATCHING = """
import os, signal, threading, time

def watch(parent):
    while os.getppid() == parent:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=watch, args=(os.getppid(),), daemon=True).start()
"""
"""Stops this process gracefully soon after its parent has ended, on any other system."""

_REMEDY = (
    "run the node in a Linux container (cfnode run --dev), and give its address to cfnode.testing.DevChain"
)


def _program(system: str) -> str:
    """Return the node's program, which ends if the tests are killed."""
    return f"{_BY_KERNEL if system == 'linux' else _BY_WATCHING}\nfrom cfnode.cli import main; main()"


_PROGRAM = _program(SYSTEM)
_FLAGS = (
    *("run", "--dev", "--dev-seal=instant", f"--dev-start-time={START_TIME_MS}", "--rpc-port=0"),
    *("--no-prometheus", "--in-peers=0", "--out-peers=0"),
)
_PORT = "--port=0"
"""The flag of a node without --listen-addr, which excludes --port."""


@dataclass(frozen=True, slots=True)
class DevNode:
    """A running node: its address for JSON-RPC, its process id and its log."""

    url: str
    pid: int
    log: Path


@contextmanager
def running_node(folder: Path, *flags: str) -> Iterator[DevNode]:
    """Run a development node with all its files in a folder.

    `flags` of `cfnode run` override the defaults. Raises NodeDidNotStart.
    """
    Keystore(folder / "chains" / "dev" / "keystore").insert("brok", BROKER_URI)
    log = folder / "node.log"
    with log.open("wb") as stream:
        process = _started(folder, flags, stream.fileno())
    try:
        yield DevNode(_address(process, log), process.pid, log)
    finally:
        _end(process)


def _started(folder: Path, flags: Sequence[str], log: int) -> subprocess.Popen[bytes]:
    port = () if any(flag.startswith("--listen-addr") for flag in flags) else (_PORT,)
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _PROGRAM, *_FLAGS, *port, f"--base-path={folder}", *flags],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=log,
        env=_environment(),
        start_new_session=True,  # Ctrl-C interrupts the tests, which end the node
    )


def _environment() -> dict[str, str]:
    """Return the environment without the variables and the file that set flags of `cfnode run`."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("CFNODE_")}
    cache = os.environ.get("CFNODE_CACHE")
    return variables | {"CFNODE_CONFIG": os.devnull} | ({} if cache is None else {"CFNODE_CACHE": cache})


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """Return the node's address, from its log; raise NodeDidNotStart without one."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        text = log.read_text(errors="replace")
        if match := _LISTENING.search(text):
            return f"http://127.0.0.1:{match.group(1)}"
        if process.poll() is not None:
            raise NodeDidNotStart(_last(f"the node ended with {process.returncode}", text))
        time.sleep(LOG_POLL_S)
    raise NodeDidNotStart(
        _last(f"the node does not listen after {START_TIMEOUT_S:.0f} s", log.read_text(errors="replace"))
    )


def _last(reason: str, log: str) -> str:
    lines = [f"{reason}; the end of its log:", *log.splitlines()[-MAX_LOG_LINES:]]
    if SYSTEM != "linux":
        lines.append(f"cfnode is tested on Linux, and this system is {SYSTEM}: {_REMEDY}")
    return "\n".join(lines)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
