"""`cfnode swap request`: a deposit address, with a QR code for the wallet."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.exits import ExitCode, Failure
from cfnode.cli.output import print_json
from cfnode.cli.sdk_errors import reported
from cfnode.cli.swap.options import amount_of, broker_options, client, console, service_options, units
from cfnode.cli.values import AssetName, Units
from cfnode.core.assets import Asset

if TYPE_CHECKING:
    from cfnode.sdk import (
        AffiliateBroker,
        CcmParams,
        DepositAddress,
        FillOrKillParams,
        QuoteCcmParams,
        SwapSDK,
    )

__all__ = ["qr_code", "request"]

_DEFAULT_RETRY_BLOCKS = 100


@click.command(
    epilog="With --slippage the price is the quote's; with --min-price no quote is asked for.",
)
@click.argument("source", type=AssetName())
@click.argument("destination", type=AssetName())
@click.argument("amount", type=Units())
@click.option("--to", "recipient", required=True, help="Who receives, an address of the destination chain.")
@click.option("--refund", required=True, help="Where a refund goes, an address of the source chain.")
@click.option(
    "--slippage", type=Units(), metavar="PERCENT", help="The swap may be this much worse than the quote."
)
@click.option("--min-price", type=Units(), metavar="PRICE", help="The least of DESTINATION for one SOURCE.")
@click.option(
    "--retry-blocks",
    type=click.IntRange(0, 2**32 - 1),
    default=_DEFAULT_RETRY_BLOCKS,
    show_default=True,
    help="State Chain blocks (6 s) to try before refunding.",
)
@click.option("--boost", is_flag=True, help="Take the boosted quote: faster, for a fee.")
@click.option("--dca", is_flag=True, help="Take the quote in chunks.")
@click.option("--message", metavar="HEX", help="Call the receiving contract with this; needs --gas-budget.")
@click.option("--gas-budget", type=click.IntRange(min=0), help="Gas for the message, in the chain's units.")
@click.option(
    "--affiliate",
    "affiliates",
    multiple=True,
    metavar="ACCOUNT=BPS",
    help="An affiliate of your broker (cF…) and its share, basis points. Repeatable.",
)
@click.option("--qr/--no-qr", default=None, help="Show the address as a QR code [default: on a terminal].")
@broker_options
@service_options
def request(
    source: Asset,
    destination: Asset,
    amount: Decimal,
    recipient: str,
    refund: str,
    slippage: Decimal | None,
    min_price: Decimal | None,
    retry_blocks: int,
    boost: bool,
    dca: bool,
    message: str | None,
    gas_budget: int | None,
    affiliates: tuple[str, ...],
    qr: bool | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Open a deposit channel: AMOUNT (whole coins) of SOURCE becomes DESTINATION."""
    with reported("interrupted; a deposit channel may have been opened"):
        if min_price is not None and (boost or dca):
            raise Failure("--boost and --dca choose a quote: use --slippage with them", ExitCode.USAGE)
        terms = _terms(refund, retry_blocks, slippage, min_price)
        others = tuple(map(_affiliate, affiliates))
        wish = _Wish(
            source, destination, amount_of(amount, source), recipient, terms,
            _message(message, gas_budget), others,
        )  # fmt: skip
        with client(**options, dca=dca) as sdk:
            channel = wish.at_a_price(sdk) if slippage is None else wish.by_quote(sdk, boost=boost, dca=dca)
    if as_json:
        print_json(channel.to_json())
    else:
        _print_channel(channel, source, options)
        if sys.stdout.isatty() if qr is None else qr:
            click.echo(qr_code(channel.deposit_address))


@dataclass(frozen=True)
class _Wish:
    """The swap that somebody wants; `amount` in base units."""

    source: Asset
    destination: Asset
    amount: int
    recipient: str
    terms: FillOrKillParams
    message: CcmParams | None
    affiliates: tuple[AffiliateBroker, ...]

    @property
    def pair(self) -> tuple[str, str, str, str]:
        return self.source.chain, self.source.symbol, self.destination.chain, self.destination.symbol

    def at_a_price(self, sdk: SwapSDK) -> DepositAddress:
        """A channel with a lowest price, without a quote."""
        return sdk.request_deposit_address(
            *self.pair,
            self.recipient,
            self.amount,
            self.terms,
            affiliate_brokers=self.affiliates,
            ccm_params=self.message,
        )

    def by_quote(self, sdk: SwapSDK, *, boost: bool, dca: bool) -> DepositAddress:
        """A channel for a fresh quote; Failure where there is none of that kind."""
        found = sdk.get_quote_v2(
            *self.pair, self.amount, affiliate_brokers=self.affiliates, ccm_params=self._length()
        )
        quote = found.dca if dca else found.regular
        if quote is None:
            raise Failure(f"there is no {'DCA ' if dca else ''}quote for this swap")
        if boost:
            if quote.boost_quote is None:
                raise Failure("this swap cannot be boosted: there is no boost quote for it")
            quote = quote.boost_quote
        return sdk.request_deposit_address_v2(
            quote,
            self.recipient,
            self.terms,
            affiliate_brokers=self.affiliates,
            ccm_params=self.message,
        )

    def _length(self) -> QuoteCcmParams | None:
        from cfnode.sdk import QuoteCcmParams

        if self.message is None:
            return None
        digits = self.message.message.removeprefix("0x")
        return QuoteCcmParams(str(self.message.gas_budget), len(digits) // 2)


def _terms(
    refund: str, retry_blocks: int, slippage: Decimal | None, min_price: Decimal | None
) -> FillOrKillParams:
    from cfnode.sdk import FillOrKillParams

    if (slippage is None) == (min_price is None):
        raise Failure("give either --slippage PERCENT or --min-price PRICE", ExitCode.USAGE)
    return FillOrKillParams(refund, retry_blocks, _plain(slippage), _plain(min_price))


def _plain(number: Decimal | None) -> str | None:
    """Without an exponent, which the SDK does not read."""
    return None if number is None else format(number, "f")


def _message(message: str | None, gas_budget: int | None) -> CcmParams | None:
    from cfnode.sdk import CcmParams

    if (message is None) != (gas_budget is None):
        raise Failure("--message and --gas-budget belong together", ExitCode.USAGE)
    return None if message is None else CcmParams(message, gas_budget or 0)


def _affiliate(text: str) -> AffiliateBroker:
    from cfnode.sdk import AffiliateBroker

    account, _, share = text.rpartition("=")
    if not account or not (share.isascii() and share.isdigit()):
        raise Failure(f"--affiliate takes ACCOUNT=BPS, not {text!r}", ExitCode.USAGE)
    return AffiliateBroker(account, int(share))


def _print_channel(channel: DepositAddress, source: Asset, options: dict[str, Any]) -> None:
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
    if options["network"] == "dev":
        node = options["node"] or options["backend"]
        where = f" --url {node}" if node else ""
        coins = units(channel.amount, source).partition(" ")[0]
        click.echo(f"Pay into it: cfnode dev deposit {channel.deposit_address} {source.name} {coins}{where}")
    service = f" --backend={options['backend']}" if options["backend"] else ""
    follow = f"cfnode swap watch --network={options['network']}{service} {channel.deposit_channel_id}"
    click.echo(f"Follow it: {follow}")


def qr_code(text: str) -> str:
    """A QR code in half blocks, for a terminal."""
    import segno

    out = io.StringIO()
    segno.make(text, error="m", micro=False).terminal(out, compact=True)
    return out.getvalue()
