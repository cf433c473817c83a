"""Overrides of the JSON encoder, where Chainflip's JSON differs from what the types suggest.

Each entry is one line, by the name of the type (its last name, or its last two), or by type and member. The
rest of the JSON follows from the metadata. (Source: Chainflip's custom RPC and the serialisations of its
`cf_chains` and runtime-API types.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import base58

from cfnode.core import ss58
from cfnode.core.addresses import address_to_text, chain_of_address, script_to_text
from cfnode.core.assets import chains_of
from cfnode.core.scale.types import PortableType, Variants
from cfnode.rpc.cf.by_asset import asset_map, by_asset
from cfnode.rpc.cf.json_encoder import Encode, JsonEncoder, Member, Overrides
from cfnode.rpc.table.broker_params import additional_data, write_asset
from cfnode.rpc.table.convert import account, to_hex
from cfnode.rpc.table.runtime_names import names_of

__all__ = ["OVERRIDES"]

POLKADOT_PREFIX: Final = 0


def _base58(value: bytes) -> str:
    return base58.b58encode(value).decode()


def plain_hex(value: bytes) -> str:
    """Return hex without `0x`."""
    return value.hex()


def _polkadot(value: bytes) -> str:
    return ss58.encode(value, POLKADOT_PREFIX)


def _always(encode: Encode) -> Callable[[JsonEncoder, PortableType, bool], Encode]:
    return lambda encoder, row, plain_numbers: encode


def _script(encoder: JsonEncoder, row: PortableType, plain_numbers: bool) -> Encode:
    """Return the encoder of a Bitcoin output script as its usual address."""
    network = encoder.network
    if network is None:
        return encoder.plain(row)
    return lambda script: script_to_text(script, network)


def _foreign_address(encoder: JsonEncoder, row: PortableType, plain_numbers: bool) -> Encode:
    """Return the encoder of an address of any chain as text; Polkadot's as SS58 of its own prefix."""
    assert isinstance(row.definition, Variants)
    fields = {case.name: case.fields[0].type for case in row.definition.variants}

    def encode(address: Any) -> Any:
        variant, payload = address
        if variant in ("Dot", "Hub"):
            return _polkadot(payload)
        if variant == "Btc":
            return encoder.of(fields[variant])(payload)
        return address_to_text((variant, payload))

    return encode


def _whitelist_destination(encoder: JsonEncoder, row: PortableType, plain_numbers: bool) -> Encode:
    """Return the encoder of an account, or of an address with its chain."""
    plain = encoder.plain(row, plain_numbers)

    def encode(destination: Any) -> Any:
        variant, address = destination
        if variant != "ExternalAddress":
            return plain(destination)
        return {variant: {"chain": chain_of_address(address), "address": address_to_text(address)}}

    return encode


def _safe_mode_set(encoder: JsonEncoder, row: PortableType, plain_numbers: bool) -> Encode:
    """Return the encoder of the assets for which a function is on: all, none, or a list."""
    assets = names_of(encoder.registry).assets

    def encode(value: Any) -> list[dict[str, str]]:
        if isinstance(value, str):
            return [write_asset(name) for name in assets] if value == "Green" else []
        return [write_asset(name) for name in value[1]]

    return encode


def _older_pair(encoder: JsonEncoder, row: PortableType, plain_numbers: bool) -> Encode:
    """Return the encoder of amounts of a pool's two assets; older runtimes name the quote asset `pair`."""
    encode = encoder.plain(row, plain_numbers)
    return lambda value: {{"pair": "quote"}.get(name, name): entry for name, entry in encode(value).items()}


def _broker(encoder: JsonEncoder, row: PortableType, plain_numbers: bool) -> Encode:
    """Return the encoder of a broker's information.

    The affiliates come before the broker's address for vault swaps.
    """
    encode = encoder.plain(row, plain_numbers)

    def ordered(value: Any) -> dict[str, Any]:
        members: dict[str, Any] = encode(value)
        first = {name: members[name] for name in ("earned_fees", "affiliates") if name in members}
        return first | members

    return ordered


def _optional_text(address: Any) -> str | None:
    return None if address is None else address_to_text(address)


def refund_address(value: Any) -> Any:
    """Return an address with its chain as text.

    An address without chain (in a deposit's own parameters) is hex.
    """
    if isinstance(value, bytes):
        return to_hex(value)
    return address_to_text(value)


def _affiliates(entries: list[Any]) -> list[dict[str, Any]]:
    return [{"account_id": account_id, **details} for account_id, details in entries]


def _amounts(entries: list[Any]) -> list[dict[str, Any]]:
    return [{**asset, "amount": amount} for asset, amount in entries]


def _amounts_by_asset(encoder: JsonEncoder) -> Encode:
    """Return the encoder of amounts of some assets, as an object with all assets of the runtime."""
    assets = names_of(encoder.registry).assets

    def encode(entries: list[tuple[str, int]]) -> dict[str, dict[str, str]]:
        return by_asset(assets, {asset: hex(amount) for asset, amount in entries}, "0x0")

    return encode


def vanity_name(value: bytes) -> str:
    """Return an account's vanity name.

    The chain has accepted names that are not UTF-8: those become `<Invalid UTF-8>`.
    """
    try:
        return value.decode()
    except UnicodeDecodeError:
        return "<Invalid UTF-8>"


