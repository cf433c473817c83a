"""`cfnode swap request`: a deposit address for a swap, with a QR code for the wallet."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.options import require_one
from cfnode.cli.output import print_json, print_text
from cfnode.cli.progress import waiting
from cfnode.cli.sdk_errors import reported
from cfnode.cli.swap.options import (
    amount_of,
    broker_options,
    client,
    flags_of,
    limits_in,
    pair_of,
    service_options,
    units,
)
from cfnode.cli.tables import print_command, print_record
from cfnode.cli.values import AssetName, Units, WholeNumber
from cfnode.core.assets import ForeignAsset, asset_text
from cfnode.swaps.addresses import repeated_address

if TYPE_CHECKING:
    from cfnode.sdk import (
        AffiliateBroker,
        CcmParams,
        DepositAddress,
        FillOrKillParams,
        Quote,
        QuoteCcmParams,
        SwapSDK,
    )

__all__ = ["qr_code", "request"]

_DEFAULT_RETRY_BLOCKS = 100
_OPENING = "opening a deposit channel, in a State Chain block"
_FLAGS = {
    "amount": "AMOUNT",
    "quote.deposit_amount": "AMOUNT",
    "dest_address": "--to",
    "fill_or_kill_params.refund_address": "--refund",
    "fill_or_kill_params.slippage_tolerance_percent": "--slippage",
    "fill_or_kill_params.min_price": "--min-price",
    "ccm_params": "--message",
    "ccm_params.message": "--message",
    "ccm_params.gas_budget": "--gas-budget",
    "broker_commission_bps": "--commission",
    "affiliate_brokers": "--affiliate",
    "rpc_url": "--node",
    "backend_url": "--backend",
    "broker.url": "--broker",
}
"""The flags of the arguments in the SDK's errors."""


