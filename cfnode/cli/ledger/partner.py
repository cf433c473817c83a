"""`cfnode ledger partner`: programs that may open channels in the broker's name."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.groups import CommandGroup
from cfnode.cli.ledger.options import database_option, opened
from cfnode.cli.options import json_lines_option, json_option
from cfnode.cli.output import print_json, print_list
from cfnode.cli.tables import print_table
from cfnode.cli.values import AccountId, AssetName, Units, WholeNumber, atoms
from cfnode.ledger.times import time_text
from cfnode.swaps.limits import MAX_COMMISSION_BPS

if TYPE_CHECKING:
    from cfnode.ledger.database import Database
    from cfnode.ledger.partners.registry import Partner

__all__ = ["partner"]

_BUDGET_ASSET = "Flip"


@click.group(cls=CommandGroup)
def partner() -> None:
    """Keep the partners of a broker: their API keys and the terms of their channels.

    `cfnode service run --broker URL` answers the requests of partners, below /v1/.
    """


@partner.command()
@click.argument("name")
@database_option
@click.option(
    "--commission",
    type=WholeNumber(0, MAX_COMMISSION_BPS),
    metavar="BPS",
    default=0,
    show_default=True,
    help="Broker commission of the partner's channels, in basis points.",
)
@click.option("--affiliate", type=AccountId(), metavar="ACCOUNT", help="Affiliate account of the partner.")
@click.option(
    "--affiliate-commission",
    type=WholeNumber(1, MAX_COMMISSION_BPS),
    metavar="BPS",
    default=None,
    help="Commission of the affiliate, in basis points, besides the broker's.",
)
@click.option(
    "--asset",
    "assets",
    type=AssetName(),
    multiple=True,
    metavar="ASSET",
    help="Asset that the partner may swap (repeatable). Default: all.",
)
@click.option(
    "--rate",
    type=WholeNumber(1, 60_000),
    metavar="NUMBER",
    default=60,
    show_default=True,
    help="Requests a minute.",
)
@click.option(
    "--budget",
    type=Units(),
    metavar="FLIP",
    help="FLIP for opening channels in each month (UTC). Default: no limit.",
)
@json_option
def add(
    name: str,
    database: str | None,
    commission: int,
    affiliate: str | None,
    affiliate_commission: int | None,
    assets: tuple[Any, ...],
    rate: int,
    budget: Decimal | None,
    as_json: bool,
) -> None:
    """Add the partner NAME, and print its API key, once. The books keep a hash of the key only."""
    amount = None if budget is None else atoms(budget, 18, "--budget")
    with opened(database) as books:
        from cfnode.ledger.partners import registry

        books.require()
        allowed = frozenset(asset.name for asset in assets) or None
        terms = registry.Partner(
            name, commission, affiliate, allowed, rate, amount, affiliate_bps=affiliate_commission or 0
        )
        try:
            key = registry.add(books, terms)
        except ValueError as error:
            raise CommandFailure(str(error), ExitCode.USAGE) from None
    if as_json:
        print_json({"name": name, "key": key})
    else:
        click.echo(f"name  {name}\nkey   {key}")
        click.echo("Keep the key: it is not printed again.", err=True)


@partner.command(name="list")
@database_option
@json_option
@json_lines_option
def list_(database: str | None, as_json: bool, as_lines: bool) -> None:
    """List the partners with their terms; `spent` is what the channels of this month cost, in FLIP."""
    with opened(database) as books:
        from cfnode.ledger.partners import registry

        books.require()
        records = [_record(terms, _spent_now(books, terms.name)) for terms in registry.listed(books)]
    if as_json or as_lines:
        print_list(records, as_lines=as_lines)
        return
    print_table(_COLUMNS, map(_row, records), "no partners")


def _spent_now(books: Database, name: str) -> int:
    """Return the cost of a partner's channels of this month, in smallest units of FLIP."""
    from datetime import UTC, datetime

    from cfnode.ledger.partners.access import spent

    return spent(books, name, datetime.now(UTC).strftime("%Y-%m"))


_COLUMNS = (
    "name",
    "commission bps",
    "affiliate",
    "affiliate bps",
    "assets",
    "rate",
    "budget",
    "spent",
    "revoked",
    "old key until",
)


def _record(terms: Partner, spent: int) -> dict[str, Any]:
    """Return a partner's terms, and what its channels cost in base units of `budgetAsset`, as JSON."""
    return {
        "name": terms.name,
        "commissionBps": terms.commission_bps,
        "affiliate": terms.affiliate,
        "affiliateBps": terms.affiliate_bps,
        "assets": None if terms.assets is None else sorted(terms.assets),
        "rate": terms.rate,
        "budget": None if terms.budget is None else str(terms.budget),
        "spent": str(spent),
        "budgetAsset": _BUDGET_ASSET,
        "revoked": None if terms.revoked_at is None else time_text(terms.revoked_at),
        "oldKeyUntil": None if terms.old_until is None else time_text(terms.old_until),
    }


def _row(record: dict[str, Any]) -> list[str]:
    """Return the cells of a partner: amounts in whole units."""
    from cfnode.core.assets import ASSETS, asset_text, units

    decimals = ASSETS[record.pop("budgetAsset")].decimals
    whole_units = {name: units(int(record[name]), decimals) for name in ("budget", "spent") if record[name]}
    assets = {"assets": ",".join(asset_text(ASSETS[name]) for name in record["assets"] or ())}
    return ["" if value is None else str(value) for value in (record | whole_units | assets).values()]


