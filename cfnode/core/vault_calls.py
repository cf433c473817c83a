"""Calls of Chainflip's contracts on EVM chains, and the hash that the aggregate key signs.

The first argument of each function is `SigData(sig, nonce, kTimesGAddress)`; any account may send the call,
only the signature counts. It covers a hash of the other arguments, a nonce, a vault, a chain and a key
manager. The encoding is Solidity's (contract ABI specification, "Formal specification of the encoding").
(chainflip-eth-contracts: contracts/Vault.sol, contracts/KeyManager.sol, contracts/StateChainGateway.sol.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cfnode.core.hashing import keccak_256
from cfnode.core.scale import ScaleError
from cfnode.core.schnorr import Signature

__all__ = [
    "NATIVE_TOKEN",
    "ReplayProtection",
    "TransferParams",
    "VaultCall",
    "all_batch",
    "batch_transfers",
    "call_data",
    "decode_call",
    "execute_x_swap_and_call",
    "register_redemption",
    "selector",
    "set_agg_key",
    "transfer_fallback",
]

NATIVE_TOKEN = b"\xee" * 20
"""The token address of the chain's native coin."""

WORD = 32
_ADDRESS = 20
_SELECTOR, _TRANSFER_WORDS = 4, 3
_TRANSFERS = 5
"""The word of a batch's arguments that says where its transfers begin: three of the signature, two arrays."""
_BITS = {"uint32": 32, "uint256": 256, "address": 160}


@dataclass(frozen=True, slots=True)
class TransferParams:
    """`TransferParams`: token and recipient (20 bytes each), amount in the token's smallest unit."""

    token: bytes
    recipient: bytes
    amount: int

    @property
    def words(self) -> bytes:
        """The three words of the tuple in the ABI encoding, 96 bytes."""
        return _word(self.token) + _word(self.recipient) + _word(self.amount)


@dataclass(frozen=True, slots=True)
class ReplayProtection:
    """The values to which a signature is bound; addresses are 20 bytes."""

    nonce: int
    chain_id: int
    key_manager: bytes
    vault: bytes


@dataclass(frozen=True, slots=True)
class _Dynamic:
    """An argument whose head is an offset: its encoding in the tail."""

    data: bytes


Argument = bytes | _Dynamic


@dataclass(frozen=True, slots=True)
class VaultCall:
    """A function of the vault, by the text of its type, and its arguments without the signature."""

    signature: str
    arguments: Sequence[Argument]

    @property
    def selector(self) -> bytes:
        """The first four bytes of the call's data."""
        return selector(self.signature)

    def message_hash(self, protection: ReplayProtection) -> bytes:
        """Return the hash (32 bytes) that the aggregate key signs."""
        call = keccak_256(_encode([self.selector.ljust(WORD, b"\0"), *self.arguments]))
        bound: tuple[int | bytes, ...] = (
            protection.nonce,
            protection.vault,
            protection.chain_id,
            protection.key_manager,
        )
        return keccak_256(call + b"".join(map(_word, bound)))

    def data(self, nonce: int, signature: Signature) -> bytes:
        """Return the data of the call with its signature."""
        signed = _word(int.from_bytes(signature.s, "big")) + _word(nonce) + _word(signature.k_times_g_address)
        return self.selector + _encode([signed, *self.arguments])


def transfer_fallback(transfer: TransferParams) -> VaultCall:
    """Pay what a batch could not pay, with all the gas that the sender gives."""
    arguments = "((uint256,uint256,address),(address,address,uint256))"
    return VaultCall(f"transferFallback{arguments}", [transfer.words])


def all_batch(
    deploys: Sequence[tuple[int, bytes]],
    fetches: Sequence[tuple[bytes, bytes]],
    transfers: Sequence[TransferParams],
) -> VaultCall:
    """Fetch deposits by deploying (channel id, token) or calling (contract, token), and pay."""
    arguments = (
        "((uint256,uint256,address),(bytes32,address)[],(address,address)[],(address,address,uint256)[])"
    )
    return VaultCall(
        f"allBatch{arguments}",
        [
            _array([_word(channel_id) + _word(token) for channel_id, token in deploys]),
            _array([_word(contract) + _word(token) for contract, token in fetches]),
            _array([transfer.words for transfer in transfers]),
        ],
    )


def batch_transfers(data: bytes) -> list[TransferParams]:
    """Return the transfers of the data of an `allBatch`; none of any other call. Raises ScaleError."""
    if data[:_SELECTOR] != all_batch((), (), ()).selector:
        return []
    arguments = data[_SELECTOR:]
    start = _read_word(arguments, _TRANSFERS * WORD)
    count, size = _read_word(arguments, start), _TRANSFER_WORDS * WORD
    if count * size > len(arguments):
        raise ScaleError(f"{count} transfers do not fit in a call of {len(data)} bytes")
    return [_transfer(arguments, start + WORD + number * size) for number in range(count)]


