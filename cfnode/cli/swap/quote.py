"""`cfnode swap quote`: the quotes for a swap, as a table."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.output import print_json
from cfnode.cli.sdk_errors import reported
from cfnode.cli.swap.options import (
    amount_of,
    broker_options,
    client,
    fee_text,
    limits_in,
    pair_of,
    service_options,
    units,
)
from cfnode.cli.tables import print_side_by_side
from cfnode.cli.values import AssetName, Units
from cfnode.core.assets import ForeignAsset

if TYPE_CHECKING:
    from cfnode.sdk import Quote

__all__ = ["print_quotes", "quote"]


@click.command()
@click.argument("source", type=AssetName())
@click.argument("destination", type=AssetName())
@click.argument("amount", type=Units(above_zero=True))
@broker_options
@service_options
def quote(
    source: ForeignAsset, destination: ForeignAsset, amount: Decimal, as_json: bool, **options: Any
) -> None:
    """Quote a swap of AMOUNT (in whole coins, such as 0.5) of SOURCE to DESTINATION."""
    with reported(), limits_in(source), client(**options, dca=True) as sdk:
        answer = sdk.get_quote_v2(*pair_of(source, destination), amount_of(amount, source))
    if as_json:
        print_json(answer.to_json())
    else:
        print_quotes(answer.quotes, source, destination)


def print_quotes(quotes: Any, source: ForeignAsset, destination: ForeignAsset) -> None:
    """Print each quote and its boosted variant, side by side."""
    columns = [variant for quote in quotes for variant in (quote, quote.boost_quote) if variant is not None]
    records = [
        (column.type + (" boosted" if column.max_boost_fee_bps else ""), _fields(column, source, destination))
        for column in columns
    ]
    print_side_by_side(records, f"{source.chain} {source.symbol} → {destination.chain} {destination.symbol}")


def _fields(quote: Quote, source: ForeignAsset, destination: ForeignAsset) -> list[tuple[str, str]]:
    from cfnode.sdk.lp import rounded

    chunks, slippage = quote.dca_params, quote.recommended_slippage_tolerance_percent
    chunks_text = f"{chunks.number_of_chunks}, every {chunks.chunk_interval_blocks} blocks" if chunks else ""
    fees = [fee_text(fee.type, fee.amount, fee.chain, fee.asset) for fee in quote.included_fees]
    return [
        ("send", units(quote.deposit_amount, source)),
        ("receive", units(quote.egress_amount, destination)),
        ("price", f"{rounded(quote.estimated_price)} {destination.symbol} for 1 {source.symbol}"),
        ("fees", "\n".join(fees)),
        ("duration", _minutes(quote.estimated_duration_seconds)),
        ("chunks", chunks_text),
        ("suggested slippage", "" if slippage is None else f"{slippage:g} %"),
        ("boost fee", f"{quote.max_boost_fee_bps:g} bps at most" if quote.max_boost_fee_bps else ""),
        ("note", "little liquidity" if quote.low_liquidity_warning else ""),
    ]


def _minutes(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"
