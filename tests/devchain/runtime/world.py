"""A development chain in memory: blocks are made and executed through the runtime's entry points."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from cfnode.core.aura import SLOT_MS
from cfnode.core.extrinsic import Era, bare_extrinsic, extrinsic_hash, sign_extrinsic
from cfnode.core.header import DigestItem, DigestKind, Header
from cfnode.core.keys import Keypair
from cfnode.core.scale import ByteCursor, encode_compact
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.core.trie import EMPTY_ROOT, TrieUpdate
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.genesis import dev_genesis
from cfnode.devchain.runtime.release_names import RELEASE_NAMES
from cfnode.devchain.runtime.releases import DEFAULT_RELEASE, RELEASES
from cfnode.devchain.runtime.runtime import DevRuntime
from cfnode.runtime.journal import Journal
from tests.runtime.memory_state import MemoryState

FIRST_SLOT = 1_000

ALICE = Keypair.from_suri("//Alice")
BOB = Keypair.from_suri("//Bob")

OLDEST = DevGenesis(release=RELEASE_NAMES[0])
"""A chain of 2.2.3, for rules that ended with 2.2."""


@lru_cache(maxsize=2)
def described(release: str = DEFAULT_RELEASE) -> tuple[DevRuntime, Metadata]:
    """Return a release's runtime and its metadata: between two calls it remembers nothing but its codecs."""
    runtime = DevRuntime(RELEASES[release])
    version = (15).to_bytes(4, "little")
    cursor = ByteCursor(runtime.call("Metadata_metadata_at_version", version, Journal(MemoryState())))
    assert cursor.boolean()
    return runtime, decode_metadata(cursor.bytes())


@lru_cache(maxsize=4)
def genesis(config: DevGenesis | None) -> dict[bytes, bytes]:
    """Return the storage of a genesis; not to be changed."""
    return dev_genesis(config)


