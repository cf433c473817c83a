"""A chain small enough to see through: its runtime in a page, run in this process, over the real store.

An extrinsic is `84 ‖ account (32) ‖ nonce u32 ‖ priority u64 ‖ life u64 ‖ operation`, where the operation is
`put key=value`, `voters <SCALE authorities>` or nothing; inherents begin with 04.
Accounts that begin with "poor" cannot pay, with "odd" have their own tags.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import trio

from cfnode.core.grandpa import (
    ENGINE,
    AuthoritySet,
    ScheduledChange,
    encode_authorities,
    read_authorities,
)
from cfnode.core.hashing import blake2_256, twox_128
from cfnode.core.header import DigestItem, DigestKind, Header
from cfnode.core.keys import Keypair
from cfnode.core.scale import ByteCursor, encode_compact
from cfnode.core.state import Changes
from cfnode.core.trie import EMPTY_ROOT, MissingNode, ProofState, encode_proof, ordered_root, root
from cfnode.devchain.author import Author
from cfnode.devchain.authorities import AuthorityKeys, well_known
from cfnode.devchain.clock import ChainClock
from cfnode.devchain.voter import Voter
from cfnode.node.chain.call_cache import CallCache
from cfnode.node.chain.chain import NodeChain
from cfnode.node.pool.pool import READY_LIMIT, TransactionPool
from cfnode.node.pool.transaction import Limit
from cfnode.runtime.blocks import BuildOrder, build_block, execute_block
from cfnode.runtime.calls import BlockSource, BuiltBlock, Missing, ProofSource, RuntimeTrap, UnknownFunction
from cfnode.runtime.journal import Journal
from cfnode.runtime.proofs import prove_call
from cfnode.store import Overlay, Pruning, Store

DIGEST = twox_128(b"System") + twox_128(b"Digest")
INVALID = {"Call": 0, "Payment": 1, "Future": 2, "Stale": 3, "BadProof": 4, "ExhaustsResources": 6}
NAMES = ("alice", "bob", "carol", "dave", "eve", "poor", "odd")


def account(name: str) -> bytes:
    """Return the account of a name."""
    return name.encode().ljust(32, b".")


def u32(number: int) -> bytes:
    """Return the number as four bytes, little-endian."""
    return number.to_bytes(4, "little")


def u64(number: int) -> bytes:
    return number.to_bytes(8, "little")


def tx(name: str, nonce: int, operation: bytes = b"", *, priority: int = 1, life: int = 64) -> bytes:
    """Return a signed extrinsic with its length prefix."""
    inner = b"\x84" + account(name) + u32(nonce) + u64(priority) + u64(life) + operation
    return encode_compact(len(inner)) + inner


def put(key: str, value: str) -> bytes:
    """Return the operation that stores a value."""
    return b"put %s=%s" % (key.encode(), value.encode())


class MiniRuntime:
    """The logic of that chain."""

    def __init__(self, spec_version: int = 1) -> None:
        self.spec_version = spec_version

    def version(self) -> bytes:
        names = b"\x10mini\x10mini"
        return names + u32(1) + u32(self.spec_version) + u32(1) + b"\0" + u32(1) + b"\1"

    def call(self, function: str, args: bytes, journal: Journal) -> bytes:
        match function:
            case "Core_version":
                return self.version()
            case "AuraApi_authorities":
                return journal.get(b"aura") or b"\0"
            case "GrandpaApi_grandpa_authorities":
                return journal.get(b"voters") or b"\0"
            case "GrandpaApi_current_set_id":
                return journal.get(b"set") or u64(0)
            case "AccountNonceApi_account_nonce":
                return u32(nonce_of(journal, args))
            case "TaggedTransactionQueue_validate_transaction":
                return validate(journal, args[1:-32])
            case "Core_initialize_block":
                return initialize(journal, Header.decode(args))
            case "BlockBuilder_inherent_extrinsics":
                return inherents(args)
            case "BlockBuilder_apply_extrinsic":
                return apply(journal, args)
            case "BlockBuilder_finalize_block":
                return finalize(journal).encode()
            case "Core_execute_block":
                return execute(journal, args)
        raise UnknownFunction(function)


def nonce_of(journal: Journal, who: bytes) -> int:
    return int.from_bytes(journal.get(b"nonce" + who) or b"", "little")


def invalid(reason: str) -> bytes:
    return bytes((1, 0, INVALID[reason]))


def tag(who: bytes, nonce: int) -> bytes:
    return encode_compact(36) + who + u32(nonce)


def validate(journal: Journal, extrinsic: bytes) -> bytes:
    cursor = ByteCursor(extrinsic)
    cursor.count()
    if cursor.u8() != 0x84:
        return bytes((1, 1, 1))
    who, nonce, priority, life = cursor.take(32), cursor.u32(), cursor.u64(), cursor.u64()
    known = nonce_of(journal, who)
    if who.startswith(b"poor"):
        return invalid("Payment")
    if b"trap" in cursor.take(cursor.remaining):
        raise RuntimeTrap("the call cannot be decoded")
    if nonce < known:
        return invalid("Stale")
    requires = b"\4" + tag(who, nonce - 1) if nonce > known else b"\0"
    provides = b"\0" if who.startswith(b"odd") else b"\4" + tag(who, nonce)
    return b"\0" + u64(priority) + requires + provides + u64(life) + b"\1"


def initialize(journal: Journal, header: Header) -> bytes:
    for key, value in ((b"number", u32(header.number)), (b"parent", header.parent_hash)):
        journal.set(key, value)
    journal.set(b"body", b"")
    journal.set(DIGEST, encode_compact(len(header.digest)) + b"".join(i.encode() for i in header.digest))
    return b"\0"


def inherents(args: bytes) -> bytes:
    cursor = ByteCursor(args)
    by_identifier = {cursor.take(8): cursor.bytes() for _ in range(cursor.count())}
    inner = b"\x04" + by_identifier[b"timstap0"] + by_identifier[b"auraslot"]
    return b"\4" + encode_compact(len(inner)) + inner


def apply(journal: Journal, extrinsic: bytes) -> bytes:
    cursor = ByteCursor(extrinsic)
    cursor.count()
    if cursor.u8() == 0x84:
        who, nonce = cursor.take(32), cursor.u32()
        known = nonce_of(journal, who)
        if nonce != known:
            return invalid("Future" if nonce > known else "Stale")
        if who.startswith(b"poor"):
            return invalid("Payment")
        journal.set(b"nonce" + who, u32(nonce + 1))
        operate(journal, cursor.take(cursor.remaining)[16:])
    else:
        journal.set(b"time", cursor.take(8))
    journal.set(b"body", (journal.get(b"body") or b"") + extrinsic)
    return b"\0\0"


def operate(journal: Journal, operation: bytes) -> None:
    name, _, arguments = operation.partition(b" ")
    if name == b"put":
        key, _, value = arguments.partition(b"=")
        journal.set(b"data " + key, value)
    elif name == b"voters":
        journal.set(b"voters", arguments)
        journal.set(b"set", u64(int.from_bytes(journal.get(b"set") or b"", "little") + 1))
        announce(journal, ScheduledChange(read_authorities(ByteCursor(arguments))).item())
    elif name == b"announce":  # what the runtime itself knows nothing of
        announce(journal, DigestItem(DigestKind.CONSENSUS, ENGINE, arguments))


def announce(journal: Journal, item: DigestItem) -> None:
    digest = ByteCursor(journal.get(DIGEST) or b"")
    count = digest.count()
    kept = digest.take(digest.remaining)
    journal.set(DIGEST, encode_compact(count + 1) + kept + item.encode())


def finalize(journal: Journal) -> Header:
    cursor = ByteCursor(journal.get(DIGEST) or b"\0")
    digest = tuple(DigestItem.read(cursor) for _ in range(cursor.count()))
    body = list(split(journal.get(b"body") or b""))
    journal.delete(b"body")
    number = int.from_bytes(journal.get(b"number") or b"", "little")
    return Header(journal.get(b"parent") or b"", number, journal.root(1), ordered_root(body, 0), digest)


def split(data: bytes) -> Iterator[bytes]:
    cursor = ByteCursor(data)
    while cursor.remaining:
        start = cursor.offset
        cursor.take(cursor.count())
        yield data[start : cursor.offset]


def execute(journal: Journal, args: bytes) -> bytes:
    cursor = ByteCursor(args)
    header = Header.read(cursor)
    before = tuple(item for item in header.digest if item.kind.name == "PRE_RUNTIME")
    initialize(journal, Header(header.parent_hash, header.number, bytes(32), bytes(32), before))
    cursor.count()
    for extrinsic in split(cursor.take(cursor.remaining)):
        if apply(journal, extrinsic)[0]:
            raise RuntimeTrap("an extrinsic of the block is not valid")
    if finalize(journal) != header:
        raise RuntimeTrap("the block does not lead to its header")
    return b""


def forget(chain: NodeChain) -> None:
    """Drop what the runtime has answered so far: it has to be asked again."""
    chain._voters = None
    chain.queries._authorities.clear()
    chain.states._calls = CallCache()


class LaterExecution:
    """A block that is executed when its changes are asked for."""

    def __init__(self, executor: LocalExecutor, header: Header, body: list[bytes]) -> None:
        self._executor, self._header, self._body = executor, header, body

    async def changes(self) -> Changes:
        return await self._executor.execute_block(self._header, self._body)

    def abandon(self) -> None:
        pass


class LocalExecutor:
    """The executor's questions, answered at once in this process."""

    started = 1

    def __init__(self, store: Store, runtime: MiniRuntime) -> None:
        self.store = store
        self.runtime = runtime

    async def call(self, at: BlockSource | ProofSource, function: str, args: bytes) -> bytes:
        (output,) = await self.call_all(at, [(function, args)])
        return output

    async def call_all(
        self, at: BlockSource | ProofSource, calls: Sequence[tuple[str, bytes]]
    ) -> list[bytes]:
        await trio.lowlevel.checkpoint()
        if isinstance(at, ProofSource):
            try:
                proven = ProofState(at.root, at.nodes)
                return [self.runtime.call(function, args, Journal(proven)) for function, args in calls]
            except MissingNode as error:
                raise Missing(error.key, error.child) from error
        with self.store.state(at.hash) as state:
            return [self.runtime.call(function, args, Journal(state)) for function, args in calls]

    async def prove_call(self, at: BlockSource, function: str, args: bytes) -> bytes:
        await trio.lowlevel.checkpoint()
        with self.store.state(at.hash) as state:
            return encode_proof(prove_call(self.runtime, state, function, args))

    async def validate(self, at: BlockSource, source: int, extrinsic: bytes) -> bytes:
        args = bytes((source,)) + extrinsic + at.hash
        return await self.call(at, "TaggedTransactionQueue_validate_transaction", args)

    async def dry_run(self, at: BlockSource, extrinsic: bytes) -> bytes:
        return await self.call(at, "BlockBuilder_apply_extrinsic", extrinsic)

    async def execute_block(self, header: Header, body: list[bytes]) -> Changes:
        await trio.lowlevel.checkpoint()
        unsealed = Header(*[getattr(header, name) for name in Header.__slots__[:4]], header.digest[:-1])
        with self.store.state(header.parent_hash) as state:
            return execute_block(self.runtime, Journal(state), unsealed, body)

    def begin_block(self, header: Header, body: list[bytes]) -> LaterExecution:
        return LaterExecution(self, header, body)

    async def build_block(
        self, parent: bytes, digest: Sequence[DigestItem], inherents: Any, candidates: Any, deadline_s: float
    ) -> BuiltBlock:
        await trio.lowlevel.checkpoint()
        above = self.store.header(parent)
        assert above is not None
        order = BuildOrder(parent, above.number + 1, tuple(digest), inherents, candidates, deadline_s)
        with self.store.state(parent) as state:
            return build_block(self.runtime, Journal(state), order, lambda: 0.0)

    async def overlay_added(self, overlay: Overlay) -> None:
        await trio.lowlevel.checkpoint()


