"""Interface to the state of a block, and the changes that a block makes to it.

Readers of chain state (runtime, RPC, proof building) use the `BlockState` protocol, whether the state is in
the database, in overlays of unfinalized blocks or in a storage proof. The result of executing a block is a
`Changes`.

Two names recur. A *child* is the name of a child trie without its `:child_storage:default:` prefix; `b""` is
the top trie. A *path* identifies a trie node by nibbles, one byte (0 to 15) each: those consumed before the
node's own partial key, so the root is `b""`.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from cfnode.core.hashing import twox_128

CODE = b":code"
"""The key of the runtime's code."""
HEAP_PAGES = b":heappages"
"""The key of the runtime's memory limit, if one is set."""
GRANDPA_AUTHORITIES = b":grandpa_authorities"
"""The key of the first finality authorities, in the genesis state: version 1 and the SCALE list."""
TIMESTAMP_NOW = twox_128(b"Timestamp") + twox_128(b"Now")
"""The key of the last block's time: Unix milliseconds, a SCALE u64 (FRAME pallet Timestamp)."""
LAST_SEEN_SLOT = twox_128(b"AuraSlotExtraction") + twox_128(b"LastSeenSlot")
"""The key of the last block's slot, a SCALE u64, which Chainflip's runtimes keep outside of their metadata.

For each slot between that one and a new block's they report the author that missed it."""
CHILD_STORAGE = b":child_storage:"
"""The prefix of keys that belong to child tries: a runtime writes none of them itself."""
CHILD_STORAGE_PREFIX = CHILD_STORAGE + b"default:"
"""The top trie keeps the root of each child trie as the value of this prefix and the child's name."""

TOP = b""
"""The name of the top trie where a child trie's name is expected."""


class BlockState(Protocol):
    """The storage of one block, read only."""

    @property
    def root(self) -> bytes:
        """The state root: 32 bytes."""
        ...

    def get(self, key: bytes, child: bytes = TOP) -> bytes | None:
        """Return the value under `key`, or None."""
        ...

    def next_key(self, key: bytes, child: bytes = TOP) -> bytes | None:
        """Return the first key strictly after `key` in byte order, or None at the end."""
        ...

    def node(self, path: bytes, child: bytes = TOP) -> bytes | None:
        """Return the encoded trie node at `path`, or None.

        None also for a node of less than 32 bytes: it lies in its parent and has no row.
        """
        ...


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """A block's changes to the state, by child name; None is a deletion.

    `storage` maps keys to values, `nodes` paths to encoded nodes; `root` is the new state root.
    """

    storage: dict[bytes, dict[bytes, bytes | None]]
    nodes: dict[bytes, dict[bytes, bytes | None]]
    root: bytes

    def size(self) -> int:
        """Return the number of bytes of keys, values, paths and nodes, by which overlays are bounded."""
        tables = [*self.storage.values(), *self.nodes.values()]
        return sum(len(key) + len(value or b"") for table in tables for key, value in table.items())
