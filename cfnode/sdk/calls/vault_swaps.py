"""Encoding of a vault swap by the caller's own broker or by the swap service.

No channel is opened and nothing is paid; the answer is the transaction that the user's wallet has to send.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cfnode.core.assets import ForeignAsset, chains_of
from cfnode.sdk.assets import asset_referred, wire_asset
from cfnode.sdk.calls import Call
from cfnode.sdk.calls.terms import (
    RefundTerms,
    affiliates_for_broker,
    check_addresses,
    check_broker_options,
    check_ccm_of_quote,
    checked_boost,
    checked_ccm,
    checked_dca,
    checked_shares,
    dca_for_broker,
    refund_terms,
)
from cfnode.sdk.environment import environment
from cfnode.sdk.errors import BadAnswer, ValidationError
from cfnode.sdk.exchange import Steps, backend, origin_of, read_answer, rpc
from cfnode.sdk.limits import check_amount
from cfnode.sdk.models.quote import Quote
from cfnode.sdk.models.request import AffiliateBroker, CcmParams, DcaParams, FillOrKillParams
from cfnode.sdk.models.vault_swap import (
    BitcoinVaultSwap,
    EvmVaultSwap,
    SolanaVaultSwap,
    TronVaultSwap,
    VaultSwapData,
)
from cfnode.sdk.options import ClientSession
from cfnode.sdk.record import camel
from cfnode.swaps.limits import MAX_CCM_MESSAGE_BYTES, MAX_COMMISSION_BPS
from cfnode.swaps.prices import output_at

__all__ = ["EncodeVaultSwapData"]

METHOD = "broker_request_swap_parameter_encoding"
_SEED_BYTES = 32
MAX_BITCOIN_COMMISSION_BPS = 255
"""Basis points of a broker's commission: a Bitcoin output has one byte for it (BrokerFeeTooHigh)."""
_EVM = chains_of("evm", "tron")
_RECORDS: dict[str, type[VaultSwapData]] = {
    **dict.fromkeys(chains_of("bitcoin"), BitcoinVaultSwap),
    **dict.fromkeys(chains_of("evm"), EvmVaultSwap),
    **dict.fromkeys(chains_of("tron"), TronVaultSwap),
    **dict.fromkeys(chains_of("solana"), SolanaVaultSwap),
}


