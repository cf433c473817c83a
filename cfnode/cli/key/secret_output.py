"""Output of a secret: to a terminal, a pipe, or a file that only its owner can read.

A file behind a redirected standard output is usually readable by others, so its mode becomes 0600 before
anything is written; if that fails, nothing is printed. The caller gets the destination, since a phrase that
was printed nowhere cannot be kept.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from enum import Enum
from pathlib import Path

import click

from cfnode.cli.exits import CommandFailure, ExitCode

__all__ = ["Destination", "print_secret", "protect_output"]

OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Destination(Enum):
    """Destination of standard output."""

    READER = "a terminal, a pipe or a program"
    FILE = "a file that only its owner can read"
    NOWHERE = "closed, or /dev/null"


def print_secret(content: str | bytes, *, newline: bool = True) -> Destination:
    """Print to standard output, and return its destination.

    Raises Failure if others could read the file behind standard output.
    """
    destination = protect_output()
    if destination is not Destination.NOWHERE:
        click.echo(content, nl=newline)
    return destination


def protect_output() -> Destination:
    """Make standard output safe for a secret. Return its destination; raise Failure if that fails."""
    if sys.stdout is None:
        return Destination.NOWHERE
    try:
        descriptor = sys.stdout.fileno()
        status = os.fstat(descriptor)
    except (OSError, ValueError):  # not a system file: a program has replaced it
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
        raise CommandFailure(
            "standard output is a file that other users of this machine can read, and its mode cannot be "
            "changed: nothing was printed; use a file of your own",
            ExitCode.CONFIGURATION,
        )
    click.echo("Standard output is a file: its mode is 0600 now, only you can read it", err=True)
