"""Run of pytest whose processes all end with it, whether it passes, fails, or gets a signal.

Tests start nodes in sessions of their own, which a signal to pytest does not reach. This process runs pytest
and becomes the parent of each process whose parent ends (PR_SET_CHILD_SUBREAPER). Ctrl-C reaches pytest by
the terminal; SIGTERM and SIGHUP are passed on as SIGINT. When pytest has ended, or some seconds after a
signal, all processes that are left are killed.
"""

from __future__ import annotations

import compileall
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

PR_SET_CHILD_SUBREAPER = 36
GRACE_S = 15.0
"""Seconds for pytest's own end after a signal: it stops its nodes and prints what has failed so far."""
POLL_S = 0.1
PACKAGE = Path(__file__).resolve().parent.parent / "cfnode"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Run:
    """Run of pytest; `received` is the first signal that was to end it."""

    def __init__(self, arguments: list[str]) -> None:
        self.received: signal.Signals | None = None
        self._deadline = float("inf")
        for number in SIGNALS:
            signal.signal(number, self._end)
        self._process = subprocess.Popen([sys.executable, "-m", "pytest", *arguments])

    def _end(self, number: int, _: FrameType | None) -> None:
        if self.received is None:
            self.received = signal.Signals(number)
            self._deadline = time.monotonic() + GRACE_S
            if number != signal.SIGINT:
                self._process.send_signal(signal.SIGINT)

    def wait(self) -> int:
        """Wait for the end; return the exit code: that of pytest, or of the signal."""
        while time.monotonic() < self._deadline:
            try:
                code = self._process.wait(POLL_S)
                break
            except subprocess.TimeoutExpired:
                reap(self._process.pid)
        else:
            self._process.kill()
            code = self._process.wait()
        return code if self.received is None else 128 + self.received


def reap(but: int) -> None:
    """Reap adopted processes that have ended: programs wait for that (fakeroot)."""
    for pid in children():
        if pid != but:
            os.waitpid(pid, os.WNOHANG)


def children() -> list[int]:
    """Return the processes whose parent is this one."""
    tasks = Path("/proc/self/task").iterdir()
    return [int(pid) for task in tasks for pid in (task / "children").read_text().split()]


def kill_what_is_left() -> int:
    """Kill and count all descendants: the children of each that ends become children of this process."""
    killed = 0
    while pids := children():
        for pid in pids:
            has_ended, _ = os.waitpid(pid, os.WNOHANG)
            if not has_ended:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                killed += 1
    return killed


def main(arguments: list[str]) -> int:
    """Run pytest; return the exit code."""
    compileall.compile_dir(PACKAGE, quiet=2, workers=0)  # once, not by each process of the run
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    run = Run(arguments)
    code = run.wait()
    if killed := kill_what_is_left():
        print(f"scripts/test: processes that the tests had left, killed now: {killed}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
