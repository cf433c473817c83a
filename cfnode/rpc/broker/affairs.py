"""The `broker_*` methods for affiliates, rejections, address bindings and account creation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from cfnode.core.addresses import address_to_text
from cfnode.core.assets import ASSETS
from cfnode.rpc.broker.calls import broker_of, withdrawal_json
from cfnode.rpc.cf import vault_swaps, views
from cfnode.rpc.cf.method import at_best_block, for_own_account, for_own_account_or_all
from cfnode.rpc.cf.params import ADDRESS20, one_of
from cfnode.rpc.table.broker_params import ASSET, address_on
from cfnode.rpc.table.convert import (
    ACCOUNT,
    TEXT,
    U16,
    U32,
    U64,
    account,
    fixed_hex,
    to_hex,
    write_number_or_hex,
)
from cfnode.rpc.table.rows import Access, Method, Param, Reader
from cfnode.rpc.table.runtime_names import enum_of_chains
from cfnode.rpc.table.serde_types import SerdeStruct, enum, tuple_of
from cfnode.rpc.table.texts import base58_of, signature_hex

if TYPE_CHECKING:
    from cfnode.node.node import Node


# Affiliates


async def register_affiliate(node: Node, withdrawal_address: bytes) -> str:
    """Register an affiliate that is paid to an Ethereum address; return its account."""
    return account(await broker_of(node).register_affiliate(withdrawal_address))


async def deregister_affiliate(node: Node, affiliate: bytes) -> dict[str, Any]:
    """Deregister an affiliate; its fees must have been withdrawn."""
    ended = await broker_of(node).deregister_affiliate(affiliate)
    return {"account_id": account(ended.account), "short_id": ended.short_id}


async def affiliate_withdrawal_request(node: Node, affiliate: bytes) -> dict[str, Any]:
    """Pay an affiliate's fees to the address that it was registered with."""
    return withdrawal_json(await broker_of(node).affiliate_withdrawal_request(affiliate))


async def set_minimum_fee(node: Node, basis_points: int) -> str:
    """Set the minimum commission of the broker's vault swaps; return the transaction's hash."""
    return to_hex(await broker_of(node).set_vault_swap_minimum_broker_fee(basis_points))


async def bind_address(node: Node, address: bytes) -> str:
    """Bind withdrawals on Ethereum to one address, irrevocably; return the transaction's hash."""
    return to_hex(await broker_of(node).bind_fee_withdrawal_address(address))


# Rejections


_pubkey: Final = base58_of(32)
_hash: Final = fixed_hex(32)
TX_ID: Final = Reader(
    "{chain: transaction id}",
    enum_of_chains(
        enum,
        "TransactionInId",
        {
            **dict.fromkeys(("Bitcoin", "Ethereum", "Arbitrum", "Tron"), _hash),
            "Solana": tuple_of(_pubkey, U64.read),
            "SolanaDepositChannel": _pubkey,
            "Bsc": _hash,
        },
    ),
)


async def mark_for_rejection(node: Node, tx_id: tuple[str, Any]) -> None:
    """Mark a deposit to one of the broker's channels for rejection: it is refunded."""
    chain, value = tx_id
    if chain == "SolanaDepositChannel":
        await broker_of(node).mark_deposit_channel_for_rejection("Solana", value)
    else:
        await broker_of(node).mark_transaction_for_rejection(chain, value)


# Account creation


SIGNATURE: Final = Reader(
    "{Ethereum} or {Solana}",
    enum(
        "SignatureData",
        {
            "Solana": {
                "signature": (base58_of(64), False),
                "signer": (_pubkey, False),
                "sig_type": (one_of("Domain").read, False),
            },
            "Ethereum": {
                "signature": (signature_hex(65), False),
                "signer": (ADDRESS20.read, False),
                "sig_type": (one_of("PersonalSign", "Eip712").read, False),
            },
        },
    ),
)
BOUNDS: Final = Reader(
    "{nonce, expiry_block}",
    SerdeStruct(
        "struct TransactionMetadata", {"nonce": (U32.read, False), "expiry_block": (U32.read, False)}
    ),
)


