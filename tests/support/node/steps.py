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
    return by.network._peer_store.score(of.id, trio.current_time())


async def joined(victim: TcpPeer, *peers: TcpPeer) -> None:
    """The victim is in step with the first peer, and all are its peers."""
    await victim.network.connect(peers[0].address)
    await victim.in_step_with(peers[0])
    await victim.reached(lambda: not victim.sync.progress.is_syncing)
    for peer in peers[1:]:
        await victim.network.connect(peer.address)
    for peer in peers:
        await victim.reached(lambda peer=peer: is_peer(victim, of=peer))


def is_peer(one: TcpPeer, of: TcpPeer) -> bool:
    known = of.network.peers.get(one.id)
    return known is not None and known.is_peer
