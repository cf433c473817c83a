"""`cfnode ledger webhook`: receivers of a request for each change of a swap, a deposit or a channel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.groups import CommandGroup
from cfnode.cli.ledger.options import Moment, database_option, opened
from cfnode.cli.options import json_lines_option, json_option
from cfnode.cli.output import print_json, print_list
from cfnode.cli.tables import print_table
from cfnode.cli.values import AccountId, OneOf, WholeNumber
from cfnode.ledger.times import time_text

if TYPE_CHECKING:
    from cfnode.ledger.webhooks.history import DeliveryAttempt, DeliveryLine

__all__ = ["webhook"]

DELIVERY_STATES = ("pending", "delivered", "expired")


@click.group(cls=CommandGroup)
def webhook() -> None:
    """Send a signed HTTP request for each change of a swap, a deposit or a channel.

    `cfnode ledger run` sends them: at least once, in order for each channel, for a day until they are
    accepted. A receiver that accepts nothing for three days is switched off.
    """


@webhook.command()
@click.argument("url")
@database_option
@click.option(
    "--account",
    type=AccountId(),
    metavar="ACCOUNT",
    help="Only channels of this broker, and swaps in which this affiliate has a share. Default: all.",
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
            raise CommandFailure(str(error), ExitCode.USAGE) from None
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
    """List the receivers with their state (on, failing, off), numbers of deliveries and the newest error."""
    with opened(database) as books:
        from cfnode.ledger.webhooks import registry

        books.require()
        receivers = registry.listed(books)
    names = ("id", "url", "account", "state", "pending", "delivered", "expired", "error")
    records = [{name: getattr(receiver, name) for name in names} for receiver in receivers]
    if as_json or as_lines:
        dated = (
            record
            | {"created": time_text(receiver.created_at)}
            | {name: _time(getattr(receiver, value)) for name, value in _TIMES.items()}
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
@click.option("--change", type=WholeNumber(0), metavar="NUMBER", help="This change: NUMBER in ID.NUMBER.")
@json_option
def replay(
    webhook_id: str,
    database: str | None,
    request: int | None,
    start: int | None,
    end: int | None,
    change: int | None,
    as_json: bool,
) -> None:
    """Send changes to the receiver ID again; by default those that failed for a day.

    Ids of deliveries stay as they were. Changes are noted from the time when the first webhook was added.
    """
    with opened(database) as books:
        from cfnode.ledger.webhooks import registry

        books.require()
        count = registry.replay(books, webhook_id, registry.Chosen(request, start, end, change))
    if as_json:
        print_json({"id": webhook_id, "deliveries": count})
    else:
        click.echo(f"{count} deliveries to send")


@webhook.command(name="test")
@click.argument("webhook_id", metavar="ID")
@database_option
@json_option
def test_(webhook_id: str, database: str | None, as_json: bool) -> None:
    """Send a test to the receiver ID, and print the id of its delivery."""
    with opened(database) as books:
        from cfnode.ledger.webhooks import registry

        books.require()
        delivery = registry.send_test(books, webhook_id)
    if as_json:
        print_json({"delivery": delivery})
    else:
        click.echo(delivery)


@webhook.command()
@click.argument("webhook_id", metavar="ID")
@database_option
@click.option("--at-once", is_flag=True, help="End the old secret at once. Default: both sign for a day.")
@json_option
def rotate(webhook_id: str, database: str | None, at_once: bool, as_json: bool) -> None:
    """Give the receiver ID a new secret, and print it, once.

    For a day each request has two signatures, by the new secret and by the old one.
    """
    with opened(database) as books:
        from cfnode.ledger.webhooks import registry

        books.require()
        secret = registry.rotate(books, webhook_id, keeps_old=not at_once)
    if as_json:
        print_json({"id": webhook_id, "secret": secret})
    else:
        click.echo(secret)
        click.echo("Keep the secret: it is not printed again.", err=True)


@webhook.command()
@click.argument("webhook_id", metavar="ID")
@database_option
@json_option
def enable(webhook_id: str, database: str | None, as_json: bool) -> None:
    """Switch the receiver ID on again; it gets all that waits for it."""
    with opened(database) as books:
        from cfnode.ledger.webhooks import registry

        books.require()
        registry.enable(books, webhook_id)
    if as_json:
        print_json({"id": webhook_id, "enabled": True})


@webhook.command()
@click.argument("webhook_id", metavar="ID")
@database_option
@json_option
def disable(webhook_id: str, database: str | None, as_json: bool) -> None:
    """Switch the receiver ID off: its deliveries wait."""
    with opened(database) as books:
        from cfnode.ledger.webhooks import registry

        books.require()
        registry.disable(books, webhook_id)
    if as_json:
        print_json({"id": webhook_id, "enabled": False})


@webhook.command()
@click.argument("webhook_id", metavar="ID")
@database_option
@click.option("--state", type=OneOf(DELIVERY_STATES), metavar="STATE", help="Only deliveries in this state.")
@click.option("--before", type=WholeNumber(0), metavar="CHANGE", help="Only changes before this one.")
@click.option(
    "--limit", type=WholeNumber(1, 1_000), metavar="NUMBER", default=50, show_default=True, help="Deliveries."
)
@json_option
@json_lines_option
def deliveries(
    webhook_id: str,
    database: str | None,
    state: str | None,
    before: int | None,
    limit: int,
    as_json: bool,
    as_lines: bool,
) -> None:
    """List the deliveries to the receiver ID, the newest first."""
    with opened(database) as books:
        from cfnode.ledger.webhooks import history, registry

        books.require()
        registry.require(books, webhook_id)
        with books.reading() as connection:
            lines = history.delivery_lines(connection, webhook_id, state, before, limit)
    records = [_record(line) for line in lines]
    if as_json or as_lines:
        print_list(records, as_lines=as_lines)
        return
    names = ("delivery", "type", "subject", "state", "attempts", "ended", "error")
    rows = (["" if record[name] is None else str(record[name]) for name in names] for record in records)
    print_table(names, rows, "no deliveries")


@webhook.command()
@click.argument("delivery_id", metavar="DELIVERY")
@database_option
@json_option
def delivery(delivery_id: str, database: str | None, as_json: bool) -> None:
    """Show the delivery DELIVERY: the request, and each attempt with answer and time."""
    with opened(database) as books:
        from cfnode.ledger.webhooks import history

        books.require()
        key = history.delivery_number(delivery_id)
        with books.reading() as connection:
            sent = None if key is None else history.delivery_of(connection, *key)
    if sent is None:
        text = f"no delivery {delivery_id[:40]!r}: `cfnode ledger webhook deliveries ID` prints the ids"
        raise CommandFailure(text, ExitCode.FAILURE)
    record = _record(sent.line)
    if as_json:
        tries = [_attempt(attempt) for attempt in sent.attempts]
        print_json({**record, "url": sent.line.url, "body": sent.body, "attempts": tries})
        return
    for name, value in (*record.items(), ("url", sent.line.url), ("body", sent.body)):
        click.echo(f"{name:<9} {'' if value is None else value}")
    names = ("at", "ms", "status", "error", "answer")
    table = ([_cell(value) for value in _attempt(attempt).values()] for attempt in sent.attempts)
    print_table(names, table, "no attempts")


_TIMES = {"oldSecretUntil": "old_until", "failingSince": "failing_since", "disabled": "disabled_at"}
"""Members of a receiver in JSON that are times, and their attributes."""


def _record(line: DeliveryLine) -> dict[str, Any]:
    """Return a delivery as JSON."""
    return {
        "delivery": line.id,
        "type": line.title,
        "subject": line.subject,
        "request": line.request,
        "state": line.state,
        "attempts": line.attempts,
        "ended": _time(line.ended_at),
        "error": line.error,
    }


def _attempt(attempt: DeliveryAttempt) -> dict[str, Any]:
    """Return an attempt as JSON; `ms` is the time until the answer."""
    return {
        "at": _time(attempt.at),
        "ms": attempt.took_ms,
        "status": attempt.status,
        "error": attempt.error,
        "answer": attempt.answer,
    }


def _time(value: int | None) -> str | None:
    return None if value is None else time_text(value)


def _cell(value: object) -> str:
    return "" if value is None else str(value)
