"""Where does a secret go that a command prints?

To a terminal or a pipe it goes as it is. A file to which a shell has redirected standard output is mostly
readable by others, so its mode becomes 0600 before anything is written; where that fails, nothing is printed.
The caller learns where the secret went, since a phrase that went nowhere cannot be kept.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from enum import Enum
from pathlib import Path

import click

from cfnode.cli.exits import ExitCode, Failure

__all__ = ["Destination", "print_secret", "protect_output"]

OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Destination(Enum):
    """Where standard output leads."""

    READER = "a terminal, a pipe or a program"
    FILE = "a file that is its owner's alone"
    NOWHERE = "closed, or /dev/null"


def print_secret(content: str | bytes, *, newline: bool = True) -> Destination:
    """Print to standard output. Raises Failure where others could read the file behind it."""
    destination = protect_output()
    if destination is not Destination.NOWHERE:
        click.echo(content, nl=newline)
    return destination


def protect_output() -> Destination:
    """Where standard output leads, once it is safe to print there. Raises Failure where it cannot be."""
    if sys.stdout is None:
        return Destination.NOWHERE
    try:
        descriptor = sys.stdout.fileno()
        status = os.fstat(descriptor)
    except (OSError, ValueError):  # no file of the system: a program has taken its place
        return Destination.READER
    if stat.S_ISCHR(status.st_mode) and status.st_rdev == Path(os.devnull).stat().st_rdev:
        return Destination.NOWHERE
    if not stat.S_ISREG(status.st_mode):
        return Destination.READER
    if status.st_mode & OTHERS:
        _restrict(descriptor)
    return Destination.FILE


def _restrict(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        os.fchmod(descriptor, 0o600)
    if os.fstat(descriptor).st_mode & OTHERS:
        raise Failure(
            "standard output is a file that other users of this machine can read, and its mode cannot be "
            "changed: nothing was printed; use a file of your own",
            ExitCode.CONFIGURATION,
        )
    click.echo("Standard output is a file: its mode is 0600 now, only you can read it", err=True)
