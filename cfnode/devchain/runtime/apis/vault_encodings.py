"""Encoding of vault swaps: the transaction by which a user swaps through the vault of a chain.

The swap has been checked before. The broker's affiliates become short ids, and each chain has its own layout
(`core.vault_swaps`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TypedDict

from cfnode.core.addresses import EncodedAddress, Script, address_to_text
from cfnode.core.assets import ASSETS, CHAINS, chains_of
from cfnode.core.vault_swaps import (
    BitcoinSwap,
    VaultSwapTerms,
    cf_parameters,
    evm_calldata,
    instruction_data,
    native_accounts,
    nulldata,
    token_accounts,
    token_transfer,
    tron_note,
)
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import RuntimeApi
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.ingress_egress.derivation import bitcoin_channel
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage
from cfnode.devchain.runtime.variants import classes_of

from .answers import ApiRefusal

__all__ = ["Extra", "Given", "VaultSwapRequest", "cf_parameters_of", "vault_swap_of"]

Extra = values.VaultSwapExtraParameters[int, EncodedAddress]
EvmExtra = values.EvmVaultSwapExtraParameters[EncodedAddress, int]
Details = values.VaultSwapDetails[Script]

MAX_U8 = 255
MAX_U16 = 2**16 - 1
MAX_U64 = 2**64 - 1
MAX_BITCOIN_AFFILIATES = 2
EVM_ADDRESSES = frozenset(CHAINS[chain].address for chain in chains_of("evm", "tron"))
_WITH_PARAMETERS = frozenset(chains_of("evm", "tron", "solana"))
"""Chains whose vaults pass parameters on."""
_EXTRA_ON, _DETAILS_ON = classes_of("VaultSwapExtraParameters"), classes_of("VaultSwapDetails")
SOLANA_TOKENS = {"SolUsdc": "usdc", "SolUsdt": "usdt"}


class Given(TypedDict):
    """The arguments of both encoding methods, by the names of the API."""

    broker: bytes
    source_asset: str
    destination_asset: str
    destination_address: EncodedAddress
    broker_commission: int
    channel_metadata: values.CcmMetadata | None
    boost_fee: int
    affiliate_fees: Sequence[values.Beneficiary[bytes]]
    dca_parameters: values.DcaParameters | None


@dataclass(frozen=True, slots=True)
class VaultSwapRequest:
    """The terms of a requested vault swap on any chain, with values in the form of the API."""

    broker: bytes
    source: str
    destination: str
    address: EncodedAddress
    commission: int
    ccm: values.CcmMetadata | None
    boost_fee: int
    affiliates: Sequence[values.Beneficiary[bytes]]
    dca: values.DcaParameters | None

    @classmethod
    def of(cls, request: Given) -> VaultSwapRequest:
        """Create the terms from the API's arguments, under shorter names."""
        return cls(
            request["broker"],
            request["source_asset"],
            request["destination_asset"],
            request["destination_address"],
            request["broker_commission"],
            request["channel_metadata"],
            request["boost_fee"],
            request["affiliate_fees"],
            request["dca_parameters"],
        )

    @property
    def plain_ccm(self) -> dict[str, bytes | int] | None:
        """The message in the form of `core.vault_swaps`."""
        return None if self.ccm is None else asdict(self.ccm)

    @property
    def chain(self) -> str:
        """The chain that the transaction is for."""
        return ASSETS[self.source].chain


def affiliates_of(api: RuntimeApi, asked: VaultSwapRequest) -> list[tuple[int, int]]:
    """Return (short id, basis points) of each affiliate. Raises DispatchError."""
    swapping, affiliates = api.other(SwappingStorage), []
    for fee in asked.affiliates:
        stored_details = swapping.AffiliateAccountDetails.get(asked.broker, fee.account)
        details = swapping.require(stored_details, swapping.Error.AffiliateNotRegisteredForBroker)
        swapping.ensure(fee.bps <= MAX_U8, swapping.Error.AffiliateFeeTooHigh)
        affiliates.append((details.short_id, fee.bps))
    return affiliates


