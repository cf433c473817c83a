"""Terms that all vault swaps have, and their SCALE encoding.

The encoding is `VersionedCfParameters`, version 1, which a vault passes on without reading it. The bytes of a
message are not part of it; the further data of a message is at its beginning, and present only with a
message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from cfnode.core.addresses import EncodedAddress
from cfnode.core.assets import ASSETS, CHAINS, ForeignAsset
from cfnode.core.scale import ByteCursor, ScaleError, encode_compact

__all__ = [
    "SentSwap",
    "VaultSwapTerms",
    "address_of",
    "address_on",
    "asset_numbered",
    "blob",
    "cf_parameters",
    "decode_cf_parameters",
    "number",
    "option",
    "pairs",
    "read_pairs",
    "take_address",
    "versioned",
]

PAYLOAD_VERSION: Final = 1
MAX_AFFILIATES: Final = 5
_BY_INDEX: Final = {asset.index: asset for asset in ASSETS.values()}
_ACCOUNT_LENGTH: Final = {
    chain.address: chain.account_bytes for chain in CHAINS.values() if chain.account_bytes is not None
}


@dataclass(frozen=True, slots=True)
class VaultSwapTerms:
    """The terms in the transactions of every chain.

    `refund` and `ccm` as values of `ChannelRefundParameters` and `CcmChannelMetadata`, the refund address as
    the bytes of its chain; fees in basis points; `affiliates` are (short id, basis points).
    """

    refund: dict[str, Any]
    broker: bytes
    broker_fee: int
    boost_fee: int = 0
    ccm: dict[str, Any] | None = None
    dca: dict[str, int] | None = None
    affiliates: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True, slots=True)
class SentSwap:
    """The swap of a transaction to the vault.

    `token` is the contract (or mint) whose `amount` is swapped; without one it is the chain's own coin, and
    `amount` may be None: as much as the transaction carries.
    """

    destination: ForeignAsset
    address: EncodedAddress
    terms: VaultSwapTerms
    token: bytes | None = None
    amount: int | None = None


def cf_parameters(terms: VaultSwapTerms) -> bytes:
    """Return the terms as `VersionedCfParameters`, which the vault passes on without reading it."""
    return b"".join(
        (
            bytes((PAYLOAD_VERSION,)),
            b"" if terms.ccm is None else blob(terms.ccm["ccm_additional_data"]),
            _refund(terms.refund),
            option(None if terms.dca is None else _dca(terms.dca)),
            bytes((terms.boost_fee,)),
            terms.broker + number(terms.broker_fee, 2),
            pairs(terms.affiliates),
        )
    )


def decode_cf_parameters(data: bytes, refund_size: int, message: tuple[bytes, int] | None) -> VaultSwapTerms:
    """Return the terms in `VersionedCfParameters`. Raises ScaleError.

    `refund_size`: bytes of an address of the chain; `message`: the message, which is not part of the data,
    and its gas budget.
    """
    cursor = versioned(data)
    ccm = None
    if message is not None:
        ccm = {"message": message[0], "gas_budget": message[1], "ccm_additional_data": cursor.bytes()}
    refund = {
        "retry_duration": cursor.u32(),
        "refund_address": cursor.take(refund_size),
        "min_price": cursor.uint(32),
        "refund_ccm_metadata": _read_ccm(cursor) if cursor.boolean() else None,
        "max_oracle_price_slippage": cursor.u16() if cursor.boolean() else None,
    }
    dca = None
    if cursor.boolean():
        dca = {"number_of_chunks": cursor.u32(), "chunk_interval": cursor.u32()}
    boost_fee, broker, broker_fee = cursor.u8(), cursor.take(32), cursor.u16()
    affiliates = read_pairs(cursor, MAX_AFFILIATES)
    cursor.finish()
    return VaultSwapTerms(refund, broker, broker_fee, boost_fee, ccm, dca, affiliates)


def _refund(refund: dict[str, Any]) -> bytes:
    ccm, slippage = refund["refund_ccm_metadata"], refund["max_oracle_price_slippage"]
    return b"".join(
        (
            number(refund["retry_duration"], 4),
            refund["refund_address"],
            number(refund["min_price"], 32),
            option(None if ccm is None else _ccm(ccm)),
            option(None if slippage is None else number(slippage, 2)),
        )
    )


def _ccm(ccm: dict[str, Any]) -> bytes:
    return blob(ccm["message"]) + number(ccm["gas_budget"], 16) + blob(ccm["ccm_additional_data"])


def _read_ccm(cursor: ByteCursor) -> dict[str, Any]:
    message, budget = cursor.bytes(), cursor.u128()
    return {"message": message, "gas_budget": budget, "ccm_additional_data": cursor.bytes()}


def _dca(dca: dict[str, int]) -> bytes:
    return number(dca["number_of_chunks"], 4) + number(dca["chunk_interval"], 4)


# Common parts of the chains' own layouts


def versioned(data: bytes) -> ByteCursor:
    """Return a cursor at the bytes after the version. Raises ScaleError for another version than 1."""
    cursor = ByteCursor(data)
    version = cursor.u8()
    if version != PAYLOAD_VERSION:
        raise ScaleError(f"the payload begins with version {version}: only {PAYLOAD_VERSION} is known")
    return cursor


def asset_numbered(index: int) -> ForeignAsset:
    """Return the asset with an index. Raises ScaleError for an unknown one."""
    try:
        return _BY_INDEX[index]
    except KeyError:
        raise ScaleError(f"unknown asset {index}") from None


def address_of(variant: str, payload: bytes) -> EncodedAddress:
    """Return an `EncodedAddress` of a variant. Raises ScaleError for a wrong number of bytes."""
    size = _ACCOUNT_LENGTH.get(variant)
    if size is not None and len(payload) != size:
        raise ScaleError(f"an address of kind {variant} has {size} bytes, not {len(payload)}")
    return variant, payload


def take_address(cursor: ByteCursor, variant: str) -> EncodedAddress:
    """Return an address that is encoded without its variant; raise ScaleError.

    It is text for Bitcoin, and a known number of bytes for other chains.
    """
    return variant, cursor.bytes() if variant == "Btc" else cursor.take(_ACCOUNT_LENGTH[variant])


def address_on(chain: int, payload: bytes) -> EncodedAddress:
    """Return an address on the chain with an index. Raises ScaleError."""
    for candidate in CHAINS.values():
        if candidate.index == chain:
            return address_of(candidate.address, payload)
    raise ScaleError(f"unknown chain {chain}")


def number(value: int, size: int) -> bytes:
    """Return an integer as `size` bytes, little-endian."""
    return value.to_bytes(size, "little")


def blob(data: bytes) -> bytes:
    """Return bytes as SCALE `Vec<u8>`."""
    return encode_compact(len(data)) + data


def option(data: bytes | None) -> bytes:
    """Return an `Option` of a value that is encoded already."""
    return b"\0" if data is None else b"\1" + data


def pairs(affiliates: Sequence[tuple[int, int]]) -> bytes:
    """Return the affiliates as SCALE: short id and basis points, one byte each."""
    return encode_compact(len(affiliates)) + b"".join(bytes(pair) for pair in affiliates)


def read_pairs(cursor: ByteCursor, limit: int) -> tuple[tuple[int, int], ...]:
    """Return the affiliates at the cursor. Raises ScaleError if there are more than `limit`."""
    count = cursor.count(2)
    if count > limit:
        raise ScaleError(f"{count} affiliates: a swap on this chain has up to {limit}")
    return tuple((cursor.u8(), cursor.u8()) for _ in range(count))
