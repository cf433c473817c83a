"""`cfnode ledger webhook`: receivers of a request for each change of a swap's state."""

from __future__ import annotations

import click

from cfnode.cli.exits import ExitCode, Failure
from cfnode.cli.groups import Group
from cfnode.cli.ledger.options import Moment, database_option, opened
from cfnode.cli.options import json_lines_option, json_option
from cfnode.cli.output import print_json, print_list
from cfnode.cli.tables import print_table
from cfnode.cli.values import AccountId, WholeNumber
from cfnode.ledger.times import time_text

__all__ = ["webhook"]


@click.group(cls=Group)
def webhook() -> None:
    """Send a signed HTTP request for each change of a swap's state.

    `cfnode ledger run` sends them: at least once, in order for each swap, for a day until they are accepted.
    """


@webhook.command()
@click.argument("url")
@database_option
@click.option(
    "--account",
    type=AccountId(),
    metavar="ACCOUNT",
    help="Only swaps of this broker, or in which this affiliate has a share. Default: all swaps.",
)
@json_option
def add(url: str, database: str | None, account: str | None, as_json: bool) -> None:
    """Add the receiver at URL, and print its secret, once.

    An SQLite file of the books becomes readable for its owner only.
    """
    with opened(database) as books:
        from cfnode.ledger.webhooks import registry

        books.require()
        try:
            number, secret = registry.add(books, url, account)
        except ValueError as error:
            raise Failure(str(error), ExitCode.USAGE) from None
    if as_json:
        print_json({"id": number, "secret": secret})
    else:
        click.echo(f"id      {number}\nsecret  {secret}")
        click.echo("Keep the secret: it is not printed again.", err=True)


@webhook.command(name="list")
@database_option
@json_option
@json_lines_option
def list_(database: str | None, as_json: bool, as_lines: bool) -> None:
    """List the receivers, with the numbers of their deliveries and the newest error."""
    with opened(database) as books:
        from cfnode.ledger.webhooks import registry

        books.require()
        receivers = registry.listed(books)
    names = ("id", "url", "account", "pending", "delivered", "expired", "error")
    records = [{name: getattr(receiver, name) for name in names} for receiver in receivers]
    if as_json or as_lines:
        dated = (
            record | {"created": time_text(receiver.created_at)}
            for record, receiver in zip(records, receivers, strict=True)
        )
        print_list(dated, as_lines=as_lines)
        return
    rows = (["" if value is None else str(value) for value in record.values()] for record in records)
    print_table(names, rows, "no webhooks")


@webhook.command()
@click.argument("webhook_id", metavar="ID")
@database_option
@json_option
def remove(webhook_id: str, database: str | None, as_json: bool) -> None:
    """Remove the receiver ID, with what it has not got yet."""
    with opened(database) as books:
        from cfnode.ledger.webhooks import registry

        books.require()
        registry.remove(books, webhook_id)
    if as_json:
        print_json({"id": webhook_id, "removed": True})


@webhook.command()
@click.argument("webhook_id", metavar="ID")
@database_option
@click.option("--request", type=WholeNumber(0), metavar="NUMBER", help="Changes of this swap request.")
@click.option("--from", "start", type=Moment(), metavar="TIME", help="Changes of blocks since then (UTC).")
@click.option("--to", "end", type=Moment(), metavar="TIME", help="Changes of blocks before then (UTC).")
@json_option
def replay(
    webhook_id: str,
    database: str | None,
    request: int | None,
    start: int | None,
    end: int | None,
    as_json: bool,
) -> None:
    """Send changes to the receiver ID again; by default those that failed for a day.

    Ids of deliveries stay as they were. Changes are noted from the time when the first webhook was added.
    """
    with opened(database) as books:
        from cfnode.ledger.webhooks import registry

        books.require()
        count = registry.replay(books, webhook_id, registry.Chosen(request, start, end))
    if as_json:
        print_json({"id": webhook_id, "deliveries": count})
    else:
        click.echo(f"{count} deliveries to send")
