"""Where does a whole state come from: a database, also that of a running node, or a node's JSON-RPC?

Either way it is walked in the order of its keys and never held at once. A database is read in one snapshot; a
node is asked for a page of keys at a time, and then for their values.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, Protocol

from cfnode.cli import client
from cfnode.cli.exits import ExitCode, Failure
from cfnode.core.state import CHILD_STORAGE_PREFIX
from cfnode.store import StateDiscarded, StoreReader
from cfnode.store.base_path import ChainPaths, default_base_path
from cfnode.store.residency import give_back
from cfnode.store.state import StateView

__all__ = ["Block", "Source", "served", "stored"]

PAGE: Final = 1000
"""Keys of one question."""

VALUES: Final = 256
"""Values of one question; where they are too large for one answer, they are asked for one by one."""

GIVE_BACK_AFTER: Final = 50_000
"""Keys after which pages of the database that count as our memory are given back."""


@dataclass(frozen=True, slots=True)
class Block:
    """The block after which the state stands."""

    number: int
    hash: bytes


class Source(Protocol):
    """A state. `pairs` of a child trie, or of the top one (no name) without the roots of the others."""

    def children(self) -> Iterator[bytes]:
        """The names of the child tries."""

    def pairs(self, child: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values, in the order of the keys."""


# --- a database


@contextmanager
def stored(base_path: Path | None, chain_id: str) -> Iterator[tuple[Block, Source]]:
    """The final state of a chain below a base path. Raises StoreError and Failure."""
    paths = ChainPaths(base_path or default_base_path(), chain_id)
    if not paths.database.exists():
        raise Failure(f"{paths.database} is not there: has a node of this chain run with this --base-path?")
    reader = StoreReader.open(paths.database)
    try:
        final = reader.finalized
        with reader.state(final.hash) as view:
            yield Block(final.number, final.hash), _Stored(view, paths.database / "data.mdb")
    except StateDiscarded:
        raise Failure(
            f"the database has no state of its last final block, #{final.number}: the node is still syncing",
            ExitCode.STORE,
        ) from None
    finally:
        reader.close()


@dataclass(frozen=True, slots=True)
class _Stored:
    view: StateView
    file: Path

    def children(self) -> Iterator[bytes]:
        for key in self._keys(b"", CHILD_STORAGE_PREFIX):
            yield key.removeprefix(CHILD_STORAGE_PREFIX)

    def pairs(self, child: bytes) -> Iterator[tuple[bytes, bytes]]:
        for count, key in enumerate(self._keys(child)):
            if child or not key.startswith(CHILD_STORAGE_PREFIX):
                yield key, self.view.get(key, child) or b""
            if count % GIVE_BACK_AFTER == GIVE_BACK_AFTER - 1:
                give_back(self.file)

    def _keys(self, child: bytes, prefix: bytes = b"") -> Iterator[bytes]:
        key = prefix if self.view.get(prefix, child) is not None else self.view.next_key(prefix, child)
        while key is not None and key.startswith(prefix):
            yield key
            key = self.view.next_key(key, child)


# --- a running node


@contextmanager
def served(url: str) -> Iterator[tuple[Block, Source]]:
    """The final state of a running node. Raises Failure."""
    block = client.call(url, "chain_getFinalizedHead", [])
    number = int(client.call(url, "chain_getHeader", [block])["number"], 16)
    yield Block(number, bytes.fromhex(block[2:])), _Served(url, block)


@dataclass(frozen=True, slots=True)
class _Served:
    url: str
    block: str

    def children(self) -> Iterator[bytes]:
        for key in self._keys(b"", _hex(CHILD_STORAGE_PREFIX)):
            yield bytes.fromhex(key[2:]).removeprefix(CHILD_STORAGE_PREFIX)

    def pairs(self, child: bytes) -> Iterator[tuple[bytes, bytes]]:
        keys = self._keys(child)
        while batch := list(islice(keys, VALUES)):
            for key, value in zip(batch, self._values(child, batch), strict=True):
                if child or not key.startswith(_hex(CHILD_STORAGE_PREFIX)):
                    yield bytes.fromhex(key[2:]), bytes.fromhex((value or "0x")[2:])

    def _keys(self, child: bytes, prefix: str = "0x") -> Iterator[str]:
        last = None
        while True:
            if child:
                page = self._ask("childstate_getKeysPaged", _key_of(child), prefix, PAGE, last)
            else:
                page = self._ask("state_getKeysPaged", prefix, PAGE, last)
            yield from page
            if len(page) < PAGE:
                return
            last = page[-1]

    def _values(self, child: bytes, keys: list[str]) -> list[str | None]:
        try:
            if child:
                return list(self._ask("childstate_getStorageEntries", _key_of(child), keys))
            ((_, changes),) = (
                (row["block"], row["changes"]) for row in self._ask("state_queryStorageAt", keys)
            )
            return [value for _, value in changes]
        except client.CallRefused:
            if len(keys) == 1:
                raise
            return [value for key in keys for value in self._values(child, [key])]

    def _ask(self, method: str, *params: Any) -> Any:
        return client.call(self.url, method, [*params, self.block])


def _key_of(child: bytes) -> str:
    return _hex(CHILD_STORAGE_PREFIX + child)


def _hex(data: bytes) -> str:
    return f"0x{data.hex()}"