@dataclass(frozen=True)
class EncodeVaultSwapData(Call[VaultSwapData]):
    """Encode the transaction to the vault for a quote that was requested with `is_vault_swap`.

    `src_address` is needed for Solana: the account that will sign. Commissions are in basis points;
    commissions and affiliates need a broker of your own. Raises RpcCallError if the broker refuses,
    BackendError if the swap service does.
    """

    quote: Quote
    dest_address: str
    fill_or_kill_params: FillOrKillParams
    src_address: str | None = None
    broker_commission_bps: int | None = None
    affiliate_brokers: Sequence[AffiliateBroker] = ()
    ccm_params: CcmParams | None = None

    def steps(self, session: ClientSession) -> Steps[VaultSwapData]:
        """Check the amount, and have the broker or the swap service encode the transaction."""
        order = self._order(session, *self._checked_assets())
        limits = yield from environment(session)
        check_amount(order.source, self.quote.deposit_amount, limits, "quote.deposit_amount")
        if session.options.broker is None:
            body = self._body(session, order)
            document = yield from backend(session, "POST", "/api/encodeVaultSwapData", body=body)
            return _read(document, session.backend_url)
        url = session.options.broker.url
        document = yield from rpc(session, url, METHOD, self._params(session, order))
        return _read(document, url)

    def _checked_assets(self) -> tuple[ForeignAsset, ForeignAsset]:
        quote = self.quote
        source = asset_referred(quote.src_asset, "quote.src_asset")
        if not quote.is_vault_swap:
            raise ValidationError.at("quote", "cannot encode a vault swap for a deposit channel quote")
        if source.chain not in _RECORDS:
            text = f"no vault swaps from {source.chain}; choose from {', '.join(_RECORDS)}"
            raise ValidationError.at("quote.src_asset", text)
        check_ccm_of_quote(self.ccm_params, quote)
        return source, asset_referred(quote.dest_asset, "quote.dest_asset")

    def _order(
        self, session: ClientSession, source: ForeignAsset, destination: ForeignAsset
    ) -> _CheckedVaultSwap:
        quote = self.quote
        dca = checked_dca(quote)
        terms = refund_terms(self.fill_or_kill_params, source, destination, session, quote=quote, dca=False)
        check_broker_options(session, self.broker_commission_bps, self.affiliate_brokers)
        check_addresses(
            source, terms.refund_address, destination, self.dest_address, session, sender=self.src_address
        )
        cap = MAX_BITCOIN_COMMISSION_BPS if source.chain == "Bitcoin" else MAX_COMMISSION_BPS
        commission = checked_shares(session, self.broker_commission_bps, self.affiliate_brokers, cap)
        ccm = checked_ccm(self.ccm_params, MAX_CCM_MESSAGE_BYTES)
        if source.chain == "Solana" and session.options.broker and self.src_address is None:
            raise ValidationError.at("src_address", "Required from Solana: the account that signs")
        return _CheckedVaultSwap(source, destination, terms, dca, ccm, checked_boost(quote), commission)

    def _params(self, session: ClientSession, order: _CheckedVaultSwap) -> list[Any]:
        return [
            wire_asset(order.source),
            wire_asset(order.destination),
            self.dest_address,
            order.commission_bps,
            self._extra(session, order.source, order.terms),
            order.ccm,
            order.boost_fee_bps,
            affiliates_for_broker(self.affiliate_brokers),
            dca_for_broker(order.dca),
        ]

    def _body(self, session: ClientSession, order: _CheckedVaultSwap) -> dict[str, Any]:
        body = {
            "srcAsset": wire_asset(order.source),
            "destAsset": wire_asset(order.destination),
            "srcAddress": self.src_address,
            "destAddress": self.dest_address,
            "amount": str(self.quote.deposit_amount),
            "dcaParams": order.dca and order.dca.to_json(),
            "fillOrKillParams": order.terms.backend(),
            "maxBoostFeeBps": order.boost_fee_bps,
            "ccmParams": self.ccm_params and self.ccm_params.to_json(),
        }
        return {name: value for name, value in body.items() if value is not None}

    def _extra(self, session: ClientSession, source: ForeignAsset, terms: RefundTerms) -> dict[str, Any]:
        amount = self.quote.deposit_amount
        if source.chain == "Bitcoin":
            return {
                "chain": source.chain,
                "min_output_amount": hex(output_at(amount, terms.min_price_x128)),
                "retry_duration": terms.retry_duration,
                "max_oracle_price_slippage": terms.max_oracle_price_slippage,
            }
        common = {"chain": source.chain, "input_amount": hex(amount), "refund_parameters": terms.wire()}
        if source.chain in _EVM:
            return common
        return common | {"from": self.src_address, "seed": "0x" + session.random_bytes(_SEED_BYTES).hex()}


@dataclass(frozen=True, slots=True)
class _CheckedVaultSwap:
    """The checked arguments, for the broker and for the swap service."""

    source: ForeignAsset
    destination: ForeignAsset
    terms: RefundTerms
    dca: DcaParams | None
    ccm: dict[str, Any] | None
    boost_fee_bps: int | None
    commission_bps: int


def _read(document: Any, source: str) -> VaultSwapData:
    """Return the answer of broker or service; the node uses snake_case, the service camelCase."""
    record = _RECORDS.get(str(document.get("chain"))) if isinstance(document, Mapping) else None
    if record is None:
        text = f"unexpected answer of {origin_of(source)}: vault swap data without a known chain"
        raise BadAnswer(text, url=origin_of(source), sent=True, retryable=False)
    return read_answer(record, _camel_members(document), source)


def _camel_members(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {camel(key): _camel_members(item) for key, item in value.items()}
    return [_camel_members(item) for item in value] if isinstance(value, list) else value
