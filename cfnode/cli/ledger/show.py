"""`cfnode ledger show`: a report of the books as a table, JSON or CSV."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.ledger.options import Moment, database_option, opened
from cfnode.cli.options import json_lines_option, json_option
from cfnode.cli.output import print_list
from cfnode.cli.tables import print_command, print_table
from cfnode.cli.values import AccountId, AssetName, OneOf, Units, atoms
from cfnode.ledger.kinds import Owner
from cfnode.ledger.times import time_text
from cfnode.swaps.journey import REQUEST_STATES, JourneyState

if TYPE_CHECKING:
    from cfnode.core.assets import ForeignAsset
    from cfnode.ledger.database import Database
    from cfnode.ledger.reports import Period

__all__ = ["show"]

AMOUNTS = {
    "input": "source",
    "output": "target",
    "paid": "target",
    "refunded": "source",
    "network_fee": "Usdc",
    "broker_fee": "Usdc",
    "egress_fee": "target",
    "refund_fee": "source",
    "opening_fee": "Flip",
    "amount": "asset",
}
"""Members that are amounts, and the member with their asset, or the asset."""
ASSET_COLUMNS = frozenset({"source", "target", "asset"})
COLUMNS = {
    "swaps": ("time", "request", "account", "source", "target", "input", "output", "state", "broker_fee"),
    "channels": ("time", "chain", "channel", "account", "source", "target", "address", "deposits"),
    "fees": ("time", "kind", "account", "asset", "amount", "request"),
    "commissions": ("time", "account", "asset", "amount", "request", "swap"),
    "payouts": ("time", "kind", "account", "asset", "amount", "destination", "state", "recovery"),
    "unread": ("time", "block", "event", "kind", "reason"),
}
"""Members that a table prints; JSON and CSV have all of them."""


@click.command()
@click.argument("what", type=OneOf(COLUMNS), metavar="REPORT")
@database_option
@click.option("--from", "start", type=Moment(), metavar="TIME", help="First day or time (UTC) of the report.")
@click.option("--to", "end", type=Moment(), metavar="TIME", help="Day or time (UTC) before which it ends.")
@click.option("--account", type=AccountId(), metavar="ACCOUNT", help="Only records of this account.")
@click.option("--state", type=OneOf(REQUEST_STATES), metavar="STATE", help="Only swaps in this state.")
@click.option("--source", type=AssetName(), metavar="ASSET", help="Only swaps from this asset.")
@click.option("--target", type=AssetName(), metavar="ASSET", help="Only swaps to this asset.")
@click.option(
    "--least", type=Units(), metavar="AMOUNT", help="Only deposits of this many coins of --source, or more."
)
@click.option(
    "--most", type=Units(), metavar="AMOUNT", help="Only deposits of this many coins of --source, or fewer."
)
@click.option("--partner", metavar="NAME", help="Only swaps of this partner's channels.")
@click.option(
    "--owner",
    type=OneOf(Owner),
    metavar="OWNER",
    help="Only swaps of a customer, or of the chain itself (customer, chain), which swaps its fees.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, with all members.")
@json_option
@json_lines_option
def show(
    what: str,
    database: str | None,
    start: int | None,
    end: int | None,
    account: str | None,
    as_csv: bool,
    as_json: bool,
    as_lines: bool,
    state: str | None,
    source: ForeignAsset | None,
    target: ForeignAsset | None,
    least: Decimal | None,
    most: Decimal | None,
    partner: str | None,
    owner: str | None,
) -> None:
    """Print a REPORT of the books: swaps, channels, fees, commissions, payouts or unread.

    --state, --source, --target, --least, --most, --partner and --owner are for swaps.

    A table has whole units of the assets. JSON and CSV have amounts in smallest units, as digits, and times
    as ISO 8601.
    """
    if as_csv and (as_json or as_lines):
        raise CommandFailure(
            f"--csv and {'--json' if as_json else '--json-lines'} exclude each other: give one of them",
            ExitCode.USAGE,
        )
    filters: dict[str, Any] = {
        "state": state,
        "source": source,
        "target": target,
        "least": least,
        "most": most,
        "partner": partner,
        "owner": owner,
    }
    if what != "swaps" and (wrong := [f"--{name}" for name, value in filters.items() if value is not None]):
        raise CommandFailure(f"{wrong[0]} applies only to the report swaps: leave it out", ExitCode.USAGE)
    for name in ("least", "most"):
        if filters[name] is not None:
            if source is None:
                raise CommandFailure(f"--{name} counts coins of --source: give it, too", ExitCode.USAGE)
            filters[name] = atoms(filters[name], source.decimals, f"--{name}")
    with opened(database) as books:
        from cfnode.ledger.reports import Period, report
        from cfnode.ledger.unread import unread_kinds

        books.require()
        period = Period(start, end)
        records = (
            _swaps(books, period, account, filters)
            if what == "swaps"
            else report(books, what, period, account)
        )
        if as_json or as_lines:
            print_list(map(_plain, records), as_lines=as_lines)
        elif as_csv:
            _print_csv(records)
        else:
            names = COLUMNS[what]
            columns = ["chain time" if name == "time" else name for name in names]
            print_table(
                columns, ([_cell(record, name) for name in names] for record in records), f"no {what}"
            )
        unread = sum(kind.count for kind in unread_kinds(books))
    if unread and what != "unread":
        purpose = f"{unread} events are not in the reports. List them"
        print_command(purpose, "cfnode ledger show unread", err=True)


def _swaps(
    books: Database, period: Period, account: str | None, filters: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    from cfnode.ledger.partners import registry
    from cfnode.ledger.swap_list import SwapFilter, swaps_of_filter

    if filters["partner"] is not None:
        registry.require(books, filters["partner"])
    of_type: dict[str, Callable[[Any], Any]] = {
        "state": JourneyState,
        "source": _name,
        "target": _name,
        "least": int,
        "most": int,
        "owner": Owner,
    }
    terms = {name: of_type.get(name, str)(value) for name, value in filters.items() if value is not None}
    return swaps_of_filter(books, SwapFilter(account=account, period=period, **terms))


def _name(asset: ForeignAsset) -> str:
    return asset.name


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record as JSON: amounts as digits, times as text."""
    return {
        name: time_text(value)
        if name == "time"
        else str(value)
        if value is not None and name in AMOUNTS
        else value
        for name, value in record.items()
    }


def _print_csv(records: Iterator[dict[str, Any]]) -> None:
    from cfnode.ledger.spreadsheet import CsvTable

    table = None
    for record in records:
        if table is None:
            table = CsvTable(sys.stdout, record)
        table.write(_plain(record))


def _cell(record: dict[str, Any], name: str) -> str:
    value = record[name]
    if value is None:
        return ""
    if name == "time":
        return time_text(value)
    if name in AMOUNTS:
        return _units(value, record.get(AMOUNTS[name], AMOUNTS[name]))
    return _asset(value) if name in ASSET_COLUMNS else str(value)


def _asset(name: str) -> str:
    """Return an asset as the commands print it; the books have its name on the chain."""
    from cfnode.core.assets import text_of

    return text_of(name)


def _units(amount: int, asset: str) -> str:
    from cfnode.core.assets import ASSETS, units

    return units(amount, ASSETS[asset].decimals) if asset in ASSETS else str(amount)
