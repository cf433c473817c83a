"""A chain in the official runtime (spec 100) with our authorities: authored, imported again, and changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cfnode.core.aura import pre_runtime_item, sealed
from cfnode.core.chainspec import RawGenesis
from cfnode.core.era import IMMORTAL
from cfnode.core.extrinsic import sign_extrinsic
from cfnode.core.grandpa import AuthoritySet, read_authorities, scheduled_change
from cfnode.core.header import Header
from cfnode.core.keys import Keypair
from cfnode.core.scale import ByteCursor
from cfnode.runtime.calls import BlockSource
from cfnode.runtime.executor import Executor
from cfnode.runtime.genesis_state import GenesisRuntime
from cfnode.runtime.wasm.runtime import wasm_runtime
from cfnode.store import Store
from tests.runtime.subjects import Subject, metadata_of, subject
from tests.runtime.wasm.voters import change_of_voters

BLOCKS = 200
CHANGE_AT = 100
SLOT = 290_000_000
ALICE, BOB = Keypair.from_suri("//Alice"), Keypair.from_suri("//Bob")
NEW_VOTERS = [(Keypair.from_suri(name, "ed25519").public, 1) for name in ("//Charlie", "//Dave")]


@dataclass
class Grown:
    """A store with an executor, and the head of its chain."""

    executor: Executor
    store: Store
    head: Header

    async def build(self, candidates: list[bytes]) -> tuple[Header, list[bytes]]:
        """Build a block of candidates on the head, and return it with a seal."""
        slot = SLOT + self.head.number + 1
        inherents = [
            (b"timstap0", (slot * 6_000).to_bytes(8, "little")),
            (b"auraslot", slot.to_bytes(8, "little")),
        ]
        built = await self.executor.build_block(
            self.head.hash, [pre_runtime_item(slot)], inherents, candidates, 10.0
        )
        assert not built.refused
        assert len(built.body) == 1 + len(candidates)
        return sealed(built.header, bytes(64)), built.body

    async def take(self, header: Header, body: list[bytes]) -> None:
        """Import a block; what is six blocks deep becomes final."""
        changes = await self.executor.execute_block(header, body)
        assert changes.root == header.state_root
        await self.executor.overlay_added(self.store.add_block(header, body, changes))
        self.head = header
        if header.number % 6 == 0:
            self.store.finalize(header.hash)

    async def voters(self) -> AuthoritySet:
        """Return the authority set by the runtime's own answer."""
        at = BlockSource(self.head.hash)
        voters = read_authorities(ByteCursor(await self.executor.call(at, "GrandpaApi_grandpa_authorities")))
        return AuthoritySet(
            ByteCursor(await self.executor.call(at, "GrandpaApi_current_set_id")).u64(), voters
        )


class Script:
    """Transactions of each block."""

    def __init__(self, chain: Subject) -> None:
        self._genesis = chain.genesis.hash
        self._nonces = {ALICE: 0, BOB: 0}
        self.metadata = metadata_of(GenesisRuntime(RawGenesis(chain.state), wasm_runtime))

    def signed(self, key: Keypair, call: tuple[str, object]) -> bytes:
        """Return a transaction with the account's next nonce."""
        nonce, self._nonces[key] = self._nonces[key], self._nonces[key] + 1
        return sign_extrinsic(
            self.metadata, self.metadata.call_codec.encode(call), key, nonce=nonce, era=IMMORTAL,
            era_hash=self._genesis, genesis_hash=self._genesis, spec_version=100, transaction_version=10,
        )  # fmt: skip

    def at(self, number: int) -> list[bytes]:
        """Return a remark, the same height witnessed by both authorities, and once the change of voters."""
        tracked = {"base_fee": number, "priority_fee": 1}
        state = {"new_chain_state": {"block_height": number, "tracked_data": tracked}}
        witness = {"call": ("EthereumChainTracking", ("update_chain_state", state)), "epoch_index": 1}
        sent = [
            self.signed(ALICE, ("System", ("remark", {"remark": b"block %d" % number}))),
            self.signed(ALICE, ("Witnesser", ("witness_at_epoch", witness))),
            self.signed(BOB, ("Witnesser", ("witness_at_epoch", witness))),
        ]
        if number == CHANGE_AT:
            sent.append(self.signed(ALICE, change_of_voters(self.metadata, number + 1, NEW_VOTERS)))
        return sent


async def test_two_hundred_blocks_give_the_same_roots_twice(tmp_path: Path, berghain_spec: Path) -> None:
    """Reach the same roots as author and follower over 200 blocks with a change of authorities."""
    chain = subject("berghain", lambda: berghain_spec)
    script, changes = Script(chain), []
    with chain.store(tmp_path / "author") as mine, chain.store(tmp_path / "follower") as theirs:
        async with Executor.start(mine) as author, Executor.start(theirs) as follower:
            own, other = Grown(author, mine, chain.genesis), Grown(follower, theirs, chain.genesis)
            before = await own.voters()
            for number in range(1, BLOCKS + 1):
                header, body = await own.build(script.at(number))
                await own.take(header, body)
                await other.take(header, body)
                if scheduled_change(header) is not None:
                    changes.append(number)
            after = await other.voters()
            with theirs.state(other.head.hash) as state:
                tracked = script.metadata.storage("EthereumChainTracking", "CurrentChainState")
                decoded = tracked.decode(state.get(tracked.key()))
    assert own.head == other.head and own.head.number == BLOCKS
    assert decoded["block_height"] == BLOCKS
    assert changes == [CHANGE_AT + 1]
    assert (before.set_id, len(before.authorities)) == (0, 2)
    assert after == AuthoritySet(1, tuple(NEW_VOTERS))
