"""Exit codes of the SDK's errors, and their conversion to a Failure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.sdk.errors import RpcCallError, SdkError, TransportError, Unreachable, ValidationError

__all__ = ["exit_code_of", "reported"]

_RECOVERY = {code.name: code for code in ExitCode} | {"KEY_FILE": ExitCode.CONFIGURATION}


@contextmanager
def reported(interrupted: str = "interrupted", report: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Convert an error of the SDK, or an interruption, to a Failure.

    `interrupted`: the message for Ctrl-C; `report`: the members that `--json` prints besides the error.
    """
    try:
        yield
    except SdkError as error:
        raw = error.raw_text if isinstance(error, RpcCallError) else ""
        code = exit_code_of(type(error))
        is_away = isinstance(error, Unreachable) and not error.sent
        advice = ". Check that it is running, and that the address is right" if is_away else ""
        raise CommandFailure(error.message + advice, code, name=error.code, report=report, raw=raw) from None
    except CommandFailure as failure:
        if failure.report is None and report is not None:
            failure.report = dict(report)
        raise
    except (KeyboardInterrupt, click.Abort):
        raise CommandFailure(interrupted, ExitCode.INTERRUPTED, report=report) from None


def exit_code_of(error: type[SdkError]) -> ExitCode:
    """Return the exit code of an error: its own, USAGE if malformed, NETWORK without an answer."""
    if error.code in _RECOVERY:
        return _RECOVERY[error.code]
    if issubclass(error, ValidationError):
        return ExitCode.USAGE
    return ExitCode.NETWORK if issubclass(error, TransportError) else ExitCode.FAILURE