def parameters_of(
    asked: VaultSwapRequest,
    refund: values.RefundParameters,
    account: bytes,
    affiliates: Sequence[tuple[int, int]],
) -> bytes:
    """Encode `VersionedCfParameters`, which the vault passes on unread. Refunds go to `account`."""
    return cf_parameters(
        VaultSwapTerms(
            asdict(refund) | {"refund_address": account},
            asked.broker,
            asked.commission,
            asked.boost_fee,
            asked.plain_ccm,
            None if asked.dca is None else asdict(asked.dca),
            affiliates,
        )
    )


def cf_parameters_of(api: RuntimeApi, asked: VaultSwapRequest, refund: values.RefundParameters) -> bytes:
    """Encode only the `VersionedCfParameters` of a swap, without a transaction.

    Raises Refused for a refund address of another chain, and for Bitcoin, Polkadot and Assethub, whose vaults
    pass no parameters on.
    """
    affiliates = affiliates_of(api, asked)
    if asked.chain not in _WITH_PARAMETERS:
        raise ApiRefusal("Unsupported source chain for encoding cf_parameters")
    variant, account = refund.refund_address
    if variant != CHAINS[asked.chain].address:
        raise ApiRefusal("Invalid refund address")
    return parameters_of(asked, refund, account, affiliates)


def _evm_parameters(api: RuntimeApi, asked: VaultSwapRequest, refund: values.RefundParameters) -> bytes:
    variant, account = refund.refund_address
    if variant not in EVM_ADDRESSES:
        raise ApiRefusal("Refund address must be an EVM address")
    return parameters_of(asked, refund, account, affiliates_of(api, asked))


def vault_swap_of(api: RuntimeApi, asked: VaultSwapRequest, extra: Extra) -> Details:
    """Return the transaction that swaps through the vault of the source asset's chain. Raises Refused."""
    if type(extra) is not _EXTRA_ON.get(asked.chain):
        raise ApiRefusal("Incompatible or unsupported source_asset and extra_parameters")
    match extra:
        case values.VaultSwapExtraParametersBitcoin():
            return _bitcoin(api, asked, extra)
        case values.VaultSwapExtraParametersSolana():
            return _solana(api, asked, extra)
        case values.VaultSwapExtraParametersTron(parameters):
            return _tron(api, asked, parameters)
    details: Details = _DETAILS_ON[asked.chain](_evm(api, asked, extra.value))
    return details


def _evm(api: RuntimeApi, asked: VaultSwapRequest, extra: EvmExtra) -> values.EvmCallDetails[bytes]:
    environment, amount = api.other(EnvironmentStorage), extra.input_amount
    parameters = _evm_parameters(api, asked, extra.refund_parameters)
    token = _token(environment, asked)
    data = evm_calldata(
        ASSETS[asked.destination], asked.address, parameters, ccm=asked.plain_ccm, token=token, amount=amount
    )
    return values.EvmCallDetails(
        calldata=data,
        value=amount if token is None else 0,
        to=environment.vault_address(asked.chain),
        source_token_address=token,
    )


def _tron(api: RuntimeApi, asked: VaultSwapRequest, extra: EvmExtra) -> values.VaultSwapDetailsTron:
    """Return the transaction on Tron: a token is sent by a call of its contract, but `to` is the vault."""
    environment, amount = api.other(EnvironmentStorage), extra.input_amount
    parameters = _evm_parameters(api, asked, extra.refund_parameters)
    token, vault = _token(environment, asked), environment.vault_address("Tron")
    details = values.EvmCallDetails(
        calldata=b"" if token is None else token_transfer(vault, amount),
        value=amount if token is None else 0,
        to=address_to_text(("Tron", vault)),
        source_token_address=None if token is None else address_to_text(("Tron", token)),
    )
    note = tron_note(ASSETS[asked.destination], asked.address, parameters, asked.plain_ccm)
    return values.VaultSwapDetailsTron(details=details, note=note)