def _transfer(data: bytes, offset: int) -> TransferParams:
    token, recipient, amount = (_read_word(data, offset + part * WORD) for part in range(_TRANSFER_WORDS))
    if (token | recipient) >> _BITS["address"]:
        raise ScaleError("a word of the call does not fit in its type address")
    return TransferParams(token.to_bytes(_ADDRESS, "big"), recipient.to_bytes(_ADDRESS, "big"), amount)


def execute_x_swap_and_call(
    transfer: TransferParams, source_chain: int, source_address: bytes, message: bytes
) -> VaultCall:
    """Pay a contract and give it a message."""
    arguments = "((uint256,uint256,address),(address,address,uint256),uint32,bytes,bytes)"
    return VaultCall(
        f"executexSwapAndCall{arguments}",
        [transfer.words, _word(source_chain), _bytes(source_address), _bytes(message)],
    )


def register_redemption(
    account: bytes, amount: int, address: bytes, expiry: int, executor: bytes | None
) -> VaultCall:
    """Let the gateway pay FLIP of an account (32 bytes) out to an address, before a time (Unix seconds).

    Anyone may have it paid out, or only the executor.
    """
    words = (account, amount, address, expiry, executor or bytes(_ADDRESS))
    return VaultCall(
        "registerRedemption((uint256,uint256,address),bytes32,uint256,address,uint48,address)",
        [_word(word) for word in words],
    )


def set_agg_key(x: bytes, *, odd: bool) -> VaultCall:
    """Set another aggregate key (`x`: 32 bytes) in the key manager.

    The current key signs the call, for the key manager itself.
    """
    return VaultCall(
        "setAggKeyWithAggKey((uint256,uint256,address),(uint256,uint8))", [_word(x) + _word(int(odd))]
    )


def call_data(signature: str, *arguments: int | bytes) -> bytes:
    """Return the data of an unsigned call.

    In `signature`, the text of the function's type, `bytes` is dynamic and every other type is one word.
    """
    encoded = [
        _bytes(value) if kind == "bytes" and isinstance(value, bytes) else _word(value)
        for kind, value in zip(_types(signature), arguments, strict=True)
    ]
    return selector(signature) + _encode(encoded)


def selector(signature: str) -> bytes:
    """Return the first four bytes of a call's data, by the text of the function's type."""
    return keccak_256(signature.encode())[:4]


def decode_call(signature: str, data: bytes) -> list[int | bytes]:
    """Return the arguments of a call that `call_data` or a wallet has encoded. Raises ScaleError.

    Words that are too large for their type (an address of 21 bytes) are refused, as by the contract.
    """
    arguments, types = data[len(selector(signature)) :], _types(signature)
    return [_argument(kind, arguments, position * WORD) for position, kind in enumerate(types)]


def _types(signature: str) -> list[str]:
    return signature[signature.index("(") + 1 : -1].split(",")


def _argument(kind: str, data: bytes, offset: int) -> int | bytes:
    word = _read_word(data, offset)
    if kind == "bytes":
        return _slice(data, word + WORD, _read_word(data, word))
    if word >> _BITS[kind]:
        raise ScaleError(f"a word of the call does not fit in its type {kind}")
    return word.to_bytes(_ADDRESS, "big") if kind == "address" else word


def _read_word(data: bytes, offset: int) -> int:
    return int.from_bytes(_slice(data, offset, WORD), "big")


def _slice(data: bytes, offset: int, size: int) -> bytes:
    if offset + size > len(data):
        raise ScaleError(f"the call ends before its arguments: {len(data)} bytes, not {offset + size}")
    return data[offset : offset + size]


def _word(value: int | bytes) -> bytes:
    return value.to_bytes(WORD, "big") if isinstance(value, int) else value.rjust(WORD, b"\0")


def _array(items: Sequence[bytes]) -> _Dynamic:
    return _Dynamic(_word(len(items)) + b"".join(items))


def _bytes(value: bytes) -> _Dynamic:
    return _Dynamic(_word(len(value)) + value + bytes(-len(value) % WORD))


def _encode(arguments: Sequence[Argument]) -> bytes:
    """Return the ABI encoding of arguments: heads, then tails; offsets count from the beginning."""
    offset = sum(len(argument) if isinstance(argument, bytes) else WORD for argument in arguments)
    heads, tails = b"", b""
    for argument in arguments:
        if isinstance(argument, bytes):
            heads += argument
        else:
            heads += _word(offset + len(tails))
            tails += argument.data
    return heads + tails
