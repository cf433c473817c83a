"""Requests for a deposit address, with or without a quote.

All local checks come first, then the channel is opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from cfnode.core.assets import ForeignAsset
from cfnode.sdk.assets import asset_named, asset_referred
from cfnode.sdk.calls import Call
from cfnode.sdk.calls.channels import ChannelArguments, ChannelOrder, open_channel
from cfnode.sdk.calls.terms import (
    RefundTerms,
    check_addresses,
    check_broker_options,
    check_ccm_of_quote,
    check_dca,
    checked_boost,
    checked_ccm,
    checked_dca,
    checked_shares,
    refund_terms,
    whole_number,
)
from cfnode.sdk.environment import environment
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.exchange import Steps
from cfnode.sdk.limits import check_amount
from cfnode.sdk.models.channel import DepositAddress
from cfnode.sdk.models.quote import Quote
from cfnode.sdk.models.request import AffiliateBroker, CcmParams, DcaParams, FillOrKillParams
from cfnode.sdk.names import AssetSymbol, ChainName
from cfnode.sdk.options import ClientSession
from cfnode.sdk.record import Amount
from cfnode.swaps.limits import MAX_CCM_MESSAGE_BYTES

__all__ = ["RequestDepositAddress", "RequestDepositAddressV2"]


@dataclass(frozen=True)
class RequestDepositAddressV2(Call[DepositAddress]):
    """Request a deposit address for a quote of `get_quote_v2`.

    The quote's `boost_quote` in its place requests the boost. Commissions are in basis points; commissions
    and affiliates need a broker of your own. `fill_or_kill_params` may be left out except with a DCA quote,
    if the option `default_refund_addresses` names an address. Raises ChainError or RpcCallError if the broker
    refuses, BackendError if the swap service does. The request is made once: `sent` of a TransportError is
    True if a channel may have been opened.
    """

    quote: Quote
    dest_address: str
    fill_or_kill_params: FillOrKillParams | None = None
    src_address: str | None = None
    broker_commission_bps: int | None = None
    affiliate_brokers: Sequence[AffiliateBroker] = ()
    ccm_params: CcmParams | None = None

    def steps(self, session: ClientSession) -> Steps[DepositAddress]:
        """Check the quoted amount against the chain's limits, and open the channel."""
        order = self._order(session)
        limits = yield from environment(session)
        check_amount(order.source, order.amount, limits, "quote.deposit_amount")
        return (yield from open_channel(session, order))

    def _order(self, session: ClientSession) -> ChannelOrder:
        source = asset_referred(self.quote.src_asset, "quote.src_asset")
        destination = asset_referred(self.quote.dest_asset, "quote.dest_asset")
        dca = checked_dca(self.quote)
        self._check_kind()
        terms = _terms(self, source, destination, session, dca, self.quote)
        order = _order(self, source, destination, session, self.quote.deposit_amount, terms, dca)
        return replace(order, boost_fee_bps=checked_boost(self.quote), quote=self.quote)

    def _check_kind(self) -> None:
        quote = self.quote
        if quote.is_vault_swap:
            raise ValidationError.at("quote", "cannot open a deposit channel for a vault swap quote")
        if quote.is_on_chain:
            raise ValidationError.at("quote", "cannot open a deposit channel for an on-chain quote")
        check_ccm_of_quote(self.ccm_params, quote)


@dataclass(frozen=True)
class RequestDepositAddress(Call[DepositAddress]):
    """Request a deposit address without a quote, the older form of `request_deposit_address_v2`.

    `amount` is in base units of the source asset, fees and commissions are in basis points. The minimum price
    is `fill_or_kill_params.min_price`; a tolerance in percent would need a quote. Raises the errors of
    `request_deposit_address_v2`.
    """

    src_chain: ChainName
    src_asset: AssetSymbol
    dest_chain: ChainName
    dest_asset: AssetSymbol
    dest_address: str
    amount: Amount
    fill_or_kill_params: FillOrKillParams | None = None
    dca_params: DcaParams | None = None
    max_boost_fee_bps: int | None = None
    src_address: str | None = None
    broker_commission_bps: int | None = None
    affiliate_brokers: Sequence[AffiliateBroker] = ()
    ccm_params: CcmParams | None = None

    def steps(self, session: ClientSession) -> Steps[DepositAddress]:
        """Check the amount against the chain's limits, and open the channel."""
        order = self._order(session)
        limits = yield from environment(session)
        check_amount(order.source, order.amount, limits, "amount")
        return (yield from open_channel(session, order))

    def _order(self, session: ClientSession) -> ChannelOrder:
        source = asset_named(self.src_chain, self.src_asset, "src")
        destination = asset_named(self.dest_chain, self.dest_asset, "dest")
        dca, boost = self.dca_params, self.max_boost_fee_bps
        terms = _terms(self, source, destination, session, dca, None)
        if dca is not None:
            check_dca(dca)
        order = _order(self, source, destination, session, self.amount, terms, dca)
        if boost is None:
            return order
        return replace(order, boost_fee_bps=whole_number(boost, "max_boost_fee_bps"))


_Request: TypeAlias = RequestDepositAddress | RequestDepositAddressV2
_MESSAGE_LIMITS: dict[type[_Request], int] = {
    RequestDepositAddress: 10_000,
    RequestDepositAddressV2: MAX_CCM_MESSAGE_BYTES,
}
"""Bytes that a message must be shorter than, by request."""


def _terms(
    request: _Request,
    source: ForeignAsset,
    destination: ForeignAsset,
    session: ClientSession,
    dca: DcaParams | None,
    quote: Quote | None,
) -> RefundTerms:
    params = request.fill_or_kill_params
    return refund_terms(params, source, destination, session, quote=quote, dca=dca is not None)


def _order(
    request: _Request,
    source: ForeignAsset,
    destination: ForeignAsset,
    session: ClientSession,
    amount: int,
    terms: RefundTerms,
    dca: DcaParams | None,
) -> ChannelOrder:
    """Return the order of either request; raise ValidationError for malformed arguments.

    This makes no exchange.
    """
    check_broker_options(session, request.broker_commission_bps, request.affiliate_brokers)
    commission = checked_shares(session, request.broker_commission_bps, request.affiliate_brokers)
    ccm = checked_ccm(request.ccm_params, _MESSAGE_LIMITS[type(request)])
    check_addresses(source, terms.refund_address, destination, request.dest_address, session)
    return ChannelOrder(
        source,
        destination,
        amount,
        ChannelArguments(
            request.dest_address,
            request.src_address,
            request.fill_or_kill_params,
            tuple(request.affiliate_brokers),
            request.ccm_params,
            dca,
        ),
        commission,
        ccm,
        terms,
    )
