"""Long chain in a store: hundreds of set changes, then a state of a million entries.

It is not authored block by block but written into a store: headers that announce the next weighted
authorities, signed by those before, and entries that came over a few blocks. A node with `--sync=full` serves
it like any other.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cfnode.core.chainspec import ChainSpec, RawGenesis, genesis_header, to_json
from cfnode.core.chainspec.authorities import SpecAuthority, with_authorities
from cfnode.core.grandpa import (
    ENGINE,
    AuthoritySet,
    Commit,
    Justification,
    Precommit,
    ScheduledChange,
    encode_authorities,
    sign_payload,
)
from cfnode.core.hashing import twox_128
from cfnode.core.header import DigestItem, Header
from cfnode.core.keys import Keypair
from cfnode.core.scale import ByteCursor
from cfnode.core.scale.metadata import decode_metadata
from cfnode.core.state import TOP, Changes
from cfnode.core.trie import EMPTY_ROOT, update
from cfnode.devchain.authorities import well_known
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.genesis import dev_authorities, dev_chain_spec
from cfnode.node.sync.warping.authority_set_cache import TrustedSet
from cfnode.runtime.genesis_state import GenesisRuntime
from cfnode.runtime.wasm.runtime import wasm_runtime
from cfnode.store import Pruning, Store
from cfnode.store.base_path import ChainPaths, open_database_path

STATE_VERSION = 1
ENTRIES_A_BLOCK = 100_000
VOTERS, SET_ID = (twox_128(b"Grandpa") + twox_128(name) for name in (b"Authorities", b"CurrentSetId"))


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries of a state: `key` + `value` bytes each, under as many prefixes as a chain has maps."""

    count: int
    key: int = 48
    value: int = 52
    maps: int = 40

    @property
    def size(self) -> int:
        """Bytes of keys and values."""
        return self.count * (self.key + self.value)

    def portions(self) -> Iterator[dict[bytes, bytes | None]]:
        """Yield the entries, a block's worth at a time."""
        chance = random.Random(1)
        prefixes = [chance.randbytes(32) for _ in range(self.maps)]
        for begin in range(0, self.count, ENTRIES_A_BLOCK):
            yield {
                chance.choice(prefixes) + chance.randbytes(self.key - 32): chance.randbytes(self.value)
                for _ in range(begin, min(self.count, begin + ENTRIES_A_BLOCK))
            }


class LongChain:
    """A chain in a base path, with its first authorities; `spec_path` is its specification for others."""

    def __init__(self, base: Path, spec: ChainSpec, voters: Sequence[tuple[Keypair, int]]) -> None:
        self.spec = spec
        self._keys = {key.public: key for key, _ in voters}
        self._voters = AuthoritySet(0, tuple((key.public, weight) for key, weight in voters))
        self.spec_path = base / "spec.json"
        self.spec_path.write_text(to_json(self.spec))
        path = open_database_path(ChainPaths(base, self.spec.id))
        self.store = Store.open(path, sync=False, pruning=Pruning(blocks=128, state=1))
        assert isinstance(self.spec.genesis, RawGenesis)
        self.head = genesis_header(self.spec)
        self.store.initialise(self.head, self.spec.genesis.top)
        self.beginning = TrustedSet(self.head, self._voters)

    @classmethod
    def weighted(cls, base: Path, authorities: int = 150) -> LongChain:
        """Create a development chain of so many authorities, whose weights differ."""
        weights = tuple(1 + index % 7 for index in range(authorities))
        spec = dev_chain_spec(DevGenesis(authorities=dev_authorities(authorities, weights)))
        keys = (keyring.grandpa for keyring in well_known(authorities))
        return cls(base, spec, list(zip(keys, weights, strict=True)))

    @classmethod
    def of_equals(cls, base: Path, official: ChainSpec, authorities: int = 150) -> LongChain:
        """Create the chain of a raw WebAssembly specification with so many authorities of equal weight."""
        assert isinstance(official.genesis, RawGenesis)
        encoded = GenesisRuntime(official.genesis, wasm_runtime).call("Metadata_metadata")
        keyrings = well_known(authorities)
        spec_authorities = [
            SpecAuthority(keyring.aura.public, keyring.grandpa.public) for keyring in keyrings
        ]
        spec, _ = with_authorities(official, decode_metadata(ByteCursor(encoded).bytes()), spec_authorities)
        return cls(base, spec, [(keyring.grandpa, 1) for keyring in keyrings])

    def change_sets(self, count: int) -> None:
        """Add so many blocks, each of which hands over to the same keys with other weights."""
        for _ in range(count):
            authorities = self._voters.authorities
            weights = [weight for _, weight in authorities[1:]] + [authorities[0][1]]
            following = tuple((key, weight) for (key, _), weight in zip(authorities, weights, strict=True))
            self._block({}, (ScheduledChange(following).item(),))
            self._voters = self._voters.successor(following)

    def grow(self, count: int) -> None:
        """Add so many blocks in which nothing happens."""
        for _ in range(count):
            self._block({})

    def fill(self, entries: Entries) -> None:
        """Add the entries, over as many blocks as needed; the state then names the present voters."""
        for portion in entries.portions():
            self._block(portion)
        voters = encode_authorities(self._voters.authorities)
        self._block({VOTERS: voters, SET_ID: self._voters.set_id.to_bytes(8, "little")})

    def _block(self, storage: dict[bytes, bytes | None], digest: Sequence[DigestItem] = ()) -> None:
        with self.store.state(self.head.hash) as state:
            trie = update(state.node, storage, STATE_VERSION)
        self.head = Header(self.head.hash, self.head.number + 1, trie.root, EMPTY_ROOT, tuple(digest))
        changes = Changes(storage={TOP: storage}, nodes={TOP: trie.nodes}, root=trie.root)
        self.store.add_block(self.head, [], changes)
        self.store.finalize(self.head.hash, (ENGINE, self._votes().encode()))

    def _votes(self) -> Justification:
        block = self.head
        payload = sign_payload(block.hash, block.number, 1, self._voters.set_id)
        votes = tuple(
            Precommit(block.hash, block.number, key.sign(payload), public)
            for public, key in self._keys.items()
        )
        return Justification(1, Commit(block.hash, block.number, votes), ())