class World:
    """The chain's best block, and what a test does with it."""

    def __init__(self, config: DevGenesis | None = None) -> None:
        self.runtime, self.metadata = described((config or DevGenesis()).release)
        self.state = MemoryState(genesis(config))
        self.header = Header(bytes(32), 0, self.state.root, EMPTY_ROOT)
        self.genesis_hash = self.header.hash
        self.hashes = [self.genesis_hash]
        self.bodies: list[list[bytes]] = [[]]
        self.skipped = 0
        """Slots without a block so far: time that has passed."""
        self.verifies = True
        """Whether each block is executed a second time, as an importer does."""
        self.has_trie = True
        """Whether the state's roots are those of its trie, which most tests do not need."""

    def copy(self) -> World:
        """Return a chain of its own that goes on from the same best block."""
        copied = copy(self)
        copied.state, copied.hashes, copied.bodies = self.state.copy(), list(self.hashes), list(self.bodies)
        return copied

    @property
    def journal(self) -> Journal:
        """Return a journal over the best block's state."""
        return Journal(self.state) if self.has_trie else _WithoutTrie(self.state)

    @property
    def next_slot(self) -> int:
        """The slot of the next block."""
        return FIRST_SLOT + self.header.number + 1 + self.skipped

    def api(self, function: str, *arguments: Any) -> Any:
        """Return a runtime API's answer at the best block."""
        method = self.metadata.api_method(function)
        return method.decode(self.runtime.call(function, method.encode_args(*arguments), self.journal))

    def stored(self, pallet: str, item: str, *keys: Any) -> Any:
        """Return a storage item at the best block, by the metadata."""
        storage = self.metadata.storage(pallet, item)
        return storage.decode(self.state.get(storage.key(*keys)))

    def events(self) -> list[tuple[Any, str, str, Any]]:
        """Return (phase, pallet, event, fields) of the best block."""
        events = []
        for record in self.stored("System", "Events"):
            pallet, inner = record["event"]
            name, fields = (inner, None) if isinstance(inner, str) else inner
            events.append((record["phase"], pallet, name, fields))
        return events

    def names(self, index: int | None = None) -> list[str]:
        """Return the events of one extrinsic (or of all), as `Pallet.Event`."""
        wanted = ("ApplyExtrinsic", index)
        return [f"{p}.{n}" for phase, p, n, _ in self.events() if index is None or phase == wanted]

    def call(self, pallet: str, name: str, /, **arguments: Any) -> bytes:
        """Return an encoded call."""
        return self.metadata.call_codec.encode((pallet, (name, arguments) if arguments else name))

    def sign(self, call: bytes, pair: Keypair = ALICE, **options: Any) -> bytes:
        """Return a signed extrinsic for the next block; `options` replace what would be right."""
        right: dict[str, Any] = {
            "nonce": self.api("AccountNonceApi_account_nonce", pair.account),
            "era": Era.mortal(64, self.header.number),
            "era_hash": self.hashes[Era.mortal(64, self.header.number).birth(self.header.number)],
            "genesis_hash": self.genesis_hash,
            "spec_version": self.runtime.composition.release.spec_version,
            "transaction_version": 13,
        }
        return sign_extrinsic(self.metadata, call, pair, **(right | options))

    def begin(self, journal: Journal, slot: int | None = None) -> Header:
        """Begin the next block in a journal."""
        number = self.header.number + 1
        slot = self.next_slot if slot is None else slot
        digest = DigestItem(DigestKind.PRE_RUNTIME, b"aura", slot.to_bytes(8, "little"))
        header = Header(self.header.hash, number, bytes(32), bytes(32), (digest,))
        self.runtime.call("Core_initialize_block", header.encode(), journal)
        return header

    def inherents(self, journal: Journal, slot: int, extra: list[tuple[bytes, bytes]]) -> list[bytes]:
        """Return the inherents of the block at hand, with their length prefixes."""
        data = [
            (b"timstap0", (slot * SLOT_MS).to_bytes(8, "little")),
            (b"auraslot", slot.to_bytes(8, "little")),
        ]
        method = self.metadata.api_method("BlockBuilder_inherent_extrinsics")
        args = method.encode_args({"data": [*data, *extra]})
        made = method.decode(self.runtime.call("BlockBuilder_inherent_extrinsics", args, journal))
        return [encode_compact(len(body)) + body for body in made]

    def apply(self, journal: Journal, extrinsic: bytes) -> Any:
        """Return ("Ok", outcome) or ("Err", validity error) of one extrinsic."""
        output = self.runtime.call("BlockBuilder_apply_extrinsic", extrinsic, journal)
        return self.metadata.api_method("BlockBuilder_apply_extrinsic").decode(output)

    def block(self, *extrinsics: bytes, extra: list[tuple[bytes, bytes]] | None = None) -> list[Any]:
        """Make the next block, re-execute it, and go on from there; returns the outcomes."""
        journal, slot = self.journal, self.next_slot
        self.begin(journal)
        body = [*self.inherents(journal, slot, extra or []), *extrinsics]
        outcomes = [self.apply(journal, extrinsic) for extrinsic in body]
        header = Header.decode(self.runtime.call("BlockBuilder_finalize_block", b"", journal))
        if self.verifies:
            self.execute(header, body)
        self.state.apply(journal.changes())
        assert self.state.root == header.state_root
        self.header = header
        self.hashes.append(header.hash)
        self.bodies.append(body)
        return outcomes[len(body) - len(extrinsics) :]

    def execute(self, header: Header, body: list[bytes]) -> None:
        """Execute a finished block on the best block's state; nothing is kept."""
        block = header.encode() + encode_compact(len(body)) + b"".join(body)
        self.runtime.call("Core_execute_block", block, self.journal)

    def validate(self, extrinsic: bytes, source: str = "External") -> Any:
        """Return the answer to the pool's question about an extrinsic."""
        arguments = (source, body_of(extrinsic), self.header.hash)
        return self.api("TaggedTransactionQueue_validate_transaction", *arguments)


class _WithoutTrie(Journal):
    """A journal whose root is a hash of the one before and of what has changed."""

    def _update_trie(self, child: bytes, values: Mapping[bytes, bytes | None], version: int) -> TrieUpdate:
        digest = blake2b(self._state.root, digest_size=32)
        for key, value in sorted(values.items()):
            digest.update(encode_compact(len(key)) + key)
            digest.update(b"-" if value is None else b"+" + encode_compact(len(value)) + value)
        return TrieUpdate(root=digest.digest(), nodes={})

    def _read(self, key: bytes, child: bytes) -> bytes | None:
        return self._state.get(key, child)


def body_of(extrinsic: bytes) -> bytes:
    """Return an extrinsic without its length prefix."""
    for length in (1, 2, 4):
        if encode_compact(len(extrinsic) - length) == extrinsic[:length]:
            return extrinsic[length:]
    raise AssertionError("no length prefix")


__all__ = ["ALICE", "BOB", "FIRST_SLOT", "OLDEST", "World", "bare_extrinsic", "body_of", "extrinsic_hash"]
