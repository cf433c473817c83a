"""What does the node ask about vault swaps? (`CustomRuntimeApi`)

The checks come in the order of the chain's own. Solana's transactions, whose accounts are those of a program
that no development chain has, are not made here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cfnode.core.addresses import address_to_text, chain_of_address
from cfnode.core.assets import ASSETS
from cfnode.core.scale import ScaleError
from cfnode.core.vault_swaps import (
    BitcoinSwap,
    SwapTerms,
    cf_parameters,
    decode_nulldata,
    evm_calldata,
    nulldata,
    token_transfer,
    tron_note,
)

from .apis_pools import or_message
from .frame import RuntimeApi, method
from .pallets.environment import Environment
from .pallets.ingress_egress.derivation import bitcoin_channel
from .pallets.ingress_egress.pallet import INGRESS_EGRESS
from .pallets.swapping.ccm import CcmError, check_ccm, supports_ccm
from .pallets.swapping.channels import destination_on
from .pallets.swapping.pallet import Swapping
from .pallets.swapping.parameters import (
    MAX_AFFILIATES,
    MAX_BROKER_FEE,
    check_dca,
    check_price_protection,
    check_retry,
)

__all__ = ["VaultSwapsApi"]

MAX_U8 = 255
MAX_BITCOIN_AFFILIATES = 2
EVM_ADDRESSES = frozenset({"Eth", "Arb", "Tron"})


class Refused(Exception):
    """A refusal that is a text, not a pallet's error."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a vault swap is asked for, whatever the chain; values as the API has them."""

    broker: bytes
    source: str
    destination: str
    address: Any
    commission: int
    ccm: Any
    boost_fee: int
    affiliates: Sequence[Any]
    dca: Any

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Asked:
        """What both encodings are given, by the names of the API."""
        return cls(
            given["broker"],
            given["source_asset"],
            given["destination_asset"],
            given["destination_address"],
            given["broker_commission"],
            given["channel_metadata"],
            given["boost_fee"],
            given["affiliate_fees"],
            given["dca_parameters"],
        )

    @property
    def chain(self) -> str:
        """The chain that the transaction is for."""
        return ASSETS[self.source].chain


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
        if chain != asked.chain or chain not in _ENCODERS:
            raise Refused("Incompatible or unsupported source_asset and extra_parameters")
        refund = given.get("refund_parameters") or given
        self._check(asked, refund)
        return _ENCODERS[chain](self, asked, given)

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
            return self._parameters(asked, refund)

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

    def _affiliates(self, asked: Asked) -> list[tuple[int, int]]:
        """(short id, basis points) of each affiliate."""
        swapping, found = self.other(Swapping), []
        for fee in asked.affiliates:
            details = swapping.AffiliateAccountDetails.get(asked.broker, fee["account"])
            swapping.ensure(details is not None, swapping.Error.AffiliateNotRegisteredForBroker)
            swapping.ensure(fee["bps"] <= MAX_U8, swapping.Error.AffiliateFeeTooHigh)
            found.append((details["short_id"], fee["bps"]))
        return found

    # Encodings

    def _parameters(self, asked: Asked, refund: dict[str, Any]) -> bytes:
        variant, address = refund["refund_address"]
        if asked.chain in ("Ethereum", "Arbitrum", "Tron") and variant not in EVM_ADDRESSES:
            raise Refused("Refund address must be an EVM address")
        terms = SwapTerms(
            refund | {"refund_address": address},
            asked.broker,
            asked.commission,
            asked.boost_fee,
            asked.ccm,
            asked.dca,
            self._affiliates(asked),
        )
        return cf_parameters(terms)

    def _evm(self, asked: Asked, given: dict[str, Any]) -> tuple[str, Any]:
        environment, amount = self.other(Environment), given["input_amount"]
        token = _token(environment, asked)
        data = evm_calldata(
            ASSETS[asked.destination],
            asked.address,
            self._parameters(asked, given["refund_parameters"]),
            ccm=asked.ccm,
            token=token,
            amount=amount,
        )
        details = {
            "calldata": data,
            "value": amount if token is None else 0,
            "to": environment.vault_address(asked.chain),
            "source_token_address": token,
        }
        return asked.chain, {"details": details}

    def _tron(self, asked: Asked, given: dict[str, Any]) -> tuple[str, Any]:
        environment, amount = self.other(Environment), given["input_amount"]
        token, vault = _token(environment, asked), environment.vault_address("Tron")
        parameters = self._parameters(asked, given["refund_parameters"])
        token_text = None if token is None else address_to_text(("Tron", token))
        details = {
            "calldata": b"" if token is None else token_transfer(vault, amount),
            "value": amount if token is None else 0,
            "to": token_text or address_to_text(("Tron", vault)),
            "source_token_address": token_text,
        }
        note = tron_note(ASSETS[asked.destination], asked.address, parameters, asked.ccm)
        return "Tron", {"details": details, "note": note}

    def _bitcoin(self, asked: Asked, given: dict[str, Any]) -> tuple[str, Any]:
        swapping = self.other(Swapping)
        error = swapping.Error
        channel = swapping.BrokerPrivateBtcChannels.get(asked.broker)
        swapping.ensure(channel is not None, error.NoPrivateChannelExistsForBroker)
        swapping.ensure(asked.commission <= MAX_U8, error.BrokerFeeTooHigh)
        affiliates = self._affiliates(asked)
        if len(affiliates) > MAX_BITCOIN_AFFILIATES:
            raise Refused("Too many affiliates")
        swap = BitcoinSwap(
            ASSETS[asked.destination],
            asked.address,
            given["retry_duration"],
            given["min_output_amount"],
            given["max_oracle_price_slippage"],
            asked.commission,
            asked.boost_fee,
            asked.dca,
            affiliates,
        )
        script = bitcoin_channel(self.other(INGRESS_EGRESS["Bitcoin"]), channel).script
        return "Bitcoin", {"nulldata_payload": nulldata(swap), "deposit_address": script}

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
        if chain == "Solana":
            raise Refused("Solana's transactions are not read on a development chain")
        if chain != "Bitcoin":
            raise Refused("Decoding Vault Swap only supports Bitcoin and Solana")
        try:
            swap = decode_nulldata(given["nulldata_payload"])
        except ScaleError as error:
            raise Refused(f"the payload cannot be read: {error}") from error
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

    def _affiliate(self, broker: bytes, short_id: int, bps: int) -> dict[str, Any]:
        swapping = self.other(Swapping)
        account = swapping.AffiliateIdMapping.get(broker, short_id)
        swapping.ensure(account is not None, swapping.Error.AffiliateNotRegisteredForBroker)
        return {"account": account, "bps": bps}


_ENCODERS: dict[str, Callable[[VaultSwapsApi, Asked, dict[str, Any]], tuple[str, Any]]] = {
    "Bitcoin": VaultSwapsApi._bitcoin,
    "Ethereum": VaultSwapsApi._evm,
    "Arbitrum": VaultSwapsApi._evm,
    "Tron": VaultSwapsApi._tron,
}


def _token(environment: Environment, asked: Asked) -> bytes | None:
    """The contract of the source asset, None for the chain's own coin."""
    if ASSETS[asked.source].chain_index == 0:
        return None
    known = {
        "Ethereum": environment.EthereumSupportedAssets,
        "Arbitrum": environment.ArbitrumSupportedAssets,
        "Tron": environment.TronSupportedAssets,
    }
    contract: bytes | None = known[asked.chain].get(asked.source)
    if contract is None:
        raise Refused("Failed to look up token address")
    return contract


def _answer(make: Callable[[], Any]) -> tuple[str, Any]:
    try:
        return or_message(make)
    except Refused as refusal:
        return "Err", ("RawMessage", str(refusal).encode())