class Rig:
    """A mini chain with its pool, author and finality."""

    def __init__(self, path: Path, authorities: Sequence[AuthorityKeys], pruning: Pruning) -> None:
        self.path = path
        self.authorities = authorities
        self.pruning = pruning
        self.runtime = MiniRuntime()
        self.wall_ms = 1_800_000_000_000

    @classmethod
    async def make(
        cls,
        path: Path,
        *,
        authorities: Sequence[AuthorityKeys] | None = None,
        limit: Limit = READY_LIMIT,
        lag: int = 2,
        pruning: Pruning = Pruning(),  # noqa: B008
        clock: ChainClock | None = None,
        executor: Callable[[Store], Any] | None = None,
        **author: Any,
    ) -> Rig:
        """Create a chain with its services."""
        rig = cls(path, authorities or well_known(1), pruning)
        rig.store = Store.open(path, pruning=pruning, sync=False)
        if rig.store.genesis_hash is None:
            rig.store.initialise(*rig.genesis())
        rig.executor = LocalExecutor(rig.store, rig.runtime) if executor is None else executor(rig.store)
        rig.clock = clock or ChainClock.own(wall_ms=lambda: rig.wall_ms)
        rig.chain = await NodeChain.open(rig.store, rig.executor, rig.clock.real_slot)
        rig.pool = TransactionPool(rig.chain, ready_limit=limit, authoring=True)
        voters = {keys.grandpa.public: keys.grandpa for keys in rig.authorities}
        rig.finality = Voter(rig.chain, voters, lag=lag)
        rig.author = Author(
            rig.chain,
            rig.executor,
            rig.pool,
            rig.clock,
            rig.finality,
            {keys.aura.public: keys.aura for keys in rig.authorities},
            **({"seal": "manual"} | author),
        )
        return rig

    store: Store
    executor: Any
    clock: ChainClock
    chain: NodeChain
    pool: TransactionPool
    finality: Voter
    author: Author

    def genesis(self) -> tuple[Header, dict[bytes, bytes]]:
        """Return the genesis header and its state."""
        keys = self.authorities
        voters = tuple((key.grandpa.public, key.weight) for key in keys)
        top = {
            b":code": b"mini",
            b"aura": encode_compact(len(keys)) + b"".join(key.aura.public for key in keys),
            b"voters": encode_authorities(voters),
        }
        return Header(bytes(32), 0, root(top, 1), EMPTY_ROOT), top

    async def block(self, *transactions: bytes, on: bytes | None = None, final: bool = False) -> bytes:
        """Make a block of exactly these; returns its hash."""
        made = await self.author.new_block(on, list(transactions), final)
        assert not made.refused, made.refused
        return made.block.hash

    async def blocks(self, count: int, on: bytes | None = None) -> list[bytes]:
        """Return so many empty blocks, each on the one before."""
        made: list[bytes] = []
        for _ in range(count):
            made.append(await self.block(on=made[-1] if made else on))
        return made

    def read(self, key: str, at: bytes | None = None) -> str | None:
        """Return the value that `put` left at a block."""
        with self.chain.state(at or self.chain.best.hash) as state:
            value = state.get(b"data " + key.encode())
        return None if value is None else value.decode()


def voters_of(keys: Sequence[AuthorityKeys]) -> bytes:
    """Return the operation that changes the voters."""
    return b"voters " + encode_authorities(tuple((key.grandpa.public, key.weight) for key in keys))


def voter_set(keys: Sequence[AuthorityKeys], set_id: int) -> AuthoritySet:
    """Return the authority set of these keys."""
    return AuthoritySet(set_id, tuple((key.grandpa.public, key.weight) for key in keys))


def hash_of(extrinsic: bytes) -> bytes:
    """Return the hash of an extrinsic."""
    return blake2_256(extrinsic)


@contextmanager
def opened(rig: Rig) -> Iterator[Rig]:
    """Yield the chain, and close its store."""
    try:
        yield rig
    finally:
        rig.store.close()


__all__ = ["Keypair", "Rig", "account", "hash_of", "opened", "put", "tx", "u32", "voter_set", "voters_of"]
