"""A program behind a pseudo-terminal, as a person has it: what it prints, what is typed, and Ctrl-C."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROWS, COLUMNS = 40, 100
PATIENCE_S = 300.0
"""Far above what any step takes on a busy machine: only what hangs fails."""
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


class Terminal:
    """`text` is all that the program has printed so far, without colours."""

    def __init__(self, process: subprocess.Popen[bytes], line: int) -> None:
        self.process = process
        self._line = line
        self._printed = b""

    @property
    def text(self) -> str:
        """The text that was printed, without control sequences."""
        return CONTROL.sub("", self._printed.decode("utf-8", "replace"))

    @property
    def screen(self) -> str:
        """The lines that have not been scrolled away."""
        return "\n".join(self.text.splitlines()[-ROWS:])

    def type(self, text: str) -> None:
        """Type a text."""
        os.write(self._line, text.encode())

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Read until this has been printed."""
        deadline = time.monotonic() + PATIENCE_S
        while (match := re.search(pattern, self.text, re.DOTALL | re.MULTILINE)) is None:
            assert time.monotonic() < deadline, f"{pattern!r} is missing in:\n{self.text}"
            assert self._read(), f"{pattern!r} is missing at the end of:\n{self.text}"
        return match

    def end(self) -> int:
        """Press Ctrl-C, and give the exit code."""
        self.type("\x03")
        while self._read():
            pass
        return self.process.wait(timeout=30)

    def _read(self) -> bool:
        """Return more of what the program prints; False when it has ended."""
        try:
            if select.select([self._line], [], [], 1.0)[0]:
                self._printed += (piece := os.read(self._line, 65536))
                return bool(piece)
        except OSError:  # the other end is closed
            return False
        return True


@contextmanager
def terminal(command: Sequence[str], folder: Path, environment: dict[str, str]) -> Iterator[Terminal]:
    """Yield a program at a terminal of its own, ended at the end."""
    line, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    process = subprocess.Popen(
        ["setsid", "-c", *command],
        cwd=folder,
        env=environment | {"TERM": "xterm"},
        stdin=other,
        stdout=other,
        stderr=other,
    )
    os.close(other)
    try:
        yield Terminal(process, line)
    finally:
        process.kill()
        process.wait(timeout=30)
        os.close(line)