def _bitcoin(
    api: RuntimeApi, asked: VaultSwapRequest, extra: values.VaultSwapExtraParametersBitcoin[int]
) -> values.VaultSwapDetailsBitcoin[Script]:
    swapping = api.other(SwappingStorage)
    error = swapping.Error
    channel_id = swapping.BrokerPrivateBtcChannels.get(asked.broker)
    channel = swapping.require(channel_id, error.NoPrivateChannelExistsForBroker)
    chunks, interval = (0, 0) if asked.dca is None else (asked.dca.number_of_chunks, asked.dca.chunk_interval)
    swapping.ensure(max(chunks, interval) <= MAX_U16, error.InvalidDcaParameters)
    swapping.ensure(asked.commission <= MAX_U8, error.BrokerFeeTooHigh)
    affiliates = affiliates_of(api, asked)
    if len(affiliates) > MAX_BITCOIN_AFFILIATES:
        raise ApiRefusal("Too many affiliates.")
    swap = BitcoinSwap(
        ASSETS[asked.destination],
        asked.address,
        extra.retry_duration,
        extra.min_output_amount,
        extra.max_oracle_price_slippage,
        asked.commission,
        asked.boost_fee,
        None if asked.dca is None else asdict(asked.dca),
        affiliates,
    )
    script = bitcoin_channel(api.other(INGRESS_EGRESS["Bitcoin"]), channel).script
    return values.VaultSwapDetailsBitcoin(nulldata_payload=nulldata(swap), deposit_address=script)


def _solana(
    api: RuntimeApi,
    asked: VaultSwapRequest,
    extra: values.VaultSwapExtraParametersSolana[EncodedAddress, int],
) -> values.VaultSwapDetailsSolana:
    affiliates, refund = affiliates_of(api, asked), extra.refund_parameters
    payer = _solana_account(extra.from_, "Invalid Solana Address: from")
    refunded = _solana_account(refund.refund_address, "Invalid refund address.")
    if extra.input_amount > MAX_U64:
        raise ApiRefusal("Input amount exceeded MAX")
    parameters = parameters_of(asked, refund, refunded, affiliates)
    environment, seed = asdict(api.other(EnvironmentStorage).SolanaApiEnvironment.get()), extra.seed
    token, owned = SOLANA_TOKENS.get(asked.source), extra.from_token_account
    if token is None:
        accounts = native_accounts(environment, payer, seed)
    else:
        source = (
            None if owned is None else _solana_account(owned, "Failed to decode the source token account")
        )
        accounts = token_accounts(environment, payer, seed, token, source)
    data = instruction_data(
        ASSETS[asked.destination],
        asked.address,
        parameters,
        amount=extra.input_amount,
        seed=seed,
        ccm=asked.plain_ccm,
        is_token=token is not None,
    )
    instruction = values.Instruction(
        program_id=environment["swap_endpoint_program"],
        accounts=[values.AccountMeta(**account) for account in accounts],
        data=data,
    )
    return values.VaultSwapDetailsSolana(instruction)


def _solana_account(address: EncodedAddress, otherwise: str) -> bytes:
    variant, account = address
    if variant != "Sol":
        raise ApiRefusal(otherwise)
    return account


def _token(environment: EnvironmentStorage, asked: VaultSwapRequest) -> bytes | None:
    """Return the contract of the source asset, None for the chain's own coin. Raises Refused."""
    if ASSETS[asked.source].chain_index == 0:
        return None
    contract = environment.contract(asked.chain, asked.source)
    if contract is None:
        kind = "Tron" if asked.chain == "Tron" else "EVM"
        raise ApiRefusal(f"Failed to look up {kind} token address")
    return contract
