"""Conversion of errors into the failure that ends a command.

A failure is a line on standard error, or an object on one line of standard output (`--json`), and an exit
code. `ended` wraps every command; `explained` and `explained_by_a_runtime` wrap code that may raise errors of
lower layers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.output import print_json

__all__ = ["ended", "explained", "explained_by_a_runtime", "logged"]


class _Printed(click.ClickException):
    """A failure that has already been printed as JSON."""

    def __init__(self, code: int) -> None:
        super().__init__("")
        self.exit_code = code  # type: ignore[misc]  # as for CommandFailure

    def show(self, file: object = None) -> None:
        return None


@contextmanager
def ended(wants_json: Callable[[], bool]) -> Iterator[None]:
    """Wrap a command: turn an interruption into a Failure, and print failures as JSON if `--json`."""
    try:
        yield
    except (KeyboardInterrupt, click.Abort):
        failure: click.ClickException = CommandFailure("interrupted", ExitCode.INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.ClickException as error:
        failure = error
    else:
        return
    if not wants_json():
        raise failure from None
    print_json(_as_failure(failure).to_json(), is_line=True)
    raise _Printed(failure.exit_code)


@contextmanager
def logged(as_json: bool) -> Iterator[None]:
    """Wrap a command whose log is JSON: log a failure as the last line, and keep its exit code."""
    try:
        yield
    except click.ClickException as error:
        if not as_json:
            raise
        log = logging.getLogger("cfnode.service")
        record = log.makeRecord(log.name, logging.ERROR, __file__, 0, error.format_message(), (), None)
        log.handle(record)  # regardless of the filter: no other line has the reason
        raise _Printed(error.exit_code) from None


def _as_failure(error: click.ClickException) -> CommandFailure:
    """Convert an error of click, which reports a malformed command line, to a Failure."""
    return (
        error
        if isinstance(error, CommandFailure)
        else CommandFailure(error.format_message(), ExitCode(error.exit_code))
    )


@contextmanager
def explained() -> Iterator[None]:
    """End the command with a text if a key, a chain specification or a file cannot be used.

    The texts of these errors never repeat a secret.
    """
    from cfnode.core.bip39 import PhraseError
    from cfnode.core.chainspec import ChainSpecError
    from cfnode.core.ss58 import Ss58Error
    from cfnode.core.suri import SuriError
    from cfnode.store.errors import StoreError

    try:
        yield
    except ChainSpecError as error:
        raise CommandFailure(str(error), ExitCode.CONFIGURATION) from None
    except StoreError as error:
        raise CommandFailure(str(error), ExitCode(error.exit_code)) from None
    except (PhraseError, SuriError, Ss58Error) as error:
        raise CommandFailure(str(error)) from None


@contextmanager
def explained_by_a_runtime() -> Iterator[None]:
    """End the command with a text if a runtime call fails, and for the errors of `explained`."""
    from cfnode.core.scale import ScaleError
    from cfnode.devchain.authorities import AuthoritiesError
    from cfnode.runtime.calls import RuntimeCallError

    with explained():
        try:
            yield
        except AuthoritiesError as error:
            raise CommandFailure(str(error), ExitCode.USAGE) from None
        except (RuntimeCallError, ScaleError) as error:
            raise CommandFailure(f"the runtime call failed: {error}", ExitCode.CONFIGURATION) from None