async def request_account_channel(
    node: Node,
    signature: tuple[str, Any],
    metadata: dict[str, int],
    asset: str,
    boost_fee: int | None,
    refund_address: str,
) -> dict[str, Any]:
    """Open a channel whose deposits create and fund the account that signed the request."""
    channel = await broker_of(node).request_account_creation_deposit_address(
        signature,
        metadata,
        asset,
        boost_fee or 0,
        address_on(ASSETS[asset].chain, refund_address, "refund_address"),
    )
    return {
        "issued_block": channel.issued_block,
        "channel_id": channel.channel_id,
        "address": address_to_text(channel.address),
        "requested_for": account(channel.requested_for),
        "deposit_chain_expiry_block": write_number_or_hex(channel.deposit_chain_expiry_block),
        "channel_opening_fee": hex(channel.channel_opening_fee),
        "refund_address": address_to_text(channel.refund_address),
    }


def _submitting(name: str, alias: str, handler: Callable[..., Any], *params: Param) -> Method:
    return Method(name, handler, aliases=(alias,), params=params, access=Access.BROKER, submits=True)


_AFFILIATE: Final = Param("affiliate_account_id", ACCOUNT)

METHODS: Final = (
    _submitting(
        "broker_register_affiliate",
        "broker_registerAffiliate",
        register_affiliate,
        Param("withdrawal_address", ADDRESS20),
    ),
    _submitting(
        "broker_deregister_affiliate", "broker_deregisterAffiliate", deregister_affiliate, _AFFILIATE
    ),
    _submitting(
        "broker_affiliate_withdrawal_request",
        "broker_affiliateWithdrawalRequest",
        affiliate_withdrawal_request,
        _AFFILIATE,
    ),
    _submitting(
        "broker_set_vault_swap_minimum_broker_fee",
        "broker_setVaultSwapMinimumBrokerFee",
        set_minimum_fee,
        Param("minimum_fee_bps", U16),
    ),
    _submitting(
        "broker_bind_fee_withdrawal_address",
        "broker_bindFeeWithdrawalAddress",
        bind_address,
        Param("address", ADDRESS20),
    ),
    _submitting(
        "broker_mark_transaction_for_rejection",
        "broker_MarkTransactionForRejection",
        mark_for_rejection,
        Param("tx_id", TX_ID),
    ),
    _submitting(
        "broker_request_account_creation_deposit_address",
        "broker_requestAccountCreationDepositAddress",
        request_account_channel,
        Param("signature_data", SIGNATURE),
        Param(
            "transaction_metadata",
            BOUNDS,
        ),
        Param("asset", ASSET),
        Param("boost_fee", U16, optional=True),
        Param("refund_address", TEXT),
    ),
    for_own_account(views.AFFILIATES, "broker_get_affiliates", "broker_getAffiliates"),
    for_own_account(
        vault_swaps.ENCODE,
        "broker_request_swap_parameter_encoding",
        "broker_requestSwapParameterEncoding",
    ),
    for_own_account(
        vault_swaps.DECODE, "broker_decode_vault_swap_parameter", "broker_DecodeVaultSwapParameter"
    ),
    for_own_account(vault_swaps.CF_PARAMETERS, "broker_encode_cf_parameters", "broker_EncodeCfParameters"),
    for_own_account_or_all(
        views.OPEN_CHANNELS, "broker_get_open_deposit_channels", "broker_getOpenDepositChannels"
    ),
    at_best_block(
        views.ALL_OPEN_CHANNELS, "broker_all_open_deposit_channels", "broker_allOpenDepositChannels"
    ),
    at_best_block(views.VAULT_ADDRESSES, "broker_get_vault_addresses", "broker_getVaultAddresses"),
)
