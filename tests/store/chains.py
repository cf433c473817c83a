"""Headers and changes for store tests: small, distinct, and without a runtime behind them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from cfnode.core.hashing import blake2_256
from cfnode.core.header import DigestItem, DigestKind, Header
from cfnode.core.state import Changes
from cfnode.store.genesis import initial_state

Table = Mapping[bytes, Mapping[bytes, bytes | None]]

_serial = count()

SET_CHANGE = DigestItem(DigestKind.CONSENSUS, b"FRNK", b"\1\0\0\0\0\0")


def genesis_of(
    top: Mapping[bytes, bytes], children: Mapping[bytes, Mapping[bytes, bytes]] | None = None
) -> Header:
    """Return the genesis header of these entries."""
    root = initial_state(top, children or {}, 1).root
    return Header(bytes(32), 0, root, bytes(32))


def child_of(parent: Header, *digest: DigestItem) -> Header:
    """Return a header that no other call returns; its state root is a name, not the root of anything."""
    unique = blake2_256(next(_serial).to_bytes(8, "big"))
    return Header(parent.hash, parent.number + 1, unique, bytes(32), digest)


def changes_for(header: Header, storage: Table, nodes: Table | None = None) -> Changes:
    """Return the changes that lead to a header."""
    return Changes(
        storage={child: dict(table) for child, table in storage.items()},
        nodes={child: dict(table) for child, table in (nodes or {}).items()},
        root=header.state_root,
    )
