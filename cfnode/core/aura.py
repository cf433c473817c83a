"""Block authorship by Aura: slots, the authority of each slot, and the seals of headers.

Time is divided into slots, and the authority at `slot mod n` authors the block of a slot. The header names
the slot in one pre-runtime item; its last item, the seal, signs the hash of the header without that seal. The
authorities are those of the parent's state. Substrate, Aura; Polkadot spec, "Digest".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cfnode.core.engines import AURA as ENGINE
from cfnode.core.header import DigestItem, DigestKind, Header
from cfnode.core.keys import verify
from cfnode.core.scale import ByteCursor, ScaleError

__all__ = [
    "ENGINE",
    "SLOT_MS",
    "AuraError",
    "author_index",
    "authorities_change",
    "keeps_authorities",
    "pre_runtime_item",
    "seal_item",
    "sealed",
    "slot_of",
    "verify_seal",
    "without_seal",
]

SLOT_MS = 6_000
"""Milliseconds of a slot, on this chain."""

_AUTHORITIES_CHANGE = b"\x01"  # the variant of Aura's consensus log


class AuraError(ValueError):
    """A header that breaks the rules of Aura: its slot, its seal, or its new authorities."""


def pre_runtime_item(slot: int) -> DigestItem:
    """Return the item by which an author names the slot."""
    return DigestItem(DigestKind.PRE_RUNTIME, ENGINE, slot.to_bytes(8, "little"))


def seal_item(signature: bytes) -> DigestItem:
    """Return the item with the author's sr25519 signature (64 bytes) over the unsealed header's hash."""
    return DigestItem(DigestKind.SEAL, ENGINE, signature)


def sealed(header: Header, signature: bytes) -> Header:
    """Return the header with its seal as last digest item."""
    return replace(header, digest=(*header.digest, seal_item(signature)))


def slot_of(header: Header) -> int:
    """Return the slot that a header names; raise AuraError unless exactly one item does."""
    slots = [
        item.data for item in header.digest if item.kind is DigestKind.PRE_RUNTIME and item.engine == ENGINE
    ]
    if len(slots) != 1 or len(slots[0]) != 8:
        raise AuraError(
            f"block {header.number}: {len(slots)} Aura slots in the header, expected one of 8 bytes"
        )
    return int.from_bytes(slots[0], "little")


def author_index(slot: int, authorities: int) -> int:
    """Return the index of the authority that authors the block of a slot.

    `authorities` is their number. Raises AuraError if it is 0.
    """
    if authorities < 1:
        raise AuraError("no Aura authority is known")
    return slot % authorities


def without_seal(header: Header) -> tuple[Header, bytes]:
    """Return the header as the runtime executes it, and the seal's signature; raise AuraError."""
    seals = [item for item in header.digest if item.kind is DigestKind.SEAL]
    last = header.digest[-1] if header.digest else None
    if last is None or seals != [last] or last.engine != ENGINE:
        raise AuraError(f"block {header.number}: its last digest item, and no other, must be an Aura seal")
    return replace(header, digest=header.digest[:-1]), last.data


def verify_seal(header: Header, authorities: Sequence[bytes]) -> int:
    """Return the index of the authority that owned the slot and sealed the header.

    `authorities` are the sr25519 keys at the parent's state. Raises AuraError.
    """
    unsealed, signature = without_seal(header)
    index = author_index(slot_of(header), len(authorities))
    if not verify("sr25519", authorities[index], unsealed.hash, signature):
        raise AuraError(
            f"block {header.number}: the seal is not by authority {index} of {len(authorities)},"
            f" 0x{authorities[index].hex()}, which owns slot {slot_of(header)}"
        )
    return index


def authorities_change(header: Header) -> tuple[bytes, ...] | None:
    """Return the authorities from the next block on, if the header announces new ones; raise AuraError."""
    for item in header.digest:
        if (
            item.kind is DigestKind.CONSENSUS
            and item.engine == ENGINE
            and item.data[:1] == _AUTHORITIES_CHANGE
        ):
            return _read_authorities(item.data)
    return None


def keeps_authorities(header: Header) -> bool:
    """Return whether the block's children have the same authorities as the block.

    False where the block sets new code, after which the header does not tell them, or where the header is
    malformed.
    """
    new_code = any(item.kind is DigestKind.RUNTIME_ENVIRONMENT_UPDATED for item in header.digest)
    try:
        return not new_code and authorities_change(header) is None
    except AuraError:
        return False


def _read_authorities(data: bytes) -> tuple[bytes, ...]:
    cursor = ByteCursor(data, 1)
    try:
        authorities = tuple(cursor.take(32) for _ in range(cursor.count(32)))
        cursor.finish()
    except ScaleError as error:
        raise AuraError(f"the list of new Aura authorities is malformed: {error}") from error
    return authorities
