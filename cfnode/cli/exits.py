"""How a command ends: one line on standard error that names what was wrong, and an exit code for scripts."""

from __future__ import annotations

from enum import IntEnum
from typing import IO, Any

import click


class ExitCode(IntEnum):
    """The exit codes; `docs/reference/exit-codes.md` says the same in a table."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    CONFIGURATION = 3
    STORE = 4
    NETWORK = 5
    INTERRUPTED = 130


class Failure(click.ClickException):
    """Ends the command with `Error: <message>` and the given exit code."""

    def __init__(self, message: str, code: ExitCode = ExitCode.FAILURE) -> None:
        super().__init__(message)
        self.exit_code = int(code)  # type: ignore[misc]  # click has one a class, we have one an error

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"Error: {self.message}", err=True, file=file)