@partner.command()
@click.argument("name")
@database_option
@json_option
def revoke(name: str, database: str | None, as_json: bool) -> None:
    """End the API key of the partner NAME, from its next request on."""
    with opened(database) as books:
        from cfnode.ledger.partners import registry

        books.require()
        registry.revoke(books, name)
    if as_json:
        print_json({"name": name, "revoked": True})


@partner.command()
@click.argument("name")
@database_option
@click.option(
    "--commission",
    type=WholeNumber(0, MAX_COMMISSION_BPS),
    metavar="BPS",
    help="New commission, in basis points.",
)
@click.option("--affiliate", type=AccountId(), metavar="ACCOUNT", help="New affiliate account.")
@click.option(
    "--affiliate-commission",
    type=WholeNumber(1, MAX_COMMISSION_BPS),
    metavar="BPS",
    help="New commission of the affiliate.",
)
@click.option("--no-affiliate", is_flag=True, help="Without an affiliate from now on.")
@click.option(
    "--asset",
    "assets",
    type=AssetName(),
    multiple=True,
    metavar="ASSET",
    help="Asset of a new list (repeatable).",
)
@click.option("--all-assets", is_flag=True, help="All assets from now on.")
@click.option(
    "--rate", type=WholeNumber(1, 60_000), metavar="NUMBER", help="New number of requests a minute."
)
@click.option("--budget", type=Units(), metavar="FLIP", help="New budget of a month.")
@click.option("--no-budget", is_flag=True, help="Without a limit from now on.")
@json_option
def change(
    name: str,
    database: str | None,
    commission: int | None,
    affiliate: str | None,
    affiliate_commission: int | None,
    no_affiliate: bool,
    assets: tuple[Any, ...],
    all_assets: bool,
    rate: int | None,
    budget: Decimal | None,
    no_budget: bool,
    as_json: bool,
) -> None:
    """Change terms of the partner NAME, from its next request on. Terms without an option stay."""
    changed_terms = {
        "commission_bps": commission,
        "affiliate": affiliate,
        "affiliate_bps": affiliate_commission,
        "assets": frozenset(asset.name for asset in assets) or None,
        "rate": rate,
        "budget": None if budget is None else atoms(budget, 18, "--budget"),
    }
    terms: dict[str, Any] = {term: value for term, value in changed_terms.items() if value is not None}
    for flag, is_set, ended in (
        ("--no-affiliate", no_affiliate, {"affiliate": None, "affiliate_bps": 0}),
        ("--all-assets", all_assets, {"assets": None}),
        ("--no-budget", no_budget, {"budget": None}),
    ):
        if is_set and ended.keys() & terms.keys():
            raise CommandFailure(f"{flag} excludes a new value: give one of them", ExitCode.USAGE)
        terms |= ended if is_set else {}
    if not terms:
        raise CommandFailure("name at least one term to change", ExitCode.USAGE)
    with opened(database) as books:
        from cfnode.ledger.partners import registry

        books.require()
        try:
            changed = registry.change(books, name, **terms)
        except ValueError as error:
            raise CommandFailure(str(error), ExitCode.USAGE) from None
        record = _record(changed, _spent_now(books, name))
    if as_json:
        print_json(record)
    else:
        print_table(_COLUMNS, [_row(record)], "")


@partner.command()
@click.argument("name")
@database_option
@click.option("--at-once", is_flag=True, help="End the old key at once. Default: both are valid for a day.")
@json_option
def rotate(name: str, database: str | None, at_once: bool, as_json: bool) -> None:
    """Give the partner NAME a new API key, and print it, once. For a day the old one is valid, too."""
    with opened(database) as books:
        from cfnode.ledger.partners import registry

        books.require()
        key = registry.rotate(books, name, keeps_old=not at_once)
    if as_json:
        print_json({"name": name, "key": key})
    else:
        click.echo(key)
        click.echo("Keep the key: it is not printed again.", err=True)


@partner.command()
@click.argument("name")
@database_option
@json_option
def remove(name: str, database: str | None, as_json: bool) -> None:
    """End the partner NAME, and free the name; print the name under which its channels stay in the books."""
    with opened(database) as books:
        from cfnode.ledger.partners import registry

        books.require()
        kept = registry.remove(books, name)
    if as_json:
        print_json({"name": name, "kept": kept})
    else:
        click.echo(kept)


@partner.command()
@click.argument("name")
@database_option
@click.option(
    "--days", type=WholeNumber(1, 90), metavar="NUMBER", default=7, show_default=True, help="Last days."
)
@json_option
@json_lines_option
def usage(name: str, database: str | None, days: int, as_json: bool, as_lines: bool) -> None:
    """Print the requests of the partner NAME by day (UTC), and the errors that it got, by code."""
    import time

    with opened(database) as books:
        from cfnode.ledger.partners import registry
        from cfnode.ledger.partners.usage import usage_of

        books.require()
        registry.require(books, name)
        with books.reading() as connection:
            uses = usage_of(connection, name, days, int(time.time()) // 86_400)
    records = [
        {"day": time_text(use.day * 86_400_000)[:10], "requests": use.requests, "errors": use.errors}
        for use in uses
    ]
    if as_json or as_lines:
        print_list(records, as_lines=as_lines)
        return
    texts = (", ".join(f"{code} {count}" for code, count in use.errors.items()) for use in uses)
    rows = (
        [str(record["day"]), str(record["requests"]), text]
        for record, text in zip(records, texts, strict=True)
    )
    print_table(("day", "requests", "errors"), rows, "no requests")
