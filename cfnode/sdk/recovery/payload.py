"""Payload of a failed call: the vault call, and its signature by Chainflip's aggregate key.

The node offers the data of a vault call that any account may send: `transferFallback` for a transfer that
failed in a batch, `executexSwapAndCall` for a message that was never delivered. An `allBatch` that was
aborted is such a call, too: the vault checks only the signature. The data is decoded strictly: encoding it
again must give the same bytes. Contracts: chainflip-eth-contracts, Vault.sol.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import base58

from cfnode.core import schnorr
from cfnode.core.foreign import whole_number
from cfnode.core.schnorr import Signature
from cfnode.core.vault_calls import (
    NATIVE_TOKEN,
    ReplayProtection,
    TransferParams,
    VaultCall,
    all_batch,
    execute_x_swap_and_call,
    transfer_fallback,
)
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.recovery.errors import BadPayload
from cfnode.swaps.checksums import checksum_address

__all__ = ["HALF_ORDER", "Payload", "address_text", "checked_account", "read_payload"]

HALF_ORDER = (schnorr.ORDER >> 1) + 1
"""The contract accepts only keys with an x coordinate below this."""

_WORD = 32
_HEAD = 4 + 6 * _WORD  # selector, three words of signature, three of transfer
_MAX_DATA = 64 * 1024
_ACCOUNT_BYTES = 20
_NO_TRANSFER = TransferParams(NATIVE_TOKEN, NATIVE_TOKEN, 0)
_SIGNATURES = {
    call.selector: name
    for name, call in (
        ("allBatch", all_batch([], [], [])),
        ("transferFallback", transfer_fallback(TransferParams(NATIVE_TOKEN, NATIVE_TOKEN, 0))),
        (
            "executexSwapAndCall",
            execute_x_swap_and_call(TransferParams(NATIVE_TOKEN, NATIVE_TOKEN, 0), 0, b"", b""),
        ),
    )
}


def checked_account(account: object, field: str) -> bytes:
    """Return the bytes of an account of an EVM chain; raise ValidationError for anything but 20 bytes.

    The error does not repeat them: they may be a key by mistake.
    """
    if isinstance(account, bytes) and len(account) == _ACCOUNT_BYTES:
        return account
    text = f"{len(account)} bytes" if isinstance(account, bytes) else type(account).__name__
    raise ValidationError.at(field, f"expected the {_ACCOUNT_BYTES} bytes of an account, not {text}")


def address_text(chain: str, account: bytes) -> str:
    """Return a 20-byte account as text of its chain."""
    if chain == "Tron":
        return base58.b58encode_check(b"\x41" + account).decode()
    return checksum_address(account)


@dataclass(frozen=True, slots=True)
class Payload:
    """A signed vault call. Addresses are 20 bytes, `gas_limit` is None if the sender has to estimate it.

    `message` is None for a plain transfer, the bytes for the receiving contract otherwise. A batch has all
    its `transfers`, and `transfer` is one of them: with `is_chosen` that of the owner that was searched for,
    else the first. `is_offered` is False for a call that the State Chain does not list as failed, and that an
    event or a service contains.
    """

    chain: str
    broadcast_id: int
    chain_id: int
    vault: bytes
    data: bytes
    function: str
    transfer: TransferParams
    nonce: int
    signature: Signature
    gas_limit: int | None
    source_chain: int | None = None
    source_address: bytes = b""
    message: bytes | None = None
    deploys: tuple[tuple[int, bytes], ...] = ()
    fetches: tuple[tuple[bytes, bytes], ...] = ()
    transfers: tuple[TransferParams, ...] = ()
    is_offered: bool = True
    is_chosen: bool = False

    @property
    def is_batch(self) -> bool:
        """Whether the call is a batch of transfers."""
        return self.function == "allBatch"

    @property
    def is_whole_batch(self) -> bool:
        """Whether the call is a batch of which no transfer was searched for: all receivers count alike."""
        return self.is_batch and not self.is_chosen and len(self.transfers) > 1

    @property
    def parts(self) -> tuple[Payload, ...]:
        """The call once for each transfer that counts: those of a whole batch, else the one."""
        if not self.is_whole_batch:
            return (self,)
        return tuple(replace(self, transfer=transfer, is_chosen=True) for transfer in self.transfers)

    @property
    def whole(self) -> Payload:
        """The call without a choice of one of its transfers."""
        return replace(self, transfer=self.transfers[0], is_chosen=False) if self.is_batch else self

    @property
    def is_native(self) -> bool:
        """Whether the call pays the chain's own coin, not a token."""
        return self.transfer.token == NATIVE_TOKEN

    @property
    def token_text(self) -> str:
        """The token's address as text of its chain."""
        return address_text(self.chain, self.transfer.token)

    @property
    def recipient_text(self) -> str:
        """The receiver's address as text of its chain."""
        return address_text(self.chain, self.transfer.recipient)

    @property
    def call(self) -> VaultCall:
        """The call without its signature."""
        if self.is_batch:
            return all_batch(self.deploys, self.fetches, self.transfers)
        if self.message is None:
            return transfer_fallback(self.transfer)
        return execute_x_swap_and_call(
            self.transfer, self.source_chain or 0, self.source_address, self.message
        )

    def signed_hash(self, key_manager: bytes) -> bytes:
        """Return the signed hash, 32 bytes, for a key manager contract (20 bytes)."""
        return self.call.message_hash(ReplayProtection(self.nonce, self.chain_id, key_manager, self.vault))

    def is_signed_by(self, key: bytes, key_manager: bytes) -> bool:
        """Return whether the contract would accept the signature under an aggregate key.

        `key` is compressed, 33 bytes.
        """
        if len(key) != 33 or int.from_bytes(key[1:], "big") >= HALF_ORDER:
            return False
        return schnorr.verify(key, self.signed_hash(key_manager), self.signature)