_TYPES: Final[dict[str, Callable[[JsonEncoder, PortableType, bool], Encode]]] = {
    "crypto::AccountId32": _always(account),
    "primitive_types::U256": _always(hex),
    "primitive_types::H160": _always(to_hex),
    "primitive_types::H256": _always(to_hex),
    "pallet::CallHash": _always(to_hex),
    "address::Address": _always(_base58),
    "signature::Signature": _always(_base58),
    "digest::Digest": _always(_base58),
    "dot::PolkadotAccountId": _always(_polkadot),
    "fixed_point::FixedU64": _always(str),
    "common::Side": _always(str.lower),
    "any::AssetMap": asset_map,
    "pallet::AssetsMap": _older_pair,
    "types::BrokerInfo": _broker,
    "btc::ScriptPubkey": _script,
    "address::ForeignChainAddress": _foreign_address,
    "safe_mode::SafeModeSet": _safe_mode_set,
    "types::WhitelistDestination": _whitelist_destination,
    **{f"{module}::Asset": _always(write_asset) for module in ("any", "eth", "dot", "btc", "arb", "sol")},
    **{f"{module}::Asset": _always(write_asset) for module in ("hub", "tron", "bsc")},
}

_FLAT: Final = Member(flatten=True)
_PLAIN_HEX: Final = Member(encode=plain_hex)
_HEX: Final = Member(encode=to_hex)
_PLAIN_NUMBERS: Final = Member(plain_numbers=True)
_OPTIONAL: Final = Member(optional=True)
_HIDDEN: Final = Member(hidden=True)
_ADDRESS: Final = Member(encode=address_to_text)
_BY_CHAIN: Final = Member(reshape=dict)
_BY_ASSET: Final = Member(build=_amounts_by_asset)

_MEMBERS: Final[dict[tuple[str, str], Member]] = {
    # Amounts that are numbers
    ("RangeOrder", "liquidity"): _PLAIN_NUMBERS,
    ("FeeRateAndMinimum", "minimum"): _PLAIN_NUMBERS,
    ("TradingStrategyLimits", "minimum_deployment_amount"): _PLAIN_NUMBERS,
    ("TradingStrategyLimits", "minimum_added_funds_amount"): _PLAIN_NUMBERS,
    ("ValidatorInfo", "restricted_balances"): _PLAIN_NUMBERS,
    ("RuntimeApiAccountInfoV2", "restricted_balances"): _PLAIN_NUMBERS,
    # Assets whose members are members of the parent
    ("BoostPoolDepth", "asset"): _FLAT,
    ("LendingPosition", "asset"): _FLAT,
    ("AssetAndAmount", "asset"): _FLAT,
    ("LendingPoolAndSupplyPositions", "asset"): _FLAT,
    ("RpcLendingPool", "config"): _FLAT,
    # Cross-chain messages, transactions of other chains
    ("CcmChannelMetadata", "message"): _PLAIN_HEX,
    ("CcmChannelMetadata", "ccm_additional_data"): Member(encode=lambda value: additional_data(value).hex()),
    ("Transaction", "data"): _PLAIN_HEX,
    ("TronTransaction", "data"): _PLAIN_HEX,
    ("ChannelRefundParameters", "refund_address"): Member(encode=refund_address),
    # Swaps
    ("SwapLegInfo", "source_asset"): _OPTIONAL,
    ("SwapLegInfo", "source_amount"): _OPTIONAL,
    # Vault swaps
    ("VaultSwapDetails.Bitcoin", "nulldata_payload"): _HEX,
    **{(f"VaultSwapDetails.{chain}", "details"): _FLAT for chain in chains_of("evm", "tron")},
    ("VaultSwapDetails.Tron", "note"): _HEX,
    ("VaultSwapDetails.Solana", "instruction"): _FLAT,
    ("EvmCallDetails", "calldata"): _HEX,
    ("EvmCallDetails", "source_token_address"): _OPTIONAL,
    ("Instruction", "data"): _HEX,
    ("VaultSwapInput", "destination_address"): _ADDRESS,
    ("VaultSwapExtraParameters.Solana", "from"): _ADDRESS,
    ("VaultSwapExtraParameters.Solana", "seed"): _PLAIN_HEX,
    ("VaultSwapExtraParameters.Solana", "from_token_account"): Member(encode=_optional_text),
    # Accounts
    ("RpcAccountInfoCommonItems", "account_id"): _OPTIONAL,
    ("RpcAccountInfoCommonItems", "vanity_name"): Member(encode=vanity_name, optional=True),
    ("RpcAccountInfoCommonItems", "bound_redeem_address"): _OPTIONAL,
    ("RpcAccountInfoCommonItems", "restricted_balances"): _OPTIONAL,
    ("RpcAccountInfoCommonItems", "current_delegation_status"): _OPTIONAL,
    ("RpcAccountInfoCommonItems", "upcoming_delegation_status"): _OPTIONAL,
    ("BrokerInfo", "earned_fees"): _BY_ASSET,
    ("BrokerInfo", "affiliates"): Member(reshape=_affiliates, optional=True),
    ("BrokerInfo", "bond"): _HIDDEN,
    ("BrokerInfo", "btc_vault_deposit_address"): _OPTIONAL,
    ("BrokerInfo", "bound_fee_withdrawal_address"): _OPTIONAL,
    ("LiquidityProviderInfo", "refund_addresses"): _BY_CHAIN,
    ("LiquidityProviderInfo", "balances"): _HIDDEN,
    ("LiquidityProviderInfo", "collateral_balances"): Member(reshape=_amounts),
    ("OperatorInfo", "allowed"): _OPTIONAL,
    ("OperatorInfo", "blocked"): _OPTIONAL,
    ("OperatorInfo", "active_delegation"): _OPTIONAL,
}


OVERRIDES: Final = Overrides(
    _TYPES, _MEMBERS, {"VaultSwapDetails": "chain", "VaultSwapExtraParameters": "chain"}
)
