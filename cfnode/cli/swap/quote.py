"""`cfnode swap quote`: what a swap would give, as a table."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.output import console, print_json
from cfnode.cli.sdk_errors import reported
from cfnode.cli.swap.options import amount_of, broker_options, client, service_options, units
from cfnode.cli.values import AssetName, Units
from cfnode.core.assets import Asset, asset_by_symbol

if TYPE_CHECKING:
    from cfnode.sdk import Quote

__all__ = ["print_quotes", "quote"]


@click.command()
@click.argument("source", type=AssetName())
@click.argument("destination", type=AssetName())
@click.argument("amount", type=Units())
@broker_options
@service_options
def quote(source: Asset, destination: Asset, amount: Decimal, as_json: bool, **options: Any) -> None:
    """Quote a swap of AMOUNT (in whole coins, such as 0.5) of SOURCE to DESTINATION."""
    pair = source.chain, source.symbol, destination.chain, destination.symbol
    with reported(), client(**options, dca=True) as sdk:
        found = sdk.get_quote_v2(*pair, amount_of(amount, source))
    if as_json:
        print_json(found.to_json())
    else:
        print_quotes(found.quotes, source, destination)


def print_quotes(quotes: Any, source: Asset, destination: Asset) -> None:
    """Print a table with a column for each quote and its boosted variant."""
    from rich.table import Table

    columns = [each for quote in quotes for each in (quote, quote.boost_quote) if each is not None]
    table = Table(title=f"{source.chain} {source.symbol} → {destination.chain} {destination.symbol}")
    table.add_column("")
    for each in columns:
        table.add_column(each.type + (" boosted" if each.max_boost_fee_bps else ""), justify="right")
    cells = [_rows(each, source, destination) for each in columns]
    for name in cells[0] if cells else ():
        if any(rows[name] for rows in cells):
            table.add_row(name, *(rows[name] for rows in cells))
    console().print(table)


def _rows(quote: Quote, source: Asset, destination: Asset) -> dict[str, str]:
    chunks, slippage = quote.dca_params, quote.recommended_slippage_tolerance_percent
    every = f"{chunks.number_of_chunks}, every {chunks.chunk_interval_blocks} blocks" if chunks else ""
    return {
        "send": units(quote.deposit_amount, source),
        "receive": units(quote.egress_amount, destination),
        "price": format(quote.estimated_price, "f"),
        "fees": "\n".join(_fee(fee.type, fee.amount, fee.chain, fee.asset) for fee in quote.included_fees),
        "duration": _minutes(quote.estimated_duration_seconds),
        "chunks": every,
        "suggested slippage": "" if slippage is None else f"{slippage:g} %",
        "boost fee": f"{quote.max_boost_fee_bps:g} bps at most" if quote.max_boost_fee_bps else "",
        "note": "little liquidity" if quote.low_liquidity_warning else "",
    }


def _fee(kind: str, amount: int, chain: str, symbol: str) -> str:
    try:
        return f"{units(amount, asset_by_symbol(chain, symbol))} {kind.lower()}"
    except KeyError:
        return f"{amount} base units of {symbol} {kind.lower()}"


def _minutes(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"
