"""Who gets what, from which contract, until when? A payload for people, and in forms that wallets take."""

from __future__ import annotations

from typing import Any

import base58

from cfnode.core.assets import Asset, assets_of, gas_asset
from cfnode.sdk.addresses import checksum_address
from cfnode.sdk.assets import contract_address
from cfnode.sdk.networks import NETWORKS
from cfnode.sdk.recovery.evm import UnsignedTransaction
from cfnode.sdk.recovery.node import FailedCall
from cfnode.sdk.recovery.payload import Payload

__all__ = [
    "address_text",
    "amount_text",
    "bare_call",
    "described",
    "explained",
    "for_tron",
    "units",
    "unsigned",
]


def units(amount: int, decimals: int) -> str:
    """Base units as people count them, without trailing zeros."""
    whole, rest = divmod(amount, 10**decimals)
    return f"{whole}.{rest:0{decimals}d}".rstrip("0").rstrip(".") if decimals else str(whole)


def address_text(chain: str, account: bytes) -> str:
    """A 20-byte account in the chain's own writing."""
    if chain == "Tron":
        return base58.b58encode_check(b"\x41" + account).decode()
    return checksum_address(account)


def _asset(payload: Payload) -> Asset | None:
    if payload.is_native:
        return gas_asset(payload.chain)
    token = address_text(payload.chain, payload.transfer.token)
    for network in NETWORKS.values():
        for asset in assets_of(payload.chain):
            if (contract_address(asset, network.tokens) or "").lower() == token.lower():
                return asset
    return None


def amount_text(payload: Payload) -> str:
    """`1.5 ETH`; base units of the token's address where the token is unknown."""
    asset = _asset(payload)
    if asset is None:
        token = address_text(payload.chain, payload.transfer.token)
        return f"{payload.transfer.amount} base units of the token {token}"
    return f"{units(payload.transfer.amount, asset.decimals)} {asset.symbol}"


def explained(failed: FailedCall) -> list[str]:
    """Sentences that say what the payload does."""
    payload = failed.payload
    recipient = address_text(payload.chain, payload.transfer.recipient)
    what = "pays" if payload.message is None else "pays, with a message of its own,"
    lines = [
        f"Broadcast {payload.broadcast_id} on {payload.chain} failed. "
        f"Its replacement {what} {amount_text(payload)} to {recipient}.",
        f"It is a call of {payload.function} of Chainflip's vault "
        f"{address_text(payload.chain, payload.vault)} (chain id {payload.chain_id}), "
        f"signed with nonce {payload.nonce}.",
        "Anybody may send it: whoever does pays the gas, and the receiver above gets the funds.",
    ]
    if payload.message is not None:
        lines.append(f"The receiver is called with {len(payload.message)} bytes of message.")
    return [*lines, _until(failed)]


def _until(failed: FailedCall) -> str:
    now = f"The State Chain is in epoch {failed.epoch}"
    if failed.epoch_ends_at_block is not None:
        now += f", which lasts until about block {failed.epoch_ends_at_block}"
    if failed.last_epoch is None:
        return f"{now}."
    if failed.last_epoch > failed.epoch:
        return f"{now}. The payload will be signed anew in the next one, and offered until that one ends."
    return f"{now}. The payload is offered until this one ends."


def described(failed: FailedCall) -> dict[str, Any]:
    """The same as a JSON object."""
    payload = failed.payload
    asset = _asset(payload)
    return {
        "chain": payload.chain,
        "broadcastId": payload.broadcast_id,
        "function": payload.function,
        "chainId": payload.chain_id,
        "vault": address_text(payload.chain, payload.vault),
        "keyManager": address_text(payload.chain, failed.key_manager),
        "recipient": address_text(payload.chain, payload.transfer.recipient),
        "token": None if payload.is_native else address_text(payload.chain, payload.transfer.token),
        "asset": asset and asset.symbol,
        "amount": str(payload.transfer.amount),
        "nonce": payload.nonce,
        "message": None if payload.message is None else "0x" + payload.message.hex(),
        "signedByCurrentKey": failed.is_signed_by_current_key,
        "epoch": failed.epoch,
        "lastEpoch": failed.last_epoch,
        "data": "0x" + payload.data.hex(),
        "gasLimit": payload.gas_limit,
    }


def for_tron(payload: Payload) -> dict[str, Any]:
    """As TronGrid's `triggersmartcontract` and the wallets built on it take a call."""
    return {
        "contract_address": address_text("Tron", payload.vault),
        "function_selector": payload.call.signature,
        "parameter": payload.data[4:].hex(),
        "call_value": 0,
        "visible": True,
    }


def bare_call(payload: Payload) -> dict[str, Any]:
    """As `eth_sendTransaction` takes it, for a wallet that finds gas, fees and nonce itself."""
    return {
        "chainId": hex(payload.chain_id),
        "to": checksum_address(payload.vault),
        "value": "0x0",
        "data": "0x" + payload.data.hex(),
    }


def unsigned(transaction: UnsignedTransaction) -> dict[str, Any]:
    """A transaction for another wallet: JSON numbers as 0x hex, as `eth_sendTransaction` takes them."""
    return {
        key: hex(value) if isinstance(value, int) else value for key, value in transaction.fields().items()
    }
