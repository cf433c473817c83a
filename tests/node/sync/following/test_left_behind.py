"""No peer has the next block any more: a node downloads a new state, unless it is an archive."""

from __future__ import annotations

import socket
from contextlib import AbstractAsyncContextManager, closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from cfnode.core.block import BlockRef
from cfnode.core.chainspec import to_json
from cfnode.core.keys import Keypair
from cfnode.core.peer_id import peer_id
from cfnode.core.wire.announces import AnnounceHandshake, Roles
from cfnode.core.wire.blocks import BlockResponse
from cfnode.devchain.config import DevConfig
from cfnode.devchain.runtime.genesis import dev_chain_spec
from cfnode.network import backoff, dialing
from cfnode.node.chain.events import BestChanged, BlocksFinalized, Imported
from cfnode.node.config import NetworkConfig, PruningConfig
from cfnode.node.node import Node
from cfnode.node.sync.following import follow
from cfnode.store import ARCHIVE, Pruning, StateDiscarded, UnknownBlock
from tests.node.conftest import MakeRig
from tests.node.live import live_node, reach
from tests.node.mini import put, tx, voters_of
from tests.support.node.net import join, part
from tests.support.node.peers import KEYS, Peer, followed, grow, reached, running
from tests.support.node.steps import in_step as in_step_with

SHORT = Pruning(blocks=4, state=4)
NODE_KEY = bytes(range(32))


@pytest.fixture
async def authority(make_rig: MakeRig) -> Peer:
    """Return an author that keeps few blocks."""
    rig = await make_rig("authority", authorities=KEYS, pruning=SHORT)
    peer = Peer("authority", rig, author=True)
    await grow(peer)
    return peer


async def leave_behind(light: Peer, authority: Peer, *first: bytes) -> BlockRef:
    """Have the chain go on without the light node, at `first` by these transactions; where that one is."""
    part(light.network, "authority")
    if first:
        await authority.rig.block(*first, final=True)
    for step in range(10):
        await authority.rig.block(tx("carol", step, put("away", str(step))), final=True)
    join(light.network, authority.network)
    return light.chain.best


@pytest.fixture(autouse=True)
def given_up_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up on a missing block after ten seconds."""
    monkeypatch.setattr(follow, "NO_NEXT_BLOCK_S", 10.0)


async def test_a_node_left_behind_downloads_a_new_state_and_follows_again(
    authority: Peer, light: Peer, patient_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Download a new state when no peer has the next block any more, and follow again."""
    async with running(authority, light):
        await followed(light, authority)
        before, began = await leave_behind(light, authority), trio.current_time()
        await followed(light, authority)
        assert follow.NO_NEXT_BLOCK_S <= trio.current_time() - began < 3 * follow.NO_NEXT_BLOCK_S
        assert f"No peer has block #{before.number + 1} any more" in caplog.text
        assert light.rig.store.oldest_header == authority.chain.finalized.number
        assert light.rig.read("away") == "9"
        await authority.rig.block(tx("bob", 2, put("later", "is followed")), final=True)
        await followed(light, authority)
        assert light.rig.read("later") == "is followed"
        assert light.reports == []


