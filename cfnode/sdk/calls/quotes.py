"""Quotes of the swap service (`GET /quote`, `GET /v2/quote`).

Only assets and commission are checked here: the service knows the current limits, and its errors name any
other fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from cfnode.core.assets import ForeignAsset
from cfnode.sdk.amounts import Quantity, base_units
from cfnode.sdk.assets import asset_given, asset_named, chain_of, symbol_of
from cfnode.sdk.calls import Call
from cfnode.sdk.calls.terms import checked_shares
from cfnode.sdk.errors import BadAnswer
from cfnode.sdk.exchange import Steps, backend, origin_of, read_answer
from cfnode.sdk.models.quote import Quote, QuoteCcmParams, QuoteResponse, QuotesResponse
from cfnode.sdk.models.request import AffiliateBroker
from cfnode.sdk.names import AssetName, AssetSymbol, ChainName
from cfnode.sdk.options import ClientSession
from cfnode.sdk.record import Amount

__all__ = ["GetQuote", "GetQuoteV2", "SwapQuote"]


@dataclass(frozen=True)
class _QuoteRequest:
    src_chain: ChainName
    src_asset: AssetSymbol
    dest_chain: ChainName
    dest_asset: AssetSymbol
    amount: Amount
    broker_commission_bps: int | None = None
    affiliate_brokers: Sequence[AffiliateBroker] = ()
    ccm_params: QuoteCcmParams | None = None
    is_vault_swap: bool = False

    def check(self, session: ClientSession) -> None:
        """Raise ValidationError for an unknown asset, or a commission above the chain's maximum."""
        self.pair()
        checked_shares(session, self.broker_commission_bps, self.affiliate_brokers)

    def pair(self) -> tuple[ForeignAsset, ForeignAsset]:
        """Return source and destination, whose names may be in any case. Raises ValidationError."""
        source = asset_named(self.src_chain, self.src_asset, "src")
        return source, asset_named(self.dest_chain, self.dest_asset, "dest")

    def query(self, session: ClientSession, dca: bool) -> Iterator[tuple[str, str]]:
        """Yield the members of the query string, in the order of the JavaScript SDK."""
        source, destination = self.pair()
        yield from (
            ("amount", str(self.amount)),
            ("srcChain", source.chain),
            ("srcAsset", source.symbol),
            ("destChain", destination.chain),
            ("destAsset", destination.symbol),
            ("isVaultSwap", _flag(self.is_vault_swap)),
        )
        commission = session.commission_bps(self.broker_commission_bps)
        if commission := commission + sum(affiliate.commission_bps for affiliate in self.affiliate_brokers):
            yield "brokerCommissionBps", str(commission)
        if self.ccm_params:
            yield "ccmGasBudget", str(self.ccm_params.gas_budget)
            yield "ccmMessageLengthBytes", str(self.ccm_params.message_length_bytes)
        yield "dcaEnabled", _flag(dca)

    def echo(self, session: ClientSession) -> dict[str, Any]:
        """Return the part of the answer that repeats the request."""
        source, destination = self.pair()
        members: dict[str, Any] = {
            "src_chain": source.chain,
            "src_asset": source.symbol,
            "dest_chain": destination.chain,
            "dest_asset": destination.symbol,
        }
        names = ("amount", "affiliate_brokers", "ccm_params", "is_vault_swap")
        members |= {name: getattr(self, name) for name in names}
        return members | {"broker_commission_bps": session.commission_bps(self.broker_commission_bps)}


@dataclass(frozen=True)
class GetQuote(_QuoteRequest, Call[QuoteResponse]):
    """Request one quote, without chunks; arguments and errors are those of `get_quote_v2`."""

    def steps(self, session: ClientSession) -> Steps[QuoteResponse]:
        """Ask the swap service for one quote."""
        self.check(session)
        document = yield from backend(session, "GET", "/quote", query=tuple(self.query(session, dca=False)))
        quote = read_answer(Quote, document, session.backend_url)
        return QuoteResponse(**self.echo(session), quote=quote)


@dataclass(frozen=True)
class GetQuoteV2(_QuoteRequest, Call[QuotesResponse]):
    """Request all quotes, also those for a swap in chunks if that feature is enabled.

    `amount` is in base units of the source asset; commissions are in basis points, and the quote uses their
    sum. `ccm_params`: gas and length of a message. Raises BackendError if the swap is impossible: too small,
    too large, too little liquidity.
    """

    def steps(self, session: ClientSession) -> Steps[QuotesResponse]:
        """Ask the swap service for all quotes."""
        self.check(session)
        dca = session.options.enabled_features.dca
        documents = yield from backend(session, "GET", "/v2/quote", query=tuple(self.query(session, dca)))
        if not isinstance(documents, list):
            url = origin_of(session.backend_url)
            raise BadAnswer("malformed quotes: expected a list", url=url, sent=True, retryable=False)
        quotes = tuple(read_answer(Quote, document, session.backend_url) for document in documents)
        return QuotesResponse(**self.echo(session), dca_enabled=dca, quotes=quotes)


@dataclass(frozen=True)
class SwapQuote(Call[Quote]):
    """Request the quote without chunks for a swap of one asset to another, the short form of `get_quote_v2`.

    `amount` is in whole units of the source asset as text or a Decimal (`"0.1"`), or an int of base units.
    The other arguments are those of `get_quote_v2`. Raises NoQuote without such a quote, and the errors of
    `get_quote_v2`.
    """

    METHOD: ClassVar[str] = "quote"
    source: AssetName
    destination: AssetName
    amount: Quantity
    broker_commission_bps: int | None = None
    affiliate_brokers: Sequence[AffiliateBroker] = ()
    ccm_params: QuoteCcmParams | None = None
    is_vault_swap: bool = False

    def steps(self, session: ClientSession) -> Steps[Quote]:
        """Ask for all quotes of the swap; return the one without chunks. Raises NoQuote."""
        source, destination = asset_given(self.source, "source"), asset_given(self.destination, "destination")
        request = GetQuoteV2(
            chain_of(source),
            symbol_of(source),
            chain_of(destination),
            symbol_of(destination),
            base_units(self.amount, source),
            self.broker_commission_bps,
            self.affiliate_brokers,
            self.ccm_params,
            self.is_vault_swap,
        )
        quotes = yield from request.steps(session)
        return quotes.regular


def _flag(value: bool) -> str:
    return "true" if value else "false"
