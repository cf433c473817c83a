"""Vault swaps on EVM chains (calls of the vault) and on Tron (the note of a transfer).

The vault has four functions: with or without a message, for the native coin or for a token. Tron's vault has
none of them: there the user sends a transfer, and the note of the transaction describes the swap.
"""

from __future__ import annotations

from typing import Any, Final, cast

from cfnode.core.addresses import EncodedAddress
from cfnode.core.assets import CHAINS, ForeignAsset
from cfnode.core.scale import ByteCursor, ScaleError
from cfnode.core.vault_calls import call_data, decode_call, selector

from .terms import (
    SentSwap,
    address_on,
    asset_numbered,
    blob,
    decode_cf_parameters,
    number,
    option,
    take_address,
)

__all__ = [
    "decode_evm_calldata",
    "decode_token_transfer",
    "decode_tron_note",
    "evm_calldata",
    "token_transfer",
    "tron_note",
]

NATIVE_SWAP_FUNCTION: Final = "xSwapNative(uint32,bytes,uint32,bytes)"
TOKEN: Final = "xSwapToken(uint32,bytes,uint32,address,uint256,bytes)"
CALL_NATIVE: Final = "xCallNative(uint32,bytes,uint32,bytes,uint256,bytes)"
CALL_TOKEN: Final = "xCallToken(uint32,bytes,uint32,bytes,uint256,address,uint256,bytes)"
TRANSFER: Final = "transfer(address,uint256)"
_FUNCTIONS: Final = {selector(text): text for text in (NATIVE_SWAP_FUNCTION, TOKEN, CALL_NATIVE, CALL_TOKEN)}
EVM_ADDRESS_BYTES: Final = 20
U128: Final = 2**128


def evm_calldata(
    destination: ForeignAsset,
    address: EncodedAddress,
    parameters: bytes,
    *,
    ccm: dict[str, Any] | None = None,
    token: bytes | None = None,
    amount: int = 0,
) -> bytes:
    """Return the call of the vault that swaps its value, or `amount` of the contract `token`."""
    target = (CHAINS[destination.chain].index, address[1], destination.index)
    message = () if ccm is None else (ccm["message"], ccm["gas_budget"])
    if token is None:
        return call_data(NATIVE_SWAP_FUNCTION if ccm is None else CALL_NATIVE, *target, *message, parameters)
    return call_data(TOKEN if ccm is None else CALL_TOKEN, *target, *message, token, amount, parameters)


def decode_evm_calldata(data: bytes) -> SentSwap:
    """Return the swap in a call of the vault. Raises ScaleError if it is malformed."""
    function = _FUNCTIONS.get(data[:4])
    if function is None:
        raise ScaleError(f"0x{data[:4].hex()} is not a function of the vault that swaps")
    chain, payload, asset, *remaining = cast("list[Any]", decode_call(function, data))
    *middle, parameters = remaining
    message = None
    if function in (CALL_NATIVE, CALL_TOKEN):
        message = middle[0], _below_2_128(middle[1], "the gas budget")
        middle = middle[2:]
    terms = decode_cf_parameters(parameters, EVM_ADDRESS_BYTES, message)
    token, amount = (middle[0], _below_2_128(middle[1], "the amount")) if middle else (None, None)
    return SentSwap(asset_numbered(asset), address_on(chain, payload), terms, token, amount)


def _below_2_128(value: int, what: str) -> int:
    if value >= U128:
        raise ScaleError(f"{what} is more than 128 bits")
    return value


# Tron


def token_transfer(recipient: bytes, amount: int) -> bytes:
    """Return the call of a token's contract that transfers an amount to the vault (`recipient`)."""
    return call_data(TRANSFER, recipient, amount)


def decode_token_transfer(data: bytes) -> tuple[bytes, int]:
    """Return recipient and amount of a token's transfer call. Raises ScaleError for any other call."""
    if data[:4] != selector(TRANSFER):
        raise ScaleError(f"0x{data[:4].hex()} is not a transfer of a token")
    recipient, amount = cast("list[Any]", decode_call(TRANSFER, data))
    return recipient, _below_2_128(amount, "the amount")


def tron_note(
    destination: ForeignAsset, address: EncodedAddress, parameters: bytes, ccm: dict[str, Any] | None = None
) -> bytes:
    """Return the note of a transfer: `(Asset, EncodedAddress, Option<(gas, message)>, cf_parameters)`."""
    variant, payload = address
    message = None if ccm is None else number(ccm["gas_budget"], 16) + blob(ccm["message"])
    return b"".join(
        (
            bytes((destination.index, CHAINS[destination.chain].address_index)),
            blob(payload) if variant == "Btc" else payload,
            option(message),
            blob(parameters),
        )
    )


def decode_tron_note(data: bytes) -> SentSwap:
    """Return the swap in a note. Raises ScaleError if it is malformed."""
    cursor = ByteCursor(data)
    destination = asset_numbered(cursor.u8())
    address = take_address(cursor, _variant(cursor.u8()))
    message = None
    if cursor.boolean():
        budget = cursor.u128()
        message = cursor.bytes(), budget
    parameters = cursor.bytes()
    cursor.finish()
    return SentSwap(destination, address, decode_cf_parameters(parameters, EVM_ADDRESS_BYTES, message))


def _variant(index: int) -> str:
    for chain in CHAINS.values():
        if chain.address_index == index:
            return chain.address
    raise ScaleError(f"unknown kind of address {index}")