@click.command(
    epilog="With --slippage the price is the quote's; with --min-price no quote is requested.",
)
@click.argument("source", type=AssetName())
@click.argument("destination", type=AssetName())
@click.argument("amount", type=Units(above_zero=True))
@click.option(
    "--to",
    "recipient",
    required=True,
    metavar="ADDRESS",
    help="Receiver, an address of the destination chain.",
)
@click.option("--refund", required=True, metavar="ADDRESS", help="Refund address, on the source chain.")
@click.option(
    "--slippage",
    type=Units("a percentage"),
    metavar="PERCENT",
    help="Maximum deviation from the quote's price in percent.",
)
@click.option(
    "--min-price",
    type=Units("a price", above_zero=True),
    metavar="PRICE",
    help="Minimum price: units of DESTINATION for one SOURCE.",
)
@click.option(
    "--retry-blocks",
    type=WholeNumber(0, 2**32 - 1),
    default=_DEFAULT_RETRY_BLOCKS,
    show_default=True,
    help="State Chain blocks (6 s) to retry before the refund.",
)
@click.option("--boost", is_flag=True, help="Use the boosted quote: faster, for a fee.")
@click.option("--dca", is_flag=True, help="Use the quote in chunks (DCA).")
@click.option("--message", metavar="HEX", help="Message for the receiving contract; needs --gas-budget.")
@click.option("--gas-budget", type=WholeNumber(min=0), help="Gas for the message, in the chain's units.")
@click.option(
    "--affiliate",
    "affiliates",
    multiple=True,
    metavar="ACCOUNT=BPS",
    help="Affiliate of your broker (cF…) and its share in basis points. Repeatable.",
)
@click.option(
    "--qr/--no-qr",
    default=None,
    help="Print the address as a QR code.  [default: on a terminal, except for dev]",
)
@broker_options
@service_options
def request(
    source: ForeignAsset,
    destination: ForeignAsset,
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
    """Open a deposit channel that swaps AMOUNT (in whole coins) of SOURCE to DESTINATION."""
    with reported("interrupted; a deposit channel may have been opened"):
        if min_price is not None and (boost or dca):
            text = "--boost and --dca choose a quote, and --min-price takes none: use --slippage instead"
            raise CommandFailure(text, ExitCode.USAGE)
        terms = _terms(repeated_address(source.chain, refund), retry_blocks, slippage, min_price)
        parsed_affiliates = tuple(map(_affiliate, affiliates))
        swap = _Swap(
            source, destination, amount_of(amount, source),
            repeated_address(destination.chain, recipient), terms,
            _message(message, gas_budget), parsed_affiliates,
        )  # fmt: skip
        with limits_in(source), _named_as_flags(), ExitStack() as until_opened:
            with waiting(_OPENING if slippage is None else "requesting a quote", quiet=as_json):
                sdk = until_opened.enter_context(
                    client(**options, dca=dca, needs_broker=bool(parsed_affiliates))
                )
                quote = None if slippage is None else swap.quoted(sdk, boost=boost, dca=dca)
            with waiting(_OPENING, quiet=as_json):
                opened = _Opened(swap, quote, swap.opened(sdk, quote))
    if as_json:
        print_json(opened.to_json())
    else:
        _print_channel(opened, options)
        is_for_a_wallet = sys.stdout.isatty() and options["network"] != "dev"
        if is_for_a_wallet if qr is None else qr:
            click.echo(qr_code(opened.channel.deposit_address))


@contextmanager
def _named_as_flags() -> Iterator[None]:
    """Give arguments in errors of the SDK the names of the command-line options."""
    from cfnode.sdk import ValidationError
    from cfnode.sdk.errors import Issue

    try:
        yield
    except ValidationError as error:
        flags = [(_FLAGS.get(issue.field.partition("[")[0], issue.field), issue) for issue in error.issues]
        raise ValidationError.of(
            [Issue(flag, issue.message.replace(f"{issue.field}:", f"{flag}:")) for flag, issue in flags]
        ) from None


@dataclass(frozen=True)
class _Swap:
    """The requested swap; `amount` in base units."""

    source: ForeignAsset
    destination: ForeignAsset
    amount: int
    recipient: str
    terms: FillOrKillParams
    message: CcmParams | None
    affiliates: tuple[AffiliateBroker, ...]

    def quoted(self, sdk: SwapSDK, *, boost: bool, dca: bool) -> Quote:
        """Return a new quote. Raise Failure if there is none of that kind."""
        pair = pair_of(self.source, self.destination)
        quotes = sdk.get_quote_v2(
            *pair, self.amount, affiliate_brokers=self.affiliates, ccm_params=self._length()
        )
        quote = quotes.dca if dca else quotes.regular
        if quote is None:
            raise CommandFailure("the swap service has no quote in chunks for this swap: leave --dca out")
        if not boost:
            return quote
        if quote.boost_quote is None:
            raise CommandFailure("the swap service has no boosted quote for this swap: leave --boost out")
        return quote.boost_quote

    def opened(self, sdk: SwapSDK, quote: Quote | None) -> DepositAddress:
        """Open a channel for the quote, or with the minimum price of the terms."""
        shared: dict[str, Any] = {"affiliate_brokers": self.affiliates, "ccm_params": self.message}
        if quote is not None:
            return sdk.request_deposit_address_v2(quote, self.recipient, self.terms, **shared)
        pair = pair_of(self.source, self.destination)
        return sdk.request_deposit_address(*pair, self.recipient, self.amount, self.terms, **shared)

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

    require_one("lowest price", ("--slippage PERCENT", slippage), ("--min-price PRICE", min_price))
    return FillOrKillParams(refund, retry_blocks, _plain(slippage), _plain(min_price))


def _plain(number: Decimal | None) -> str | None:
    """Return a number without exponent, since the SDK does not read exponents."""
    return None if number is None else format(number, "f")


def _message(message: str | None, gas_budget: int | None) -> CcmParams | None:
    from cfnode.sdk import CcmParams

    if (message is None) != (gas_budget is None):
        needs = "--gas-budget needs --message" if message is None else "--message needs --gas-budget"
        raise CommandFailure(f"{needs}: add it", ExitCode.USAGE)
    return None if message is None else CcmParams(message, gas_budget or 0)


def _affiliate(text: str) -> AffiliateBroker:
    from cfnode.sdk import AffiliateBroker

    account, _, share = text.rpartition("=")
    if not account or not (share.isascii() and share.isdigit()):
        fault = f"--affiliate: {text!r:.90} is not ACCOUNT=BPS"
        raise CommandFailure(f"{fault}: write it as cF…=5", ExitCode.USAGE)
    return AffiliateBroker(account, int(share))


@dataclass(frozen=True)
class _Opened:
    """An open channel and the expected output; `quote` is None if only a minimum price was given."""

    swap: _Swap
    quote: Quote | None
    channel: DepositAddress

    @property
    def minimum_price(self) -> str:
        """The price, in destination per source asset, below which the swap is refunded."""
        from cfnode.sdk.price import minimum_price

        terms = self.swap.terms
        if self.quote is None or terms.slippage_tolerance_percent is None:
            return str(terms.min_price)
        tolerance = terms.slippage_tolerance_percent
        return minimum_price(self.quote.estimated_price, tolerance, self.swap.destination)

    @property
    def minimum_output(self) -> int:
        """The output of the whole amount at the minimum price, before the fees of deposit and payout."""
        from cfnode.sdk.price import price_to_x128
        from cfnode.swaps.prices import output_at

        x128 = price_to_x128(self.minimum_price, self.swap.source, self.swap.destination)
        return output_at(self.swap.amount, x128)

    def to_json(self) -> dict[str, Any]:
        """Return the channel's members, and the expected output: base units as decimal strings."""
        expected = None if self.quote is None else str(self.quote.egress_amount)
        return self.channel.to_json() | {
            "channelOpeningFee": str(self.channel.channel_opening_fee),
            "expectedOutput": expected,
            "minimumOutput": str(self.minimum_output),
            "minimumPrice": self.minimum_price,
            "refundAddress": self.swap.terms.refund_address,
        }


def _print_channel(opened: _Opened, options: dict[str, Any]) -> None:
    channel, swap, quote = opened.channel, opened.swap, opened.quote
    source, destination = swap.source, swap.destination
    expires = datetime.fromtimestamp(channel.estimated_deposit_channel_expiry_time / 1000, UTC)
    block = f"block {channel.deposit_channel_expiry_block} of {channel.src_chain}"
    price = f"{opened.minimum_price} {destination.symbol} for 1 {source.symbol}"
    minimum = units(opened.minimum_output, destination)
    fields = [
        ("send", units(channel.amount, source)),
        ("to", channel.deposit_address),
        ("on", channel.src_chain),
        ("before", f"{expires:%Y-%m-%d %H:%M} UTC, chain time ({block})"),
        ("expected", "" if quote is None else f"{units(quote.egress_amount, destination)}, after all fees"),
        ("minimum", f"{minimum}, before the fees of deposit and payout"),
        ("lowest price", f"{price}; below it the deposit is refunded"),
        ("receiver", swap.recipient),
        ("refund to", swap.terms.refund_address),
        ("channel", channel.deposit_channel_id),
        ("commission", f"{channel.broker_commission_bps} bps"),
    ]
    print_record(fields, "Deposit channel")
    print_text("")
    _print_next_steps(opened, options)


def _print_next_steps(opened: _Opened, options: dict[str, Any]) -> None:
    channel, source, quote = opened.channel, opened.swap.source, opened.quote
    expected = f" --quoted={_coins(quote.egress_amount, opened.swap.destination)}" if quote else ""
    network, node, backend = options["network"], options["node"], options["backend"]
    if network == "dev":
        node_flag = f" --node {node or backend}" if node or backend else ""
        coins = _coins(channel.amount, source)
        pay = f"cfnode dev deposit {channel.deposit_address} {asset_text(source)} {coins}{node_flag}"
        print_command("Pay into it", pay)
    flags = " ".join(flags_of(network, node if network == "dev" else None, backend))
    print_command("Follow it", f"cfnode swap watch {flags} {channel.deposit_channel_id}{expected}")


def _coins(amount: int, asset: ForeignAsset) -> str:
    return units(amount, asset).partition(" ")[0]


def qr_code(text: str) -> str:
    """Return a QR code in half blocks, for a terminal."""
    import segno

    out = io.StringIO()
    segno.make(text, error="m", micro=False).terminal(out, compact=True)
    return out.getvalue()