def read_payload(chain: str, broadcast_id: int, document: Mapping[str, Any], chain_id: int | None) -> Payload:
    """Return the payload of a `cf_failed_call_…` answer; raise BadPayload with the fault.

    `chain_id` is for Tron, whose payloads have none.
    """
    try:
        data = _data(document)
        vault = _hex(document["contract"])
        payload_chain_id = document.get("chain_id", chain_id)
        limit = document.get("gas_limit")
        gas_limit = None if limit is None else whole_number(limit)
        if len(vault) != 20 or not isinstance(payload_chain_id, int) or len(data) > _MAX_DATA:
            raise ValueError("no contract address or no chain id")
        return _decoded(chain, broadcast_id, payload_chain_id, vault, data, gas_limit)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise BadPayload(f"the payload of {chain} broadcast {broadcast_id} is malformed: {error}") from None


def _data(document: Mapping[str, Any]) -> bytes:
    data = _hex(document["data"])
    if isinstance(text := document.get("function_selector"), list):
        from cfnode.core.hashing import keccak_256

        selector = keccak_256(bytes(text))[:4]
        return data if data[:4] == selector else selector + data
    return data


def _hex(text: Any) -> bytes:
    if not isinstance(text, str):
        raise TypeError(f"{text!r:.40} is not hex text")
    return bytes.fromhex(text.removeprefix("0x"))


def _decoded(
    chain: str, broadcast_id: int, chain_id: int, vault: bytes, data: bytes, gas_limit: int | None
) -> Payload:
    function = _SIGNATURES.get(data[:4])
    if function is None or len(data) < _HEAD:
        raise ValueError(f"it calls a function with the selector {data[:4].hex() or 'none'}")
    sig, nonce, address = (_word(data, index) for index in range(3))
    payload = Payload(
        chain,
        broadcast_id,
        chain_id,
        vault,
        data,
        function,
        _NO_TRANSFER,
        _number(nonce),
        Signature(sig, _address(address)),
        gas_limit,
    )
    payload = replace(payload, **_arguments(function, data))
    if payload.call.data(payload.nonce, payload.signature) != data:
        raise ValueError("its encoding differs from that of the contract's compiler")
    return payload


def _arguments(function: str, data: bytes) -> dict[str, Any]:
    """Return the members of a payload that follow from its arguments after the signature."""
    if function == "allBatch":
        deploys = tuple((_number(salt), _address(token)) for salt, token in _array(data, 3, 2))
        fetches = tuple((_address(address), _address(token)) for address, token in _array(data, 4, 2))
        transfers = tuple(_transfer(*words) for words in _array(data, 5, 3))
        if not transfers:
            raise ValueError("it is a batch without transfers")
        return {"deploys": deploys, "fetches": fetches, "transfers": transfers, "transfer": transfers[0]}
    members: dict[str, Any] = {"transfer": _transfer(*(_word(data, index) for index in range(3, 6)))}
    if function == "executexSwapAndCall":
        members |= {
            "source_chain": _number(_word(data, 6)),
            "source_address": _tail(data, 7),
            "message": _tail(data, 8),
        }
    return members


def _transfer(token: bytes, recipient: bytes, amount: bytes) -> TransferParams:
    return TransferParams(_address(token), _address(recipient), _number(amount))


def _array(data: bytes, index: int, width: int) -> list[list[bytes]]:
    """Return the items of an array argument, each `width` words, through its offset."""
    start = 4 + _number(_word(data, index))
    count = _number(data[start : start + _WORD])
    size = width * _WORD
    if count * size > len(data) - start:
        raise ValueError("it is truncated")
    items = [data[start + _WORD + number * size :][:size] for number in range(count)]
    return [[item[at : at + _WORD] for at in range(0, size, _WORD)] for item in items]


def _word(data: bytes, index: int) -> bytes:
    return data[4 + index * _WORD : 4 + (index + 1) * _WORD]


def _number(word: bytes) -> int:
    return int.from_bytes(word, "big")


def _address(word: bytes) -> bytes:
    if any(word[:12]):
        raise ValueError("an address is longer than 20 bytes")
    return word[12:]


def _tail(data: bytes, index: int) -> bytes:
    """Return a `bytes` argument, through its offset."""
    start = 4 + _number(_word(data, index))
    length = _number(data[start : start + _WORD])
    if start + _WORD + length > len(data):
        raise ValueError("it is truncated")
    return data[start + _WORD : start + _WORD + length]
