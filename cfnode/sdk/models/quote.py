"""Quotes of the swap service: what a swap costs, and how long it takes.

Amounts are in base units of the asset next to them, durations in seconds, fees in basis points if the name
ends with `bps`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from cfnode.sdk.amounts import whole_units
from cfnode.sdk.assets import AssetRef, asset_referred
from cfnode.sdk.errors import NoQuote
from cfnode.sdk.models.request import AffiliateBroker, DcaParams
from cfnode.sdk.names import AssetSymbol, ChainName, FeeKind, QuoteKind
from cfnode.sdk.record import Amount, GivenRecord, OpenRecord, Record

__all__ = [
    "Durations",
    "Fee",
    "PoolFee",
    "PoolInfo",
    "Quote",
    "QuoteCcmParams",
    "QuoteResponse",
    "QuotesResponse",
]


@dataclass(frozen=True)
class Fee(OpenRecord):
    """A fee that the quote already contains: BOOST, INGRESS, NETWORK, BROKER, EGRESS, LIQUIDITY or REFUND."""

    type: FeeKind
    chain: ChainName
    asset: AssetSymbol
    amount: Amount


@dataclass(frozen=True)
class PoolFee(OpenRecord):
    """The fee of a pool."""

    chain: ChainName
    asset: AssetSymbol
    amount: Amount


@dataclass(frozen=True)
class PoolInfo(OpenRecord):
    """A pool of the route."""

    base_asset: AssetRef
    quote_asset: AssetRef
    fee: PoolFee


@dataclass(frozen=True)
class Durations(OpenRecord):
    """Seconds of each part of the swap."""

    deposit: float
    swap: float
    egress: float


@dataclass(frozen=True)
class QuoteCcmParams(GivenRecord):
    """Gas and length of a cross-chain message, for a quote."""

    gas_budget: str
    message_length_bytes: int


@dataclass(frozen=True)
class Quote(OpenRecord):
    """One way to swap. `type` is REGULAR or DCA; `boost_quote` is the same way with a boosted deposit.

    A boost quote has `estimated_boost_fee_bps` and `max_boost_fee_bps`; a deposit-address request for it
    (instead of for the quote around it) requests the boost.
    """

    type: QuoteKind
    src_asset: AssetRef
    dest_asset: AssetRef
    deposit_amount: Amount
    egress_amount: Amount
    estimated_price: Decimal
    intermediate_amount: Amount | None = None
    is_vault_swap: bool | None = None
    is_on_chain: bool | None = None
    included_fees: tuple[Fee, ...] = ()
    pool_info: tuple[PoolInfo, ...] = ()
    low_liquidity_warning: bool | None = None
    estimated_durations_seconds: Durations | None = None
    estimated_duration_seconds: float | None = None
    recommended_slippage_tolerance_percent: float | None = None
    recommended_live_price_slippage_tolerance_percent: float | None = None
    recommended_retry_duration_minutes: float | None = None
    dca_params: DcaParams | None = None
    ccm_params: QuoteCcmParams | None = None
    estimated_boost_fee_bps: float | None = None
    max_boost_fee_bps: float | None = None
    boost_quote: Quote | None = None

    @property
    def whole_deposit_amount(self) -> Decimal:
        """The amount to deposit, in whole units of the source asset."""
        return whole_units(self.deposit_amount, asset_referred(self.src_asset, "src_asset"))

    @property
    def whole_egress_amount(self) -> Decimal:
        """The expected payout, in whole units of the destination asset."""
        return whole_units(self.egress_amount, asset_referred(self.dest_asset, "dest_asset"))


@dataclass(frozen=True)
class _Asked(Record):
    src_chain: ChainName
    src_asset: AssetSymbol
    dest_chain: ChainName
    dest_asset: AssetSymbol
    amount: Amount
    broker_commission_bps: int
    affiliate_brokers: tuple[AffiliateBroker, ...] = ()
    ccm_params: QuoteCcmParams | None = None
    is_vault_swap: bool = False


@dataclass(frozen=True)
class QuoteResponse(_Asked):
    """The answer of `get_quote`: the request, and one quote."""

    quote: Quote = field(kw_only=True)


@dataclass(frozen=True)
class QuotesResponse(_Asked):
    """The answer of `get_quote_v2`: the request, and the quotes, REGULAR before DCA."""

    dca_enabled: bool = False
    quotes: tuple[Quote, ...] = ()

    @property
    def regular(self) -> Quote:
        """The quote without chunks; raises NoQuote if the service returned none."""
        for quote in self.quotes:
            if quote.type == "REGULAR":
                return quote
        raise NoQuote("the swap service returned no REGULAR quote for this swap")

    @property
    def dca(self) -> Quote | None:
        """The quote for a swap in chunks, if there is one."""
        return next((quote for quote in self.quotes if quote.type == "DCA"), None)
