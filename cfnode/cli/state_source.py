"""A whole state, read from a database or from a node's JSON-RPC, and its check against the state root.

Either way the state is read in the order of its keys and never held in memory at once. A database is read in
one snapshot, and its node may be running; a node returns a page of keys at a time, and then their values.
`VerifiedPairs` verifies the state root of the block, so a node is trusted only about which block is final.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, Protocol

from cfnode.cli import client
from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.core.foreign import block_number, hex_bytes
from cfnode.core.header import Header
from cfnode.core.safe_text import origin_of, printable
from cfnode.core.scale import encode_compact
from cfnode.core.state import CHILD_STORAGE_PREFIX
from cfnode.core.trie import RootOfSorted, is_child_root
from cfnode.store import StateDiscarded, StoreReader
from cfnode.store.base_path import ChainPaths, default_base_path
from cfnode.store.residency import release_pages
from cfnode.store.state import StateView

__all__ = ["StatePairs", "VerifiedPairs", "served", "stored"]

KEYS_PER_REQUEST: Final = 1000
"""Keys of one request."""

VALUES_PER_REQUEST: Final = 256
"""Values of one request; if they are too large for one answer, they are requested one by one."""

RELEASE_AFTER_KEYS: Final = 50_000
"""Keys after which database pages that count as this process's memory are released."""


STATE_VERSION: Final = 1
"""The state version of all runtimes of this chain."""

Pair = tuple[bytes, bytes]


class StatePairs(Protocol):
    """A state that yields its keys and values in order."""

    def pairs(self, child: bytes) -> Iterator[Pair]:
        """Yield the keys and values of a child trie, or of the top trie (empty name).

        They are in the order of the keys.
        """


class VerifiedPairs:
    """A source whose pairs are verified against the state root of the block."""

    def __init__(self, source: StatePairs, header: Header) -> None:
        self._source, self._header = source, header
        self._children: dict[bytes, bytes] = {}

    def top(self) -> Iterator[Pair]:
        """Yield the pairs of the top trie, without the roots of child tries. Raise Failure at the end."""
        for key, value in self._counted(b"", self._header.state_root):
            if is_child_root(key, value):
                self._children[key.removeprefix(CHILD_STORAGE_PREFIX)] = value
            else:
                yield key, value

    def children(self) -> Iterator[tuple[bytes, Iterator[Pair]]]:
        """Yield the names and pairs of the child tries, after the top trie has been read."""
        for name, root in self._children.items():
            yield name, self._counted(name, root)

    def _counted(self, child: bytes, root: bytes) -> Iterator[Pair]:
        root_of_pairs = RootOfSorted(STATE_VERSION)
        for key, value in self._source.pairs(child):
            try:
                root_of_pairs.add(key, value)
            except ValueError as error:
                text = f"the state is not in the order of its keys: {error}; ask another node"
                raise CommandFailure(text) from None
            yield key, value
        if root_of_pairs.root() != root:
            trie = f"child trie 0x{child.hex()}" if child else "state"
            raise CommandFailure(
                f"the {trie} has the root 0x{root_of_pairs.root().hex()}, but block "
                f"#{self._header.number} (0x{self._header.hash.hex()}) names 0x{root.hex()}; ask another node"
            )


# --- a database


@contextmanager
def stored(base_path: Path | None, chain_id: str) -> Iterator[tuple[Header, StatePairs]]:
    """Yield the final header and state of a chain below a base path. Raise StoreError and Failure."""
    paths = ChainPaths(base_path or default_base_path(), chain_id)
    if not paths.database.exists():
        raise CommandFailure(
            f"{paths.database} does not exist: run a node of this chain with this --base-path first"
        )
    reader = StoreReader.open(paths.database)
    try:
        final = reader.finalized
        header = reader.header(final.hash)
        assert header is not None
        with reader.state(final.hash) as view:
            yield header, _Stored(view, paths.database / "data.mdb")
    except StateDiscarded:
        raise CommandFailure(
            f"the database has no state of its last final block, #{final.number}: the node is still syncing; "
            "wait for it with `cfnode wait --synced`",
            ExitCode.STORE,
        ) from None
    finally:
        reader.close()


