"""Options that the commands of the ledger share, and the exit codes of the ledger's errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.client import NodeUnreachable
from cfnode.cli.exits import CommandFailure, ExitCode

if TYPE_CHECKING:
    from cfnode.ledger.database import Database
    from cfnode.sdk.errors import ErrorCode

__all__ = ["Moment", "database_option", "explained", "opened"]

database_option = click.option(
    "--database",
    metavar="URL",
    help="URL of the books: sqlite:///FILE or postgresql://USER@HOST/NAME. Default: an SQLite file, "
    "ledger.sqlite, in the default base path.",
)


class Moment(click.ParamType[int]):
    """Day or time in UTC: `2026-01-31`, `2026-01-31T12:30`."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the time in Unix ms."""
        if isinstance(value, int):
            return value
        try:
            moment = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{str(value)[:40]!r} is not a day or time: write 2026-01-31 or 2026-01-31T12:30",
                      param, ctx)  # fmt: skip
        aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return int(aware.timestamp() * 1000)


@contextmanager
def opened(url: str | None) -> Iterator[Database]:
    """Yield the books' database. Raise Failure."""
    with explained():
        from cfnode.ledger.database import Database, sqlite_url
        from cfnode.store.base_path import default_base_path

        database = Database(url or sqlite_url(default_base_path() / "ledger.sqlite"))
        try:
            yield database
        finally:
            database.close()


@contextmanager
def explained() -> Iterator[None]:
    """Convert errors of the ledger to a Failure with its exit code."""
    from cfnode.ledger import errors

    codes = {
        errors.WrongNodeChain: ExitCode.CONFIGURATION,
        errors.BrokenBooks: ExitCode.STORE,
        errors.DatabaseError: ExitCode.STORE,
        errors.Discarded: ExitCode.NEEDS_ARCHIVE,
    }
    unanswered: dict[type[errors.LedgerError], ErrorCode] = {
        errors.AccessRefused: "HTTP_STATUS",
        errors.NodeAway: "UNREACHABLE",
        errors.NodeSlow: "TIMEOUT",
        errors.NodeError: "BAD_ANSWER",
    }
    try:
        yield
    except errors.LedgerError as error:
        name = next((name for kind, name in unanswered.items() if isinstance(error, kind)), None)
        if name is not None:
            raise NodeUnreachable(str(error), name) from None
        exit_code = next((code for kind, code in codes.items() if isinstance(error, kind)), ExitCode.FAILURE)
        raise CommandFailure(str(error), exit_code) from None
