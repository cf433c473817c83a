"""Waiting for nodes that follow others."""

from __future__ import annotations

import trio

from cfnode.node.node import Node
from tests.support.node.liar import TcpPeer


async def in_step(node: Node, authority: Node, least: int) -> None:
    """Wait until the node holds a final block of the authority, at `least` or later, and is in step."""
    with trio.fail_after(60), authority.chain.subscribe() as events:
        async for _ in events:
            final = node.chain.finalized
            same = authority.chain.hash_at(final.number) == final.hash
            if same and final.number >= least and not node.is_syncing:
                return


def score(of: TcpPeer, by: TcpPeer) -> int:
    """Return the score of a peer in another one's store."""
    return by.network._peer_store.score(of.id, trio.current_time())


async def joined(victim: TcpPeer, *peers: TcpPeer) -> None:
    """Let the victim be in step with the first peer, and all its peers."""
    await victim.network.connect(peers[0].address)
    await victim.in_step_with(peers[0])
    await victim.reached(lambda: not victim.sync.progress.is_syncing)
    for peer in peers[1:]:
        await victim.network.connect(peer.address)
    for peer in peers:
        await victim.reached(lambda peer=peer: is_peer(victim, of=peer))


def is_peer(one: TcpPeer, of: TcpPeer) -> bool:
    """Return whether a node counts as a peer of another one."""
    known = of.network.peers.get(one.id)
    return known is not None and known.is_peer
