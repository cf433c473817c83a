"""What an earlier run was led to is given up when two peers prove another chain, and not before."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from cfnode.core.grandpa import AuthoritySet, ScheduledChange
from cfnode.core.header import Header
from cfnode.devchain.authorities import well_known
from cfnode.node.asking.asker import Asker
from cfnode.node.asking.peer_set import PeerSet
from cfnode.node.asking.progress import SyncProgress
from cfnode.node.chain.events import BlocksFinalized
from cfnode.node.sync.service import ChainSync
from cfnode.node.sync.serving.serve import SyncServer
from cfnode.node.sync.warping.authority_set_cache import AuthoritySetCache, TrustedSet
from cfnode.node.sync.warping.cross_check import CrossCheck, contradicts
from cfnode.node.sync.warping.warp import WarpSync
from tests.node.conftest import MakeRig
from tests.node.mini import Rig, tx, voter_set, voters_of
from tests.support.node.net import MemoryNetwork, join
from tests.support.waiting import LIMIT_S

KEYS = well_known(3)
SECOND = {"true": KEYS[1:], "false": KEYS[:1]}


async def chain(make_rig: MakeRig, name: str) -> Rig:
    """Return a chain with two set changes; all have one genesis, "false" hands over to others than "true"."""
    rig = await make_rig(name, authorities=KEYS)
    await rig.block(tx("alice", 0, voters_of(KEYS[:2])), final=True)
    await rig.block(final=True)
    await rig.block(tx("alice", 1, voters_of(SECOND[name])), final=True)
    await rig.block(final=True)
    return rig


def remembered(rig: Rig) -> TrustedSet:
    """Return the last final block and its authorities, as a run on this chain would keep them."""
    header = rig.store.header(rig.chain.finalized.hash)
    assert header is not None
    return TrustedSet(header, voter_set(SECOND[rig.path.name], 2))


class Peers:
    """A node that knows genesis, among peers on different chains."""

    def __init__(self, own: Rig, **peers: Rig) -> None:
        self.network, self.peer_set = MemoryNetwork("client"), PeerSet()
        header = own.store.header(own.chain.genesis_hash)
        assert header is not None
        self.genesis = TrustedSet(header, voter_set(KEYS, 0))
        for name, rig in peers.items():
            self.add(name, rig)

    def add(self, name: str, rig: Rig) -> None:
        """Connect a peer that serves this chain."""
        peer = MemoryNetwork(name)
        SyncServer(peer, rig.chain, rig.store).declare()
        join(self.network, peer)
        self.peer_set.update(name, rig.chain.best.number, rig.chain.best.hash)

    def cross_check(self, memory: TrustedSet) -> CrossCheck:
        """Return the check of a cached set by the peers there are."""
        return CrossCheck(Asker(self.network, self.peer_set), self.genesis, memory)

    async def refute(self, memory: TrustedSet) -> bool:
        """Return whether the peers there are refute it."""
        with trio.move_on_after(30) as scope:  # of a clock that jumps, in each test that calls it
            await self.cross_check(memory).wait_refuted()
        return not scope.cancelled_caught


async def test_two_peers_that_prove_another_chain_refute_the_cached_set(
    make_rig: MakeRig, patient_clock: MockClock
) -> None:
    """Refute a cached set by two peers on another chain; one alone may be a liar."""
    true, false = await chain(make_rig, "true"), await chain(make_rig, "false")
    memory = remembered(false)
    assert await Peers(true, liar=false, one=true, two=true).refute(memory)
    assert not await Peers(true, liar=false, one=true).refute(memory), "one may be a liar"


async def test_a_set_that_the_last_answers_refute_is_not_called_answered(
    make_rig: MakeRig, patient_clock: MockClock
) -> None:
    """Who waits for all answers would import the state of the refuted chain."""
    true, false = await chain(make_rig, "true"), await chain(make_rig, "false")
    check = Peers(true, one=true, two=true).cross_check(remembered(false))
    imported = trio.Event()

    async def import_when_answered() -> None:
        await trio.testing.wait_all_tasks_blocked()  # the peers have been asked
        await check.wait_answered()
        imported.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(import_when_answered)
        await check.wait_refuted()
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert not imported.is_set()


async def test_a_true_cached_set_is_not_refuted_by_peers_without_history_or_on_another_chain(
    make_rig: MakeRig, patient_clock: MockClock
) -> None:
    """Keep a true cached set among peers without history and one on another chain."""
    true, false = await chain(make_rig, "true"), await chain(make_rig, "false")
    young = await make_rig("young", authorities=KEYS)
    await young.block()
    peers = Peers(true, honest=true, young=young, young_too=young, liar=false)
    assert not await peers.refute(remembered(true))


async def test_a_peer_that_connects_later_is_asked_too(make_rig: MakeRig, patient_clock: MockClock) -> None:
    """Ask a peer that connects later as well."""
    true, false = await chain(make_rig, "true"), await chain(make_rig, "false")
    peers = Peers(true, liar=false)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_later, peers, true)
        assert await peers.refute(remembered(false))


async def test_peers_that_refuted_the_cached_set_are_asked_first(
    make_rig: MakeRig, patient_clock: MockClock
) -> None:
    """The proofs of both chains hold, and chance would choose: ten times."""
    true, false = await chain(make_rig, "true"), await chain(make_rig, "false")
    for _ in range(10):
        peers = Peers(true, liar=false, one=true)
        warp = WarpSync(Asker(peers.network, peers.peer_set), peers.genesis, None, SyncProgress())
        await warp.drop_cache(ask_first=frozenset({"one"}))
        with trio.fail_after(30):
            proven = await warp.run()
        assert proven.header.hash == true.chain.finalized.hash


async def _later(peers: Peers, rig: Rig) -> None:
    for name in ("one", "two"):
        await trio.sleep(5)
        peers.add(name, rig)


def header(number: int, change: bool = False, mark: int = 0) -> Header:
    """Return a header, with a change of authorities if asked for."""
    digest = (ScheduledChange(((bytes(32), 1),)).item(),) if change else ()
    return Header(bytes([mark]) * 32, number, bytes(32), bytes(32), digest)


SET_5, SET_5_OTHER = AuthoritySet(5, ((bytes(32), 1),)), AuthoritySet(5, ((b"\1" * 32, 1),))
SET_4, SET_6 = AuthoritySet(4, ((bytes(32), 1),)), AuthoritySet(6, ((bytes(32), 1),))


@pytest.mark.parametrize(
    ("passed", "refuted"),
    [
        (TrustedSet(header(100), SET_5), False),
        (TrustedSet(header(100, mark=1), SET_5), True),
        (TrustedSet(header(90, change=True), SET_5), False),
        (TrustedSet(header(90, change=True), SET_5_OTHER), True),
        (TrustedSet(header(110, change=True), SET_5), True),
        (TrustedSet(header(110), SET_5), False),
        (TrustedSet(header(110, change=True), SET_6), False),
        (TrustedSet(header(90, change=True), SET_6), True),
        (TrustedSet(header(90, change=True), SET_4), False),
        (TrustedSet(header(110, change=True), SET_4), True),
    ],
)
def test_a_block_of_the_same_chain_contradicts_nothing(passed: TrustedSet, refuted: bool) -> None:
    """Contradict a cached set by another block at its height or by a change that it does not have."""
    assert contradicts(TrustedSet(header(100), SET_5), passed) is refuted


async def test_a_node_with_a_false_cached_set_syncs_to_the_true_chain(
    make_rig: MakeRig, tmp_path: Path, caplog: pytest.LogCaptureFixture, patient_clock: MockClock
) -> None:
    """The liar claims the highest block, continues from the cached block and provides its state, too.

    The clock only jumps when nothing is left to do, so on a busy machine no peer seems to be silent.
    """
    true, false = await chain(make_rig, "true"), await chain(make_rig, "false")
    own = await make_rig("own", authorities=KEYS)
    memory = AuthoritySetCache(tmp_path / "sets", own.chain.genesis_hash)
    memory.save(remembered(false))
    genesis = Peers(own).genesis
    network = MemoryNetwork("light")
    light = ChainSync(network, own.chain, own.store, beginning=genesis, set_cache=memory)
    async with trio.open_nursery() as nursery:
        for name, rig in {"liar": false, "one": true, "two": true}.items():
            peer = MemoryNetwork(name)
            nursery.start_soon(ChainSync(peer, rig.chain, rig.store, author=True).run)
            join(network, peer)
        nursery.start_soon(light.run)
        with trio.fail_after(30), own.chain.subscribe() as events:
            await events.__anext__()
        nursery.cancel_scope.cancel()
    assert own.chain.finalized == true.chain.finalized
    assert caplog.text.count("Two peers prove another chain than that of block #4") == 1
    assert "No peer continues" not in caplog.text
    kept = memory.load()
    assert kept is not None
    assert kept.header.hash == true.chain.finalized.hash


async def test_a_dropped_cached_set_is_no_longer_cross_checked(
    make_rig: MakeRig, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No peer continues from the cached block, so the proofs start again: once."""
    true, false = await chain(make_rig, "true"), await chain(make_rig, "false")
    own = await make_rig("own", authorities=KEYS)
    memory = AuthoritySetCache(tmp_path / "sets", own.chain.genesis_hash)
    memory.save(remembered(false))
    network = MemoryNetwork("light")
    light = ChainSync(network, own.chain, own.store, beginning=Peers(own).genesis, set_cache=memory)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(light.run)
        for name in ("one", "two", "three"):
            peer = MemoryNetwork(name)
            nursery.start_soon(ChainSync(peer, true.chain, true.store, author=True).run)
            join(network, peer)
        with trio.fail_after(LIMIT_S), own.chain.subscribe() as events:
            async for event in events:
                if isinstance(event, BlocksFinalized):
                    break
        nursery.cancel_scope.cancel()
    assert own.chain.finalized == true.chain.finalized
    reasons = ("No peer continues from block #4", "Two peers prove another chain")
    assert sum(caplog.text.count(reason) for reason in reasons) == 1, "whichever comes first"
    assert memory.load() is not None