@dataclass(frozen=True, slots=True)
class _Stored:
    view: StateView
    file: Path

    def pairs(self, child: bytes) -> Iterator[Pair]:
        for count, key in enumerate(self._keys(child)):
            yield key, self.view.get(key, child) or b""
            if count % RELEASE_AFTER_KEYS == RELEASE_AFTER_KEYS - 1:
                release_pages(self.file)

    def _keys(self, child: bytes) -> Iterator[bytes]:
        key = b"" if self.view.get(b"", child) is not None else self.view.next_key(b"", child)
        while key is not None:
            yield key
            key = self.view.next_key(key, child)


# --- a running node


@contextmanager
def served(url: str, genesis: bytes) -> Iterator[tuple[Header, StatePairs]]:
    """Yield header and state of a running node's last finalized block. Raise Failure."""
    served_genesis = client.call(url, "chain_getBlockHash", [0])
    if served_genesis != _hex(genesis):
        raise CommandFailure(
            f"{origin_of(url)} is a node of another chain: its genesis is {printable(served_genesis)}, not "
            f"{_hex(genesis)}; name a node of this chain"
        )
    block = client.call(url, "chain_getFinalizedHead", [])
    header = _header(client.call(url, "chain_getHeader", [block]))
    if _hex(header.hash) != block:
        raise CommandFailure(
            f"{origin_of(url)} returned a header with the hash {_hex(header.hash)} for block "
            f"{printable(block)}; ask another node"
        )
    yield header, _Served(url, block)


def _header(answer: Any) -> Header:
    """Decode a header in JSON-RPC's format."""
    try:
        parent, state, extrinsics = (
            hex_bytes(answer[name], 32) for name in ("parentHash", "stateRoot", "extrinsicsRoot")
        )
        logs = [hex_bytes(log) for log in answer["digest"]["logs"]]
        number = encode_compact(block_number(answer))
        return Header.decode(b"".join((parent, number, state, extrinsics, encode_compact(len(logs)), *logs)))
    except (TypeError, KeyError, ValueError) as error:
        raise CommandFailure(f"the node returned a malformed header: {error}; ask another node") from None


@dataclass(frozen=True, slots=True)
class _Served:
    url: str
    block: str

    def pairs(self, child: bytes) -> Iterator[Pair]:
        keys = self._keys(child)
        while batch := list(islice(keys, VALUES_PER_REQUEST)):
            for key, value in zip(batch, self._values(child, batch), strict=True):
                with client.reading(self.url):
                    pair = hex_bytes(key), hex_bytes(value or "0x")
                yield pair

    def _keys(self, child: bytes) -> Iterator[str]:
        last = None
        while True:
            if child:
                page = self._ask("childstate_getKeysPaged", _key_of(child), "0x", KEYS_PER_REQUEST, last)
            else:
                page = self._ask("state_getKeysPaged", "0x", KEYS_PER_REQUEST, last)
            if not isinstance(page, list) or len(page) > KEYS_PER_REQUEST or (page and page[-1] == last):
                text = f"{origin_of(self.url)} sent a malformed answer: expected keys. Is it a node?"
                raise client.NodeUnreachable(text, "BAD_ANSWER")
            yield from page
            if len(page) < KEYS_PER_REQUEST:
                return
            last = page[-1]

    def _values(self, child: bytes, keys: list[str]) -> list[str | None]:
        try:
            if child:
                answer = self._ask("childstate_getStorageEntries", _key_of(child), keys)
            else:
                answer = self._ask("state_queryStorageAt", keys)
            with client.reading(self.url):
                values = list(answer) if child else [value for _, value in answer[0]["changes"]]
                if len(values) != len(keys):
                    raise ValueError("another number of values than of keys")
                return values
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
