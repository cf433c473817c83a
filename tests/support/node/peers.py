"""Mini chains with their sync, as peers of each other, for one test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import trio

from cfnode.devchain.authorities import well_known
from cfnode.node.chain.chain import NodeChain
from cfnode.node.sync.service import ChainSync
from cfnode.node.sync.warping.authority_set_cache import TrustedSet
from tests.node.mini import Rig, put, tx, voter_set, voters_of
from tests.support.node.net import MemoryNetwork, join

KEYS = well_known(3)


class Peer:
    """A mini chain with its sync."""

    def __init__(self, name: str, rig: Rig, *, light: bool = False, author: bool = False) -> None:
        self.rig, self.network = rig, MemoryNetwork(name)
        genesis = rig.store.header(rig.chain.genesis_hash)
        assert genesis is not None
        beginning = TrustedSet(genesis, voter_set(KEYS, 0)) if light else None
        self.sync = ChainSync(
            self.network, rig.chain, rig.store, beginning=beginning, author=author, pool=rig.pool
        )

    @property
    def chain(self) -> NodeChain:
        """The chain of the peer."""
        return self.rig.chain

    @property
    def reports(self) -> list[tuple[str, int]]:
        """The reported peers, and the changes of their reputations."""
        return [(peer, change) for peer, change, _ in self.network.reports]


@asynccontextmanager
async def running(*peers: Peer) -> AsyncIterator[trio.Nursery]:
    """Yield the peers, each joined with the first one, until the end of the block."""
    async with trio.open_nursery() as nursery:
        for peer in peers:
            nursery.start_soon(peer.sync.run)
            if peer is not peers[0]:
                join(peer.network, peers[0].network)
        with trio.fail_after(100):
            yield nursery
        nursery.cancel_scope.cancel()


async def reached(peer: Peer, met: Callable[[], bool]) -> None:
    """Wait for a condition, and look again at each event of the chain."""
    while not met():
        with trio.move_on_after(1), peer.chain.subscribe() as events:  # then it looks again
            await events.__anext__()


async def in_step(peer: Peer, with_: Peer) -> None:
    """Wait until both chains have the same best and final blocks."""
    await reached(
        peer,
        lambda: (peer.chain.best, peer.chain.finalized) == (with_.chain.best, with_.chain.finalized),
    )


async def followed(peer: Peer, authority: Peer) -> None:
    """Wait until a peer is in step and knows it."""
    await in_step(peer, authority)
    await reached(peer, lambda: not peer.sync.progress.is_syncing)


async def grow(authority: Peer) -> None:
    """Make two set changes, some values, and three blocks that are not final."""
    rig = authority.rig
    await rig.block(tx("alice", 0, voters_of(KEYS[:2])), final=True)
    await rig.block(tx("bob", 0, put("before", "the target" * 9)))
    await rig.block(tx("alice", 1, voters_of(KEYS[1:])), final=True)
    await rig.block(final=True)
    await rig.block(tx("bob", 1, put("after", "the target")))
    await rig.blocks(2)