async def test_a_node_left_behind_at_a_change_of_authorities_downloads_a_new_state(
    authority: Peer, light: Peer, patient_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Require a finality proof where the headers prove only the block that the node lacks."""
    async with running(authority, light):
        await followed(light, authority)
        before = await leave_behind(light, authority, tx("alice", 2, voters_of(KEYS)))
        await followed(light, authority)
        assert f"No peer has block #{before.number + 1} any more" in caplog.text
        assert light.rig.read("away") == "9"
        assert light.reports == []


async def test_slow_answers_do_not_put_off_the_new_state(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Count what a peer proved before while it is asked for the next block again."""
    async with running(authority, light):
        await followed(light, authority)
        authority.network.delay = 2.0
        began = trio.current_time()
        await leave_behind(light, authority)
        await followed(light, authority)
        assert light.rig.read("away") == "9"
        assert trio.current_time() - began < 5 * follow.NO_NEXT_BLOCK_S


async def test_a_peer_with_the_next_block_in_time_is_followed(
    authority: Peer, light: Peer, make_rig: MakeRig, patient_clock: MockClock
) -> None:
    """Follow a peer that has the next block in time, and keep the old state."""
    other = Peer("other", await make_rig("other", authorities=KEYS), light=True)
    async with running(authority, light, other):
        await followed(light, authority)
        await followed(other, authority)
        old, before = light.rig.store.oldest_header, await leave_behind(light, authority)
        await followed(other, authority)
        await trio.sleep(follow.NO_NEXT_BLOCK_S / 2)
        assert light.chain.best == before
        join(light.network, other.network)
        await followed(light, authority)
        assert light.rig.store.oldest_header == old


async def test_claims_alone_do_not_replace_the_state(
    authority: Peer, light: Peer, patient_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """They prove nothing, so nothing is given up, and calls are not refused as if the node were syncing."""
    async with running(authority, light):
        await followed(light, authority)
        before = light.chain.best
        liar = Liar(authority)
        part(light.network, "authority")
        join(light.network, liar.network)
        await reached(light, lambda: light.sync.peer_set.record("liar").claims_discounted)
        await trio.sleep(3 * follow.NO_NEXT_BLOCK_S)
        assert (light.chain.best, light.rig.read("after")) == (before, "the target")
        assert not light.sync.progress.is_syncing
        assert "any more, they are at" not in caplog.text
        await authority.rig.block(tx("bob", 2, put("later", "is followed")), final=True)
        part(light.network, "liar")
        join(light.network, authority.network)
        await followed(light, authority)
        assert light.rig.read("later") == "is followed"


async def test_an_archive_keeps_its_blocks_and_logs_the_remedy(
    authority: Peer, make_rig: MakeRig, patient_clock: MockClock
) -> None:
    """Keep an archive's blocks, and name the remedy."""
    archive = Peer("light", await make_rig("light", authorities=KEYS, pruning=ARCHIVE), light=True)
    async with running(authority, archive):
        await followed(archive, authority)
        before = await leave_behind(archive, authority)
        await reached(archive, lambda: "purge-chain" in archive.sync.progress.waiting_for)
        await trio.sleep(3 * follow.NO_NEXT_BLOCK_S)
        assert archive.chain.best == before
        assert archive.sync.progress.waiting_for.startswith(f"blocks #{before.number + 1} to #")


class Liar(Peer):
    """A peer that claims to be a thousand blocks ahead, provides no block, and valid proofs."""

    def __init__(self, authority: Peer) -> None:
        super().__init__("liar", authority.rig, author=True)
        best = authority.chain.best
        said = AnnounceHandshake(Roles.FULL, best.number + 1_000, best.hash, authority.chain.genesis_hash)
        self.network.protocols["block-announces/1"].handshake = said.encode
        self.network.serve_requests("sync/2", no_block)


async def no_block(peer: str, request: bytes) -> bytes:
    """Return no block."""
    return BlockResponse(()).encode()


class World:
    """An authority that keeps few blocks, and a follower that knows its address."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._spec = folder / "spec.json"
        self._spec.write_text(to_json(dev_chain_spec()))
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self._place = f"/ip4/127.0.0.1/tcp/{free.getsockname()[1]}"
        self._network = NetworkConfig(listen=("/ip4/127.0.0.1/tcp/0",))

    def authority(self, *, reachable: bool = True) -> AbstractAsyncContextManager[Node]:
        """Return an authority that keeps few blocks, under one address if it is reachable."""
        network = replace(self._network, node_key=NODE_KEY)
        if reachable:
            network = replace(network, listen=(self._place,))
        dev, few = DevConfig(seal="slots", block_time=100), PruningConfig(blocks=8, state=8)
        return live_node(self._folder / "authority", dev=dev, pruning=few, network=network)

    def follower(self) -> AbstractAsyncContextManager[Node]:
        """Return a light node that knows the authority's address."""
        known = f"{self._place}/p2p/{peer_id(Keypair.from_seed(NODE_KEY, 'ed25519').public)}"
        network = replace(self._network, boot_nodes=(known,))
        folder, chain = self._folder / "follower", str(self._spec)
        return live_node(folder, chain=chain, sync="light-rpc", network=network, brokers=())


@pytest.mark.world
async def test_clients_receive_one_step_over_the_missing_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over the real stack, with an authority that is away, and back after three windows."""
    monkeypatch.setattr(follow, "NO_NEXT_BLOCK_S", 1.0)
    monkeypatch.setattr(backoff, "MAX_WAIT_ISOLATED", 0.1)
    monkeypatch.setattr(dialing, "UPKEEP_INTERVAL", 0.1)
    world = World(tmp_path)
    async with world.follower() as node:
        async with world.authority() as authority:
            await in_step_with(node, authority, 4)
        async with world.authority(reachable=False) as authority:
            await reach(authority, node.chain.best.number + 24)
        old, final = node.chain.best, node.chain.finalized
        with node.chain.subscribe() as events:
            async with world.authority() as authority, trio.open_nursery() as nursery:
                nursery.start_soon(ask_without_end, node)
                await in_step_with(node, authority, old.number + 24)
                nursery.cancel_scope.cancel()
            numbers, heads = [final.number], [old]
            while heads[-1] != node.chain.best:
                event = await events.__anext__()
                if isinstance(event, BlocksFinalized):
                    numbers += [block.number for block in event.blocks]
                elif isinstance(event, BestChanged):
                    heads.append(event.new)
                else:
                    assert isinstance(event, Imported)
        assert numbers == sorted(set(numbers))
        assert heads[1].number >= old.number + 24
        assert node.store.oldest_header == heads[1].number
        assert node.chain.header(old.hash) is None
        with pytest.raises(UnknownBlock), node.chain.state(old.hash):
            pass


async def ask_without_end(node: Node) -> None:
    """Make frequent calls, each of which has an answer, or one of the two documented errors."""
    while True:
        best = node.chain.best
        assert node.chain.header(best.hash) is not None
        with suppress(StateDiscarded, UnknownBlock):
            await node.chain.runtime_at(best.hash)
            await node.chain.events(best.hash)
        await trio.sleep(0.01)
