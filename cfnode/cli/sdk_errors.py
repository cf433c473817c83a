"""Which exit code does an error of the SDK end a command with, and how does `--json` show it?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click
import msgspec

from cfnode.cli.exits import ExitCode, Failure
from cfnode.sdk.errors import SdkError, TransportError, ValidationError

__all__ = ["print_json", "reported"]

_RECOVERY = {code.name: code for code in ExitCode} | {"KEY_FILE": ExitCode.CONFIGURATION}


class _Shown(Failure):
    """A failure that `--json` has told already, on standard output."""

    def show(self, file: Any = None) -> None:
        return None


@contextmanager
def reported(
    as_json: bool, interrupted: str = "interrupted", report: Mapping[str, Any] | None = None
) -> Iterator[None]:
    """Ends the command in words, or with `--json` as `{"error": {"code", "message"}}`.

    `interrupted` says what a Ctrl-C leaves behind; `report` has further members of that object.
    """
    try:
        yield
    except SdkError as error:
        raise _failure(as_json, error.code, error.message, exit_code(error), report) from None
    except Failure as failure:
        if isinstance(failure, _Shown):
            raise
        code = ExitCode(failure.exit_code)
        raise _failure(as_json, code.name, failure.message, code, report) from None
    except (KeyboardInterrupt, click.Abort):
        raise _failure(as_json, "INTERRUPTED", interrupted, ExitCode.INTERRUPTED, report) from None


def _failure(
    as_json: bool, name: str, message: str, code: ExitCode, report: Mapping[str, Any] | None
) -> Failure:
    if not as_json:
        return Failure(message, code)
    print_json({**(report or {}), "error": {"code": name, "message": message}})
    return _Shown(message, code)


def exit_code(error: SdkError) -> ExitCode:
    """The exit code of an error: its own, usage for a wrong request, network where no answer came."""
    if error.code in _RECOVERY:
        return _RECOVERY[error.code]
    if isinstance(error, ValidationError):
        return ExitCode.USAGE
    return ExitCode.NETWORK if isinstance(error, TransportError) else ExitCode.FAILURE


def print_json(document: Any) -> None:
    """One JSON value on standard output."""
    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2))
