"""`cfnode ledger find`: swaps and channels by a number, an address, a transaction or a reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.ledger.options import database_option, opened
from cfnode.cli.options import json_option
from cfnode.cli.output import print_json
from cfnode.cli.tables import print_table
from cfnode.ledger.times import time_text

if TYPE_CHECKING:
    from cfnode.ledger.recent_swaps import SwapNow
    from cfnode.ledger.search import ChannelLine, LoneDeposit, SearchResult

__all__ = ["find"]

SWAP_COLUMNS = ("request", "time", "state", "source", "target", "input", "partner", "destination")
CHANNEL_COLUMNS = ("channel", "time", "kind", "source", "target", "partner", "address")
DEPOSIT_COLUMNS = ("transaction", "time", "state", "asset", "amount", "reason")


@click.command()
@click.argument("term")
@database_option
@json_option
def find(term: str, database: str | None, as_json: bool) -> None:
    """Print the swaps and channels that TERM names, the newest 50 of each.

    TERM is the number of a swap, the id of a channel, an address of a deposit, a payout or a refund in any
    spelling, a transaction on any chain, an account, or a partner's own reference. JSON has amounts in
    smallest units. Without a match the exit code is 1.
    """
    with opened(database) as books:
        from cfnode.ledger.search import search_books

        books.require()
        with books.reading() as connection:
            result = search_books(connection, term)
    if result.fault:
        raise CommandFailure(result.fault, ExitCode.USAGE)
    document = _document(result)
    if as_json:
        print_json(document)
    else:
        _print(document)
    if not result.count:
        text = f"the books have no match for {term[:80]!r}: give another name of it, or wait for its block"
        raise CommandFailure(text, ExitCode.FAILURE)


def _document(result: SearchResult) -> dict[str, Any]:
    return {
        "swaps": [_swap(swap) for swap in result.swaps],
        "channels": [_channel(channel) for channel in result.channels],
        "deposits": [_deposit(deposit) for deposit in result.deposits],
        "requests": [{"partner": request.partner, "state": request.state} for request in result.requests],
        "account": result.account,
        "isCut": result.is_cut,
    }


def _swap(swap: SwapNow) -> dict[str, Any]:
    names = ("request", "state", "account", "partner", "source", "target", "chunks", "executed")
    amounts = {"input": str(swap.amount), "output": str(swap.output)}
    record = {name: getattr(swap, name) for name in names} | amounts
    return record | {
        "destination": swap.destination,
        "transaction": swap.transaction,
        "block": swap.block,
        "time": time_text(swap.time),
    }


def _channel(channel: ChannelLine) -> dict[str, Any]:
    names = ("kind", "account", "partner", "source", "target", "address", "destination")
    record = {name: getattr(channel, name) for name in names}
    return {"channel": str(channel.id), **record, "time": time_text(channel.time)}


def _deposit(deposit: LoneDeposit) -> dict[str, Any]:
    names = ("chain", "state", "asset", "reason", "transaction", "block")
    record = {name: getattr(deposit, name) for name in names}
    return record | {"amount": str(deposit.amount), "time": time_text(deposit.time)}


def _print(document: dict[str, Any]) -> None:
    """Print a table for each kind of match that there is."""
    for kind, columns, amount in (
        ("swaps", SWAP_COLUMNS, ("input", "source")),
        ("channels", CHANNEL_COLUMNS, None),
        ("deposits", DEPOSIT_COLUMNS, ("amount", "asset")),
    ):
        if records := document[kind]:
            print_table(
                columns, ([_cell(record, name, amount) for name in columns] for record in records), ""
            )
    for request in document["requests"]:
        click.echo(f"request of {request['partner']}: {request['state']}")
    if document["account"] is not None:
        click.echo(f"account {document['account']}: cfnode ledger show swaps --account {document['account']}")
    if document["isCut"]:
        click.echo("There are more matches; these are the newest.", err=True)


def _cell(record: dict[str, Any], name: str, amount: tuple[str, str] | None) -> str:
    from cfnode.core.assets import ASSETS, text_of, units

    value = record[name]
    if value is None:
        return ""
    if amount is not None and name == amount[0]:
        asset = ASSETS.get(record[amount[1]])
        return str(value) if asset is None else units(int(value), asset.decimals)
    return text_of(value) if name in ("source", "target", "asset") else str(value)
