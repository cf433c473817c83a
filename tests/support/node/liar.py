"""A peer that lies on a real network: it serves a true chain, and falsifies one kind of answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import trio

from cfnode.core.aura import author_index, sealed, slot_of, without_seal
from cfnode.core.header import Header
from cfnode.core.keys import Keypair
from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.network.interface import RequestHandler, RequestLimits
from cfnode.network.service import NetworkService
from cfnode.network.settings import NetworkSettings
from cfnode.node.sync.service import ChainSync
from cfnode.node.sync.warping.authority_set_cache import TrustedSet
from tests.node.mini import Rig, voter_set
from tests.support.node.peers import KEYS
from tests.support.waiting import until

Lie = Callable[[str, bytes, bytes | None], bytes | None]
"""(protocol, request, true answer) to the answer that is sent; None refuses."""
USUAL = RequestLimits()


class TcpPeer:
    """A mini chain with its sync, on the network of this machine."""

    def __init__(self, number: int, rig: Rig, *, light: bool = False) -> None:
        self.rig = rig
        self.network = _LyingService(number, rig.chain.genesis_hash)
        genesis = rig.store.header(rig.chain.genesis_hash)
        assert genesis is not None
        self.sync = ChainSync(
            self.network,
            rig.chain,
            rig.store,
            beginning=TrustedSet(genesis, voter_set(KEYS, 0)) if light else None,
            author=not light,
            pool=rig.pool,
        )

    @property
    def id(self) -> str:
        """The peer id of the node."""
        return self.network.peer_id

    @property
    def address(self) -> Multiaddr:
        """The listening address of the node with its peer id."""
        return self.network.listening[0].with_peer(self.id)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run network and sync."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self.network.run)
            nursery.start_soon(self.sync.run)
            task_status.started()

    async def reached(self, met: Callable[[], object]) -> None:
        """Wait for a condition."""
        await until(met)

    async def in_step_with(self, other: TcpPeer) -> None:
        """Wait until both chains have the same best and final blocks."""
        chain, model = self.rig.chain, other.rig.chain
        await self.reached(lambda: (chain.best, chain.finalized) == (model.best, model.finalized))


class Liar(TcpPeer):
    """Serves the rig's chain; `lie` is applied to each answer."""

    def __init__(self, number: int, rig: Rig, lie: Lie | None = None) -> None:
        super().__init__(number, rig)
        self.network.lie = lie

    def announce(self, victim: TcpPeer, data: bytes, protocol: str = "block-announces/1") -> bool:
        """Send any bytes to the victim."""
        return self.network._membership.protocols[protocol].send(victim.id, data)


class _LyingService(NetworkService):
    def __init__(self, number: int, genesis: bytes) -> None:
        identity = Keypair.from_seed(number.to_bytes(32, "big"), "ed25519")
        listen = (Multiaddr.parse("/ip4/127.0.0.1/tcp/0"),)
        self.lie: Lie | None = None
        super().__init__(identity, NetworkSettings(genesis, listen=listen, private_addresses=True))

    def serve_requests(
        self, protocol: str, handler: RequestHandler | None, limits: RequestLimits = USUAL
    ) -> None:
        async def lying(peer: str, data: bytes) -> bytes | None:
            assert handler is not None
            answer = await handler(peer, data)
            return answer if self.lie is None else self.lie(protocol, data, answer)

        super().serve_requests(protocol, lying if handler else None, limits)


@asynccontextmanager
async def on_the_network(*peers: TcpPeer) -> AsyncIterator[None]:
    """Run the peers while the block runs."""
    async with trio.open_nursery() as nursery:
        for peer in peers:
            await nursery.start(peer.run)
        yield
        nursery.cancel_scope.cancel()


def signed_anew(header: Header, author: int = 0) -> Header:
    """Return the header, sealed again by the true author."""
    unsealed, _ = without_seal(header)
    keys = KEYS[(author_index(slot_of(header), len(KEYS)) + author) % len(KEYS)]
    return sealed(unsealed, keys.aura.sign(unsealed.hash))
