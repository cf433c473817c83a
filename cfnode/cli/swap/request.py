"""`cfnode swap request`: a deposit address, with a QR code for the wallet."""

from __future__ import annotations

import io
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.exits import ExitCode, Failure
from cfnode.cli.sdk_errors import print_json, told_by_sdk
from cfnode.cli.swap.options import amount_of, asset_of, client, console, shared_options, units
from cfnode.core.assets import Asset

if TYPE_CHECKING:
    from cfnode.sdk import DepositAddress, FillOrKillParams, SwapSDK

__all__ = ["qr_code", "request"]

_DEFAULT_RETRY_BLOCKS = 100


@click.command(
    epilog="With --slippage the price is the quote's; with --min-price no quote is asked for.",
)
@click.argument("source")
@click.argument("destination")
@click.argument("amount")
@click.option("--to", "recipient", required=True, help="Who receives, an address of the destination chain.")
@click.option("--refund", required=True, help="Where a refund goes, an address of the source chain.")
@click.option("--slippage", metavar="PERCENT", help="The swap may be this much worse than the quote.")
@click.option("--min-price", metavar="PRICE", help="The least of DESTINATION for one SOURCE.")
@click.option(
    "--retry-blocks",
    type=click.IntRange(0, 2**32 - 1),
    default=_DEFAULT_RETRY_BLOCKS,
    show_default=True,
    help="State Chain blocks (6 s) to try before refunding.",
)
@click.option("--boost", is_flag=True, help="Take the boosted quote: faster, for a fee.")
@click.option("--dca", is_flag=True, help="Take the quote in chunks.")
@click.option("--qr/--no-qr", default=None, help="Show the address as a QR code [default: on a terminal].")
@shared_options
def request(
    source: str,
    destination: str,
    amount: str,
    recipient: str,
    refund: str,
    slippage: str | None,
    min_price: str | None,
    retry_blocks: int,
    boost: bool,
    dca: bool,
    qr: bool | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Open a deposit channel: AMOUNT (whole coins) of SOURCE becomes DESTINATION."""
    if (slippage is None) == (min_price is None):
        raise Failure("give either --slippage PERCENT or --min-price PRICE", ExitCode.USAGE)
    if min_price is not None and (boost or dca):
        raise Failure("--boost and --dca choose a quote: use --slippage with them", ExitCode.USAGE)
    src, dest = asset_of(source), asset_of(destination)
    base = amount_of(amount, src)
    from cfnode.sdk import FillOrKillParams

    left = "interrupted; a deposit channel may have been opened"
    with told_by_sdk(as_json, left), client(**options, dca=dca) as sdk:
        terms = FillOrKillParams(refund, retry_blocks, slippage, min_price)
        if min_price is None:
            channel = _by_quote(sdk, src, dest, base, recipient, terms, boost=boost, dca=dca)
        else:
            channel = sdk.request_deposit_address(
                src.chain, src.symbol, dest.chain, dest.symbol, recipient, base, terms
            )
    if as_json:
        print_json(channel.to_json())
    else:
        wanted = sys.stdout.isatty() if qr is None else qr
        _print_channel(channel, src, wanted, options["network"])


def _by_quote(
    sdk: SwapSDK,
    source: Asset,
    destination: Asset,
    amount: int,
    recipient: str,
    terms: FillOrKillParams,
    *,
    boost: bool,
    dca: bool,
) -> DepositAddress:
    found = sdk.get_quote_v2(source.chain, source.symbol, destination.chain, destination.symbol, amount)
    quote = found.dca if dca else found.regular
    if quote is None:
        raise Failure(f"there is no {'DCA ' if dca else ''}quote for this swap")
    if boost:
        if quote.boost_quote is None:
            raise Failure("this swap cannot be boosted: there is no boost quote for it")
        quote = quote.boost_quote
    return sdk.request_deposit_address_v2(quote, recipient, terms)


def _print_channel(channel: DepositAddress, source: Asset, qr: bool, network: str) -> None:
    from rich.table import Table

    expires = datetime.fromtimestamp(channel.estimated_deposit_channel_expiry_time / 1000, UTC)
    table = Table(show_header=False, title="Deposit channel")
    table.add_row("send", units(channel.amount, source))
    table.add_row("to", channel.deposit_address)
    table.add_row("on", channel.src_chain)
    block = channel.deposit_channel_expiry_block
    table.add_row("before", f"{expires:%Y-%m-%d %H:%M} UTC (block {block} of {channel.src_chain})")
    table.add_row("channel", channel.deposit_channel_id)
    table.add_row("commission", f"{channel.broker_commission_bps} bps")
    console().print(table)
    if qr:
        click.echo(qr_code(channel.deposit_address))
    click.echo(f"Follow it: cfnode swap watch --network={network} {channel.deposit_channel_id}")


def qr_code(text: str) -> str:
    """A QR code in half blocks, for a terminal."""
    import segno

    out = io.StringIO()
    segno.make(text, error="m", micro=False).terminal(out, compact=True)
    return out.getvalue()
