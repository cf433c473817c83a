"""What does the node ask about vault swaps? (`CustomRuntimeApi`)

The checks come in the order of the chain's own; `vault_encodings` makes the transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cfnode.core.addresses import chain_of_address
from cfnode.core.assets import ASSETS
from cfnode.core.scale import ScaleError
from cfnode.core.vault_swaps import decode_instruction_data, decode_nulldata

from .apis_pools import or_message
from .frame import RuntimeApi, method
from .pallets.environment import Environment
from .pallets.swapping.ccm import CcmError, check_ccm, supports_ccm
from .pallets.swapping.pallet import Swapping
from .pallets.swapping.parameters import (
    MAX_AFFILIATES,
    MAX_BROKER_FEE,
    check_dca,
    check_price_protection,
    check_retry,
    destination_on,
)
from .vault_encodings import ENCODERS, Asked, Refused, parameters_of

__all__ = ["VaultSwapsApi"]

MAX_U8 = 255


class VaultSwapsApi(RuntimeApi):
    """Encoding and decoding of vault swaps."""

    api = "CustomRuntimeApi"

    @method(
        "Result<VaultSwapDetails<ScriptPubkey>, DispatchErrorWithMessage>",
        broker="AccountId32",
        source_asset="Asset",
        destination_asset="Asset",
        destination_address="EncodedAddress",
        broker_commission="u16",
        extra_parameters="VaultSwapExtraParameters<EncodedAddress, u128>",
        channel_metadata="Option<CcmMetadata>",
        boost_fee="u16",
        affiliate_fees="BoundedVec<Beneficiary<AccountId32>>",
        dca_parameters="Option<DcaParameters>",
    )
    def cf_request_swap_parameter_encoding(self, **given: Any) -> Any:
        """The transaction that swaps by way of the vault."""
        return _answer(lambda: self._details(Asked.of(given), given["extra_parameters"]))

    def _details(self, asked: Asked, extra: tuple[str, Any]) -> tuple[str, Any]:
        chain, given = extra
        if chain != asked.chain or chain not in ENCODERS:
            raise Refused("Incompatible or unsupported source_asset and extra_parameters")
        refund = given.get("refund_parameters") or given
        self._check(asked, refund)
        return ENCODERS[chain](self, asked, given)

    @method(
        "Result<Bytes, DispatchErrorWithMessage>",
        broker="AccountId32",
        source_asset="Asset",
        destination_address="EncodedAddress",
        destination_asset="Asset",
        refund_parameters="RefundParameters",
        dca_parameters="Option<DcaParameters>",
        boost_fee="u16",
        broker_commission="u16",
        affiliate_fees="BoundedVec<Beneficiary<AccountId32>>",
        channel_metadata="Option<CcmMetadata>",
    )
    def cf_encode_cf_parameters(self, **given: Any) -> Any:
        """The part of the transaction that the vault passes on."""
        asked, refund = Asked.of(given), given["refund_parameters"]

        def answer() -> bytes:
            self._check(asked, refund)
            return parameters_of(self, asked, refund)

        return _answer(answer)

    # Checks

    def _check(self, asked: Asked, refund: dict[str, Any]) -> None:
        swapping = self.other(Swapping)
        error = swapping.Error
        check_dca(swapping, asked.dca)
        swapping.ensure(asked.boost_fee <= MAX_U8, error.BoostFeeTooHigh)
        if asked.commission < swapping.VaultSwapMinimumBrokerFee.get(asked.broker):
            raise Refused("Broker commission is too low")
        in_all = asked.commission + sum(fee["bps"] for fee in asked.affiliates)
        swapping.ensure(in_all <= MAX_BROKER_FEE, error.BrokerCommissionBpsTooHigh)
        check_retry(swapping, refund["retry_duration"])
        slippage = refund["max_oracle_price_slippage"]
        check_price_protection(swapping, slippage, asked.source, asked.destination)
        if chain_of_address(asked.address) != ASSETS[asked.destination].chain:
            raise Refused("Destination address and asset are on different chains.")
        destination = destination_on(swapping, asked.destination, asked.address)
        if asked.ccm is not None:
            self._check_ccm(asked, destination[1])
        if len(asked.affiliates) > MAX_AFFILIATES:
            raise Refused("Too many affiliates")

    def _check_ccm(self, asked: Asked, destination: Any) -> None:
        if asked.chain == "Bitcoin":
            raise Refused("Vault swaps with CCM are not supported for the Bitcoin Chain")
        if not supports_ccm(asked.destination):
            raise Refused("Destination chain does not support CCM")
        try:
            check_ccm(self.other(Swapping), asked.ccm, asked.destination, destination)
        except CcmError:
            raise Refused("Invalid CCM") from None

    # Decoding

    @method(
        "Result<VaultSwapInput<EncodedAddress, u128>, DispatchErrorWithMessage>",
        broker="AccountId32",
        vault_swap="VaultSwapDetails<str>",
    )
    def cf_decode_vault_swap_parameter(self, broker: bytes, vault_swap: tuple[str, Any]) -> Any:
        """The swap that a transaction asks for."""
        return _answer(lambda: self._decoded(broker, vault_swap))

    def _decoded(self, broker: bytes, vault_swap: tuple[str, Any]) -> dict[str, Any]:
        chain, given = vault_swap
        if chain not in _READERS:
            raise Refused("Decoding Vault Swap only supports Bitcoin and Solana")
        try:
            return _READERS[chain](self, broker, given)
        except ScaleError as error:
            raise Refused(f"the payload cannot be read: {error}") from error

    def _bitcoin(self, broker: bytes, given: dict[str, Any]) -> dict[str, Any]:
        swap = decode_nulldata(given["nulldata_payload"])
        extra = {
            "min_output_amount": swap.min_output_amount,
            "retry_duration": swap.retry_duration,
            "max_oracle_price_slippage": swap.max_oracle_price_slippage,
        }
        return {
            "source_asset": "Btc",
            "destination_asset": swap.destination.name,
            "destination_address": swap.address,
            "broker_commission": swap.broker_fee,
            "extra_parameters": ("Bitcoin", extra),
            "channel_metadata": None,
            "boost_fee": swap.boost_fee,
            "affiliate_fees": [self._affiliate(broker, *pair) for pair in swap.affiliates],
            "dca_parameters": swap.dca,
        }

    def _solana(self, broker: bytes, given: dict[str, Any]) -> dict[str, Any]:
        """An instruction names its broker itself."""
        instruction = given["instruction"]
        swap = decode_instruction_data(instruction["data"], instruction["accounts"])
        sent, terms = swap.sent, swap.sent.terms
        extra = {
            "from": ("Sol", swap.payer),
            "seed": swap.seed,
            "input_amount": sent.amount,
            "refund_parameters": terms.refund | {"refund_address": ("Sol", terms.refund["refund_address"])},
            "from_token_account": None if swap.token_account is None else ("Sol", swap.token_account),
        }
        return {
            "source_asset": self._minted(sent.token),
            "destination_asset": sent.destination.name,
            "destination_address": sent.address,
            "broker_commission": terms.broker_fee,
            "extra_parameters": ("Solana", extra),
            "channel_metadata": terms.ccm,
            "boost_fee": terms.boost_fee,
            "affiliate_fees": [self._affiliate(terms.broker, *pair) for pair in terms.affiliates],
            "dca_parameters": terms.dca,
        }

    def _minted(self, mint: bytes | None) -> str:
        asset = "Sol" if mint is None else self.other(Environment).minted(mint)
        if asset is None:
            raise ScaleError("the token is none that is swapped")
        return asset

    def _affiliate(self, broker: bytes, short_id: int, bps: int) -> dict[str, Any]:
        swapping = self.other(Swapping)
        account = swapping.AffiliateIdMapping.get(broker, short_id)
        swapping.ensure(account is not None, swapping.Error.AffiliateNotRegisteredForBroker)
        return {"account": account, "bps": bps}


_READERS: dict[str, Callable[[VaultSwapsApi, bytes, dict[str, Any]], dict[str, Any]]] = {
    "Bitcoin": VaultSwapsApi._bitcoin,
    "Solana": VaultSwapsApi._solana,
}


def _answer(make: Callable[[], Any]) -> tuple[str, Any]:
    try:
        return or_message(make)
    except Refused as refusal:
        return "Err", ("RawMessage", str(refusal).encode())
