"""Requests and answers of a whole state, piece by piece: protocol `state/2`.

Substrate, network sync, `api.v1.proto`. A request names the block and the key *after* which the answer
begins; within a child trie, that trie's key in the top trie and the last key in it. We request a compact
proof; the other form, entries without proof, is decoded and encoded too.
"""

from __future__ import annotations

from dataclasses import dataclass

from cfnode.core.p2p.protobuf import Message, bytes_field, uint_field
from cfnode.core.trie import decode_proof, encode_proof
from cfnode.core.wire.errors import WireError, reading

__all__ = [
    "MAX_STATE_KEY_BYTES",
    "MAX_STATE_PROOF_BYTES",
    "SUFFIX",
    "StateEntries",
    "StateRequest",
    "StateResponse",
]

SUFFIX = "state/2"

MAX_STATE_PROOF_BYTES = 2 << 20
"""Bytes of proof after which a server ends its answer; a single large value may exceed them."""

MAX_STATE_KEY_BYTES = 64 * 1024
"""Bytes of a key in a request."""

_BLOCK, _START, _NO_PROOF = 1, 2, 3
_ENTRIES, _PROOF = 1, 2
_ROOT, _ENTRY, _COMPLETE = 1, 2, 3
_KEY, _VALUE = 1, 2


@dataclass(frozen=True, slots=True)
class StateRequest:
    """A request of a part of the state after `block`.

    `start` is the position before it: nothing, a key of the top trie, or a child trie's key in the top trie
    and a key in it.
    """

    block: bytes
    start: tuple[bytes, ...] = ()
    no_proof: bool = False

    def encode(self) -> bytes:
        """Return the protobuf of the request."""
        start = b"".join(bytes_field(_START, key) for key in self.start)
        return bytes_field(_BLOCK, self.block) + start + (uint_field(_NO_PROOF, 1) if self.no_proof else b"")

    @classmethod
    def decode(cls, data: bytes) -> StateRequest:
        """Return the request in these bytes; raise WireError."""
        with reading("state request"):
            message = Message.decode(data, max_fields=16)
            block, start = message.data(_BLOCK), tuple(message.repeated(_START))
            if block is None or len(block) != 32:
                raise WireError("state request: it must name a block by a hash of 32 bytes")
            if len(start) > 2 or any(len(key) > MAX_STATE_KEY_BYTES for key in start):
                raise WireError(
                    f"state request: {len(start)} start keys, or one above {MAX_STATE_KEY_BYTES} bytes"
                )
            return cls(block, start, bool(message.uint(_NO_PROOF)))


@dataclass(frozen=True, slots=True)
class StateEntries:
    """Keys and values of one trie without proof; `root` is empty for the top trie."""

    root: bytes
    entries: tuple[tuple[bytes, bytes], ...]
    complete: bool

    def encode(self) -> bytes:
        """Return the protobuf of root, entries, and whether they are complete."""
        pairs = (bytes_field(_KEY, key) + bytes_field(_VALUE, value) for key, value in self.entries)
        rows = b"".join(bytes_field(_ENTRY, pair) for pair in pairs)
        return bytes_field(_ROOT, self.root) + rows + uint_field(_COMPLETE, int(self.complete))

    @classmethod
    def decode(cls, data: bytes) -> StateEntries:
        """Read the protobuf of an answer's entries. Raises WireError."""
        message = Message.decode(data)
        pairs = [Message.decode(item, max_fields=8) for item in message.repeated(_ENTRY)]
        entries = tuple((pair.data(_KEY) or b"", pair.data(_VALUE) or b"") for pair in pairs)
        return cls(message.data(_ROOT) or b"", entries, bool(message.uint(_COMPLETE)))


@dataclass(frozen=True, slots=True)
class StateResponse:
    """An answer with either entries, or the items of a compact proof."""

    entries: tuple[StateEntries, ...] = ()
    proof: tuple[bytes, ...] = ()

    def encode(self) -> bytes:
        """Return the protobuf of entries and proof."""
        parts = b"".join(bytes_field(_ENTRIES, part.encode()) for part in self.entries)
        return parts + (bytes_field(_PROOF, encode_proof(self.proof)) if self.proof else b"")

    @classmethod
    def decode(cls, data: bytes) -> StateResponse:
        """Return the answer in these bytes; raise WireError."""
        with reading("state answer"):
            message = Message.decode(data)
            proof = message.data(_PROOF)
            entries = tuple(StateEntries.decode(item) for item in message.repeated(_ENTRIES))
            return cls(entries, tuple(decode_proof(proof)) if proof else ())
