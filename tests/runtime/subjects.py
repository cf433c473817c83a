"""Chains with different runtimes: the development runtime, a counter in WebAssembly, the real one.

Each comes with its genesis, an extrinsic that it takes, and one that it never will.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cfnode.core.chainspec import RawGenesis, genesis_hash, parse
from cfnode.core.chainspec.authorities import SpecAuthority, with_authorities
from cfnode.core.era import IMMORTAL
from cfnode.core.extrinsic import sign_extrinsic
from cfnode.core.header import Header
from cfnode.core.keys import Keypair
from cfnode.core.scale import ByteCursor
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.core.trie import EMPTY_ROOT, root
from cfnode.devchain.runtime.genesis import dev_genesis
from cfnode.devchain.runtime_choice import runtime_for
from cfnode.node.chain.runtime_info import RuntimeVersion
from cfnode.runtime.genesis_state import GenesisRuntime
from cfnode.store import Pruning, Store
from tests.runtime.wasm import counter

ALICE = Keypair.from_suri("//Alice")
NAMES = ("development", "counter", "berghain")


@dataclass(frozen=True)
class Subject:
    """A chain at its genesis. `good(n)` is the n-th extrinsic of one sender."""

    name: str
    state: dict[bytes, bytes]
    good: Callable[[int], bytes]
    stale: bytes

    @property
    def genesis(self) -> Header:
        """The header of the genesis."""
        return Header(bytes(32), 0, root(self.state, 1), EMPTY_ROOT)

    @contextmanager
    def store(self, path: Path) -> Iterator[Store]:
        """Yield a store that begins with this chain."""
        store = Store.open(path, pruning=Pruning(8, 8), sync=False)
        try:
            store.initialise(self.genesis, self.state)
            yield store
        finally:
            store.close()


def subject(name: str, spec: Callable[[], Path]) -> Subject:
    """Return the chain of this name; `spec` gives the path of the official specification, or skips."""
    match name:
        case "development":
            return signing("development", dev_genesis())
        case "counter":
            state = {b":code": counter.module(), b"old": b"value" * 20}
            return Subject(name, state, lambda n: counter.extrinsic(b"+", n + 1), counter.extrinsic(b"s"))
        case _:
            return signing("berghain", ours(spec()))


def ours(spec: Path) -> dict[bytes, bytes]:
    """Return the genesis state of the official specification with //Alice and //Bob as authorities."""
    parsed = parse(spec.read_bytes(), source=str(spec))
    assert isinstance(parsed.genesis, RawGenesis)
    keys = [SpecAuthority(pair(name).public, pair(name, "ed25519").public) for name in ("//Alice", "//Bob")]
    changed, _ = with_authorities(parsed, metadata_of(GenesisRuntime(parsed.genesis, runtime_for)), keys)
    assert isinstance(changed.genesis, RawGenesis)
    assert genesis_hash(changed) != genesis_hash(parsed)
    return dict(changed.genesis.top)


def pair(suri: str, scheme: str = "sr25519") -> Keypair:
    """Return the key pair of a secret URI."""
    return Keypair.from_suri(suri, scheme)  # type: ignore[arg-type]


def metadata_of(runtime: GenesisRuntime) -> Metadata:
    """Return the metadata that the runtime returns."""
    return decode_metadata(ByteCursor(runtime.call("Metadata_metadata")).bytes())


def signing(name: str, state: dict[bytes, bytes]) -> Subject:
    """Return a chain whose extrinsics are signed by //Alice, who has funds: remarks."""
    runtime = GenesisRuntime(RawGenesis(state), runtime_for)
    metadata, version = metadata_of(runtime), RuntimeVersion.decode(runtime.version())
    genesis = Header(bytes(32), 0, root(state, 1), EMPTY_ROOT).hash

    @cache  # a signature is another one each time
    def signed(nonce: int) -> bytes:
        call = metadata.call_codec.encode(("System", ("remark", {"remark": b"remark %d" % nonce})))
        return sign_extrinsic(
            metadata, call, ALICE, nonce=nonce, era=IMMORTAL, era_hash=genesis, genesis_hash=genesis,
            spec_version=version.spec_version, transaction_version=version.transaction_version,
        )  # fmt: skip

    other = signed(0)
    return Subject(name, state, signed, other[:-1] + bytes([other[-1] ^ 1]))  # a signature for another remark
