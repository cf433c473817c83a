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
    from datetime import UTC, datetime

    with opened(database) as books:
        from cfnode.ledger.partners import registry
        from cfnode.ledger.partners.access import spent

        books.require()
        month = datetime.now(UTC).strftime("%Y-%m")
        records = [_record(terms, spent(books, terms.name, month)) for terms in registry.listed(books)]
    if as_json or as_lines:
        print_list(records, as_lines=as_lines)
        return
    print_table(_COLUMNS, map(_row, records), "no partners")


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
