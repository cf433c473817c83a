"""The `broker_*` methods beside channels and withdrawals: affiliates, rejections, bindings, new accounts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import base58

from cfnode.core.addresses import address_to_text, parse_address
from cfnode.core.assets import ASSETS
from cfnode.rpc.broker import broker_of, withdrawal_json
from cfnode.rpc.broker_params import ASSET, address_on
from cfnode.rpc.cf import vault_swaps, views
from cfnode.rpc.cf.method import own, own_by_choice, same
from cfnode.rpc.cf.params import ADDRESS20, members, one_of
from cfnode.rpc.convert import (
    ACCOUNT,
    TEXT,
    U16,
    U32,
    U64,
    account,
    fixed_hex,
    shown,
    to_hex,
    write_number_or_hex,
)
from cfnode.rpc.table import Access, Method, Param, Reader

if TYPE_CHECKING:
    from cfnode.node.node import Node


# Affiliates


async def register_affiliate(node: Node, withdrawal_address: bytes) -> str:
    """Make an affiliate, paid to an Ethereum address; its account."""
    return account(await broker_of(node).register_affiliate(withdrawal_address))


async def deregister_affiliate(node: Node, affiliate: bytes) -> dict[str, Any]:
    """End an affiliate, whose fees must have been withdrawn."""
    ended = await broker_of(node).deregister_affiliate(affiliate)
    return {"account_id": account(ended.account), "short_id": ended.short_id}


async def affiliate_withdrawal_request(node: Node, affiliate: bytes) -> dict[str, Any]:
    """Pay an affiliate its fees, to the address that it was registered with."""
    return withdrawal_json(await broker_of(node).affiliate_withdrawal_request(affiliate))


async def set_minimum_fee(node: Node, basis_points: int) -> str:
    """Set the least commission of vault swaps that name the broker; the transaction's hash."""
    return to_hex(await broker_of(node).set_vault_swap_minimum_broker_fee(basis_points))


async def bind_address(node: Node, address: bytes) -> str:
    """Bind withdrawals on Ethereum to one address, which cannot be undone; the transaction's hash."""
    return to_hex(await broker_of(node).bind_fee_withdrawal_address(address))


# Rejections


def _pubkey(value: Any) -> bytes:
    return parse_address("Solana", TEXT.read(value))[1]


def _read_solana_id(value: Any) -> tuple[bytes, int]:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError(f"expected an address and a slot, got {shown(value)}")
    return _pubkey(value[0]), U64.read(value[1])


_TX_IDS: Final[Mapping[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(("Bitcoin", "Ethereum", "Arbitrum", "Tron", "Bsc"), fixed_hex(32)),
    "Solana": _read_solana_id,
    "SolanaDepositChannel": _pubkey,
}


def _read_tx_id(value: Any) -> tuple[str, Any]:
    if not isinstance(value, dict) or len(value) != 1:
        raise ValueError(f"expected an object with one chain, got {shown(value)}")
    ((chain, tx_id),) = value.items()
    return chain, _TX_IDS[one_of(*_TX_IDS).read(chain)](tx_id)


async def mark_for_rejection(node: Node, tx_id: tuple[str, Any]) -> None:
    """Have a deposit to one of the broker's channels sent back."""
    chain, value = tx_id
    if chain == "SolanaDepositChannel":
        await broker_of(node).mark_deposit_channel_for_rejection("Solana", value)
    else:
        await broker_of(node).mark_transaction_for_rejection(chain, value)


# Accounts to be


def _base58_of(length: int) -> Callable[[Any], bytes]:
    def read(value: Any) -> bytes:
        data = base58.b58decode(TEXT.read(value))
        if len(data) != length:
            raise ValueError(f"expected {length} bytes of base58, got {len(data)}")
        return data

    return read


_SIGNATURES: Final = {
    "Ethereum": members(
        signature=fixed_hex(65), signer=ADDRESS20.read, sig_type=one_of("PersonalSign", "Eip712").read
    ),
    "Solana": members(signature=_base58_of(64), signer=_pubkey, sig_type=one_of("Domain").read),
}


def _read_signature(value: Any) -> tuple[str, Any]:
    if not isinstance(value, dict) or len(value) != 1:
        raise ValueError(f"expected an object with one chain, got {shown(value)}")
    ((chain, signature),) = value.items()
    return chain, _SIGNATURES[one_of(*_SIGNATURES).read(chain)](signature)


async def request_account_channel(
    node: Node,
    signature: tuple[str, Any],
    metadata: dict[str, int],
    asset: str,
    boost_fee: int | None,
    refund_address: str,
) -> dict[str, Any]:
    """Open a channel whose deposits create and fund the account that signed."""
    channel = await broker_of(node).request_account_creation_deposit_address(
        signature, metadata, asset, boost_fee or 0, address_on(ASSETS[asset].chain, refund_address)
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
        Param("tx_id", Reader("{chain: transaction id}", _read_tx_id)),
    ),
    _submitting(
        "broker_request_account_creation_deposit_address",
        "broker_requestAccountCreationDepositAddress",
        request_account_channel,
        Param("signature_data", Reader("{Ethereum} or {Solana}", _read_signature)),
        Param(
            "transaction_metadata",
            Reader("{nonce, expiry_block}", members(nonce=U32.read, expiry_block=U32.read)),
        ),
        Param("asset", ASSET),
        Param("boost_fee", U16, optional=True),
        Param("refund_address", TEXT),
    ),
    own(views.AFFILIATES, "broker_get_affiliates", "broker_getAffiliates"),
    own(
        vault_swaps.ENCODE,
        "broker_request_swap_parameter_encoding",
        "broker_requestSwapParameterEncoding",
    ),
    own(vault_swaps.DECODE, "broker_decode_vault_swap_parameter", "broker_DecodeVaultSwapParameter"),
    own(vault_swaps.CF_PARAMETERS, "broker_encode_cf_parameters", "broker_EncodeCfParameters"),
    own_by_choice(views.OPEN_CHANNELS, "broker_get_open_deposit_channels", "broker_getOpenDepositChannels"),
    same(views.ALL_OPEN_CHANNELS, "broker_all_open_deposit_channels", "broker_allOpenDepositChannels"),
    same(views.VAULT_ADDRESSES, "broker_get_vault_addresses", "broker_getVaultAddresses"),
)
