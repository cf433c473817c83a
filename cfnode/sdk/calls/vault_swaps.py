"""Encode a swap that is sent to the vault itself: by one's own broker, or by the swap service.

Nothing is opened or sent by this; the answer says what the user's wallet has to send.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cfnode.core.assets import Asset
from cfnode.sdk.calls import Call
from cfnode.sdk.calls.terms import (
    RefundTerms,
    check_addresses,
    check_affiliates,
    check_dca,
    checked_ccm,
    refund_terms,
    whole_number,
)
from cfnode.sdk.errors import BadAnswer, ValidationError
from cfnode.sdk.exchange import Steps, backend, read_answer, rpc, shown
from cfnode.sdk.models.quote import Quote
from cfnode.sdk.models.request import AffiliateBroker, CcmParams, FillOrKillParams
from cfnode.sdk.models.vault_swap import (
    BitcoinVaultSwap,
    EvmVaultSwap,
    SolanaVaultSwap,
    TronVaultSwap,
    VaultSwapData,
)
from cfnode.sdk.options import Session
from cfnode.sdk.record import camel

__all__ = ["EncodeVaultSwapData"]

METHOD = "broker_request_swap_parameter_encoding"
MESSAGE_LIMIT = 15_000
_SEED_BYTES = 32
_EVM = ("Ethereum", "Arbitrum", "Bsc", "Tron")
_RECORDS: dict[str, type[VaultSwapData]] = {
    "Bitcoin": BitcoinVaultSwap,
    "Ethereum": EvmVaultSwap,
    "Arbitrum": EvmVaultSwap,
    "Bsc": EvmVaultSwap,
    "Tron": TronVaultSwap,
    "Solana": SolanaVaultSwap,
}


@dataclass(frozen=True)
class EncodeVaultSwapData(Call[VaultSwapData]):
    """What to send to the vault for a quote that was asked with `is_vault_swap`.

    `src_address` is needed for Solana: the account that will sign.
    """

    quote: Quote
    dest_address: str
    fill_or_kill_params: FillOrKillParams
    src_address: str | None = None
    broker_commission_bps: int | None = None
    affiliate_brokers: Sequence[AffiliateBroker] = ()
    ccm_params: CcmParams | None = None

    def steps(self, session: Session) -> Steps[VaultSwapData]:
        source, destination = self._checked_assets()
        terms = refund_terms(
            self.fill_or_kill_params, source, destination, session, quote=self.quote, dca=False
        )
        check_affiliates(self.affiliate_brokers)
        check_addresses(source, terms.refund_address, destination, self.dest_address, session)
        if session.options.broker is None:
            document = yield from self._by_backend(session, source, destination, terms)
        else:
            params = self._params(session, source, destination, terms)
            document = yield from rpc(session, session.options.broker.url, METHOD, params)
        return _read(document, session)

    def _checked_assets(self) -> tuple[Asset, Asset]:
        quote = self.quote
        source = quote.src_asset.known("quote.srcAsset")
        if not quote.is_vault_swap:
            raise ValidationError("quote", "Cannot encode vault swap data for a deposit channel quote")
        if source.chain not in _RECORDS:
            raise ValidationError("quote.srcAsset", f"parameter encoding is not supported for {source.chain}")
        if quote.type == "DCA" and quote.dca_params is None:
            raise ValidationError("quote.dcaParams", "Failed to find DCA parameters from quote")
        if quote.dca_params is not None:
            check_dca(quote.dca_params)
        return source, quote.dest_asset.known("quote.destAsset")

    def _params(self, session: Session, source: Asset, destination: Asset, terms: RefundTerms) -> list[Any]:
        dca = self.quote.dca_params if self.quote.type == "DCA" else None
        boost = self.quote.max_boost_fee_bps
        return [
            {"asset": source.symbol, "chain": source.chain},
            {"asset": destination.symbol, "chain": destination.chain},
            self.dest_address,
            whole_number(session.commission_bps(self.broker_commission_bps), "brokerCommissionBps"),
            self._extra(session, source, terms),
            checked_ccm(self.ccm_params, MESSAGE_LIMIT),
            None if boost is None else whole_number(int(boost), "quote.maxBoostFeeBps"),
            [{"account": each.account, "bps": each.commission_bps} for each in self.affiliate_brokers]
            or None,
            dca and {"number_of_chunks": dca.number_of_chunks, "chunk_interval": dca.chunk_interval_blocks},
        ]

    def _extra(self, session: Session, source: Asset, terms: RefundTerms) -> dict[str, Any]:
        amount = self.quote.deposit_amount
        if source.chain == "Bitcoin":
            return {
                "chain": source.chain,
                "min_output_amount": hex((amount * terms.min_price_x128 + (1 << 127)) >> 128),
                "retry_duration": terms.retry_duration,
                "max_oracle_price_slippage": terms.max_oracle_price_slippage,
            }
        common = {"chain": source.chain, "input_amount": hex(amount), "refund_parameters": terms.wire()}
        if source.chain in _EVM:
            return common
        if self.src_address is None:
            raise ValidationError(
                "srcAddress", "a vault swap from Solana needs srcAddress, the signing account"
            )
        return common | {"from": self.src_address, "seed": "0x" + session.random_bytes(_SEED_BYTES).hex()}

    def _by_backend(
        self, session: Session, source: Asset, destination: Asset, terms: RefundTerms
    ) -> Steps[Any]:
        only = "supported only when initializing the SDK with a brokerUrl"
        if self.broker_commission_bps or self.affiliate_brokers:
            raise ValidationError("brokerCommissionBps", f"Broker commission is {only}")
        dca = self.quote.dca_params if self.quote.type == "DCA" else None
        body = {
            "srcAsset": source.symbol,
            "srcChain": source.chain,
            "destAsset": destination.symbol,
            "destChain": destination.chain,
            "srcAddress": self.src_address,
            "destAddress": self.dest_address,
            "amount": str(self.quote.deposit_amount),
            "dcaParams": dca and dca.to_json(),
            "fillOrKillParams": terms.backend(),
            "maxBoostFeeBps": self.quote.max_boost_fee_bps,
            "ccmParams": self.ccm_params and self.ccm_params.to_json(),
            "quote": self.quote.to_json(),
        }
        given = {name: value for name, value in body.items() if value is not None}
        return (yield from backend(session, "POST", "/api/encodeVaultSwapData", body=given))


def _read(document: Any, session: Session) -> VaultSwapData:
    """The answer of either side; the node writes snake_case, the service camelCase."""
    record = _RECORDS.get(str(document.get("chain"))) if isinstance(document, Mapping) else None
    if record is None:
        url = shown(session.rpc_url)
        raise BadAnswer("vault swap data without a known chain", url=url, sent=True, retryable=False)
    return read_answer(record, _camel_members(document), session.rpc_url)


def _camel_members(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {camel(key): _camel_members(item) for key, item in value.items()}
    return [_camel_members(item) for item in value] if isinstance(value, list) else value
