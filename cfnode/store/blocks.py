"""Tables of blocks: headers, bodies, justifications, the finalized chain, unfinalized and stale blocks.

Headers, bodies (lists of extrinsics, each with its length prefix) and justifications are stored by hash.
Further tables hold: number → hash of the finalized chain; the unfinalized blocks in order; the *stale*
blocks, which lost against a finalized block and stay readable for one more window of bodies; and those stale
blocks whose overlays are *kept*. `ChainMetadata` is one row: a snapshot reads its finalized block and its
windows at once.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from cfnode.core.block import BlockRef
from cfnode.core.engines import GRANDPA
from cfnode.core.header import DigestKind, Header
from cfnode.core.scale import decode_compact
from cfnode.store.versioned import block_suffix

if TYPE_CHECKING:
    from cfnode.store.database import LmdbDatabase, Transaction

Justification: TypeAlias = tuple[bytes, bytes]
"""Engine id (4 bytes) and the encoded justification."""

NO_BLOCK = bytes(32)

_METADATA = struct.Struct(">I32sIIQ32s")
_METADATA_ROW = b"facts"
_encode = msgspec.msgpack.Encoder().encode
_body = msgspec.msgpack.Decoder(list[bytes])
_justifications = msgspec.msgpack.Decoder(list[Justification])

_CHANGE_TAGS = (b"\1", b"\2")  # ConsensusLog::ScheduledChange and ForcedChange of sp_consensus_grandpa


@dataclass(frozen=True, slots=True)
class ChainMetadata:
    """The finalized block of a snapshot, and how far back its states and bodies reach."""

    finalized: BlockRef
    oldest_state: int
    """The first finalized block whose state can be read."""
    oldest_body: int
    """The first finalized block whose body is stored."""
    generation: int
    """A number that increases with each commit that moves states (finality, spilling).

    Readers may then drop overlays.
    """
    newest_justified: bytes
    """The finalized block with the newest justification; zeros before the first."""


class BlockTables:
    """The tables of blocks; every method works in the caller's transaction."""

    def __init__(self, database: LmdbDatabase) -> None:
        self._meta = database.meta
        self._headers = database.table("headers")
        self._bodies = database.table("bodies")
        self._justifications = database.table("justifications")
        self._numbers = database.table("numbers")
        self._unfinalized = database.table("unfinalized")
        self._stale = database.table("stale")
        self._kept = database.table("kept")
        self._set_changes = database.table("set-changes")
        self._periodic = database.table("periodic")

    def metadata(self, txn: Transaction) -> ChainMetadata | None:
        """Return the chain's metadata; None before the store has been initialised."""
        data = txn.get(_METADATA_ROW, db=self._meta)
        if data is None:
            return None
        number, block, oldest_state, oldest_body, generation, justified = _METADATA.unpack(data)
        return ChainMetadata(BlockRef(block, number), oldest_state, oldest_body, generation, justified)

    def put_metadata(self, txn: Transaction, metadata: ChainMetadata) -> None:
        """Write the chain's metadata row."""
        data = _METADATA.pack(
            metadata.finalized.number, metadata.finalized.hash, metadata.oldest_state, metadata.oldest_body,
            metadata.generation, metadata.newest_justified,
        )  # fmt: skip
        txn.put(_METADATA_ROW, data, db=self._meta)

    def genesis_hash(self, txn: Transaction) -> bytes | None:
        """Return the genesis hash, or None in an empty database."""
        return txn.get(b"genesis", db=self._meta)

    def put_genesis(self, txn: Transaction, header: Header) -> None:
        """Write the store's first block: final, without a body."""
        txn.put(b"genesis", header.hash, db=self._meta)
        self.put_block(txn, header, [])
        txn.delete(block_suffix(header.number) + header.hash, db=self._unfinalized)
        txn.put(block_suffix(header.number), header.hash, db=self._numbers)

    def oldest_header(self, txn: Transaction) -> int:
        """Return the number from which on all headers are stored.

        It is that of the genesis block, or of the block whose state was imported.
        """
        return int.from_bytes(txn.get(b"beginning", db=self._meta) or b"", "big")

    def put_oldest_header(self, txn: Transaction, number: int) -> None:
        """Record that no header between the genesis block and this number is stored."""
        txn.put(b"beginning", block_suffix(number), db=self._meta)

    def put_block(self, txn: Transaction, header: Header, body: Sequence[bytes]) -> None:
        """Write a new unfinalized block."""
        block = header.hash
        txn.put(block, block_suffix(header.number) + header.encode(), db=self._headers)
        txn.put(block, _encode(list(body)), db=self._bodies)
        txn.put(block_suffix(header.number) + block, header.parent_hash, db=self._unfinalized)

    def header(self, txn: Transaction, block: bytes) -> Header | None:
        """Return the header of a block, or None."""
        data = txn.get(block, db=self._headers)
        return None if data is None else Header.decode(data[4:])

    def number(self, txn: Transaction, block: bytes) -> int | None:
        """Return the number of a block with a stored header, or None."""
        data = txn.get(block, db=self._headers)
        return None if data is None else int.from_bytes(data[:4], "big")

    def number_and_root(self, txn: Transaction, block: bytes) -> tuple[int, bytes] | None:
        """Return a block's number and state root, which are read from the start of the header."""
        data = txn.get(block, db=self._headers)
        if data is None:
            return None
        _, end = decode_compact(data, 36)
        return int.from_bytes(data[:4], "big"), data[end : end + 32]

    def parent(self, txn: Transaction, block: bytes) -> bytes | None:
        """Return the parent's hash.

        A header begins with it, so the header is not decoded.
        """
        data = txn.get(block, db=self._headers)
        return None if data is None else data[4:36]

    def body(self, txn: Transaction, block: bytes) -> list[bytes] | None:
        """Return the extrinsics of a block, or None."""
        data = txn.get(block, db=self._bodies)
        return None if data is None else _body.decode(data)

    def justifications(self, txn: Transaction, block: bytes) -> list[Justification]:
        """Return the justifications of a block, none for an unknown block."""
        data = txn.get(block, db=self._justifications)
        return [] if data is None else _justifications.decode(data)

    def public_justifications(self, txn: Transaction, block: bytes) -> list[Justification]:
        """Return the justifications of a block that other nodes of the network keep too.

        These are of blocks that change the authority set, and of the first block that became final in each
        period. Empty for any other block.
        """
        if txn.get(block, db=self._periodic) is None:
            number = self.number(txn, block)
            if number is None or not self._changes_set(txn, BlockRef(block, number)):
                return []
        return self.justifications(txn, block)

    def mark_periodic(self, txn: Transaction, block: bytes) -> None:
        """Mark a block as the first of its period to become final."""
        txn.put(block, b"", db=self._periodic)

    def _changes_set(self, txn: Transaction, block: BlockRef) -> bool:
        return txn.get(block_suffix(block.number), db=self._set_changes) == block.hash

    def put_justifications(self, txn: Transaction, block: bytes, added: Sequence[Justification]) -> None:
        """Add justifications; a new one replaces the old one of the same engine."""
        if added:
            justifications = dict(self.justifications(txn, block)) | dict(added)
            txn.put(block, _encode(list(justifications.items())), db=self._justifications)

    def hash_at(self, txn: Transaction, number: int) -> bytes | None:
        """Return the hash of the final block with this number, or None."""
        return txn.get(block_suffix(number), db=self._numbers) if 0 <= number < 1 << 32 else None

    def unfinalized(self, txn: Transaction) -> Iterator[tuple[BlockRef, bytes]]:
        """Yield each unfinalized block and its parent's hash, oldest first."""
        with txn.cursor(self._unfinalized) as cursor:
            for key, parent in cursor:
                yield BlockRef(key[4:], int.from_bytes(key[:4], "big")), parent

    def is_unfinalized(self, txn: Transaction, block: BlockRef) -> bool:
        """Return whether a block is in the table of unfinalized ones."""
        return txn.get(block_suffix(block.number) + block.hash, db=self._unfinalized) is not None

    def set_changes(self, txn: Transaction, after: int) -> Iterator[BlockRef]:
        """Yield the finalized blocks after number `after` that change the authority set, oldest first."""
        with txn.cursor(self._set_changes) as cursor:
            has_entry = cursor.set_range(block_suffix(min(after + 1, 0xFFFFFFFF)))
            while has_entry:
                yield BlockRef(cursor.value(), int.from_bytes(cursor.key(), "big"))
                has_entry = cursor.next()

    def make_final(self, txn: Transaction, block: BlockRef) -> None:
        """Move a block to the final chain; note it if it changes the authorities."""
        txn.delete(block_suffix(block.number) + block.hash, db=self._unfinalized)
        txn.put(block_suffix(block.number), block.hash, append=True, db=self._numbers)
        header = self.header(txn, block.hash)
        if header is not None and changes_authorities(header):
            txn.put(block_suffix(block.number), block.hash, db=self._set_changes)

    def make_stale(self, txn: Transaction, block: BlockRef, finalized: int) -> None:
        """Mark a block that lost against finalized block number `finalized`; it is pruned with that body."""
        txn.delete(block_suffix(block.number) + block.hash, db=self._unfinalized)
        txn.put(block_suffix(finalized) + block.hash, b"", db=self._stale)

    def kept(self, txn: Transaction) -> dict[bytes, int]:
        """Return the lost blocks whose overlays stay.

        The values are the numbers of the final blocks that they forked from.
        """
        with txn.cursor(self._kept) as cursor:
            return {block: int.from_bytes(fork, "big") for block, fork in cursor}

    def fork_of_kept(self, txn: Transaction, block: bytes) -> int | None:
        """Return the number of the final block that a lost block forked from.

        None if the block's overlay does not stay.
        """
        fork = txn.get(block, db=self._kept)
        return None if fork is None else int.from_bytes(fork, "big")

    def keep(self, txn: Transaction, blocks: Mapping[bytes, int]) -> None:
        """Replace the blocks that `kept` returns."""
        for block in self.kept(txn).keys() - blocks.keys():
            txn.delete(block, db=self._kept)
        for block, fork in blocks.items():
            txn.put(block, block_suffix(fork), db=self._kept)

    def prune(self, txn: Transaction, number: int, newest_justified: bytes) -> None:
        """Delete the finalized body at a number, and all of the blocks that lost against it.

        Its justification is deleted too, unless it is the newest one or changes the authority set.
        """
        block = self.hash_at(txn, number)
        if block is not None:
            txn.delete(block, db=self._bodies)
            if block != newest_justified:
                self.prune_justification(txn, BlockRef(block, number))
        self._prune_stale(txn, number)

    def prune_justification(self, txn: Transaction, block: BlockRef) -> None:
        """Delete the justifications of a block, unless warp proofs need them."""
        if not self._changes_set(txn, block):
            txn.delete(block.hash, db=self._justifications)
            txn.delete(block.hash, db=self._periodic)

    def _prune_stale(self, txn: Transaction, number: int) -> None:
        with txn.cursor(self._stale) as cursor:
            has_entry = cursor.set_range(block_suffix(0))
            while has_entry and cursor.key()[:4] <= block_suffix(number):
                block = cursor.key()[4:]
                for table in (self._headers, self._bodies, self._justifications):
                    txn.delete(block, db=table)
                has_entry = cursor.delete() and cursor.key() != b""


def changes_authorities(header: Header) -> bool:
    """Return whether a block signals a change of the GRANDPA authority set.

    Then its justification stays for ever.
    """
    return any(
        item.kind is DigestKind.CONSENSUS and item.engine == GRANDPA and item.data[:1] in _CHANGE_TAGS
        for item in header.digest
    )
