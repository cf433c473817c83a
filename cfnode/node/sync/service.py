"""The sync of a node: its parts, from the first peer to a followed chain.

The request handlers and the notification protocols are declared before the network runs. Notifications are
read from the beginning: a peer ends the protocol, or the connection, when they are not. Then, in light-RPC
and warp mode with a store that holds only genesis, a state is downloaded (`download.py`). From there on, or
from the beginning in full mode, the node follows announcements, imports blocks and tracks finality. A node
that has fallen so far behind that no peer has the next block downloads a state again, unless it is an
archive.
"""

from __future__ import annotations

import logging

import trio

from cfnode.core.chainspec import ChainSpec, ChainSpecError, grandpa_authorities
from cfnode.core.grandpa import AuthoritySet
from cfnode.core.wire import WireError
from cfnode.core.wire.announces import MAX_ANNOUNCEMENT, SUFFIX, AnnounceHandshake, BlockAnnounce, Roles
from cfnode.network.interface import (
    Closed,
    NotificationLimits,
    NotificationProtocol,
    PeerNetwork,
    ProtocolOpened,
    Received,
)
from cfnode.node.asking import reputation
from cfnode.node.asking.asker import Asker
from cfnode.node.asking.peer_set import PeerSet
from cfnode.node.asking.progress import Phase, SyncProgress, warn_when_stuck
from cfnode.node.chain.chain import NodeChain
from cfnode.node.chain.events import BestChanged
from cfnode.node.config import Checkpoint
from cfnode.node.grandpa.gossip import FinalityGossip
from cfnode.node.grandpa.stall import warn_when_finality_stalls
from cfnode.node.pool.pool import TransactionPool
from cfnode.node.sync.following.follow import BlockImporter
from cfnode.node.sync.serving.serve import SyncServer
from cfnode.node.sync.transactions import TransactionGossip
from cfnode.node.sync.warping.authority_set_cache import AuthoritySetCache, TrustedSet
from cfnode.node.sync.warping.checkpoint import load_checkpoint
from cfnode.node.sync.warping.download import Download
from cfnode.node.sync.warping.lag_proof import LagProof
from cfnode.store import Store

__all__ = ["ChainSync", "trusted_genesis"]

log = logging.getLogger("cfnode.sync")

ANNOUNCEMENT_LIMITS = NotificationLimits(
    message=MAX_ANNOUNCEMENT, per_second=100, burst=640, usual=MAX_ANNOUNCEMENT // 256, repeats=16
)
"""Limits of block announcements. A peer announces each block once, one in six seconds, and the blocks of a
fork together; on a development chain there may be fifty a second. The largest announcement counts as 256
usual ones."""


def trusted_genesis(spec: ChainSpec, store: Store) -> TrustedSet | None:
    """Return the genesis block and its finality authorities; None if the specification does not name any."""
    genesis_hash = store.genesis_hash
    header = store.header(genesis_hash) if genesis_hash is not None else None
    try:
        authorities = grandpa_authorities(spec)
    except ChainSpecError:
        return None
    if header is None or not authorities:
        return None
    return TrustedSet(header, AuthoritySet(0, tuple(authorities)))


class ChainSync:
    """The sync of one node. Create it before the network runs, `run` it with the network.

    `beginning`: the genesis block with its authorities, to download a state; None to execute every block.
    `checkpoint`: proofs begin there instead. `author`: this node makes the chain, and is always synced.
    `pool`: its transactions are exchanged with peers.
    """

    def __init__(
        self, network: PeerNetwork, chain: NodeChain, store: Store,
        *, beginning: TrustedSet | None = None, checkpoint: Checkpoint | None = None,
        set_cache: AuthoritySetCache | None = None, author: bool = False, pool: TransactionPool | None = None,
    ) -> None:  # fmt: skip
        self.progress = SyncProgress(Phase.DONE) if author else SyncProgress()
        self.peer_set = PeerSet()
        self.starting_block = chain.best.number
        """The number of the best block when the node started."""
        self._network = network
        self._chain = chain
        self._store = store
        self._beginning = beginning
        self._checkpoint = checkpoint
        self._set_cache = set_cache
        self._author = author
        windows = (store.pruning.blocks, store.pruning.state)
        self._asker = Asker(network, self.peer_set)
        keeps_blocks = beginning is None or None in windows
        lag_proof = None if keeps_blocks else LagProof(self._asker, chain)
        self._follower = BlockImporter(chain, self._asker, self.progress, lag_proof)
        self.finality = FinalityGossip(network, chain, self._asker, author=author)
        """The gossip of votes and commits."""
        self._announces: NotificationProtocol = network.notifications(
            SUFFIX, self._handshake, ANNOUNCEMENT_LIMITS, self._refusal
        )
        self._transactions = None if pool is None else TransactionGossip(network, pool, self.progress)
        SyncServer(network, chain, store).declare()

    @property
    def transactions_propagated(self) -> int:
        """The number of transactions sent to at least one peer so far."""
        return 0 if self._transactions is None else self._transactions.propagated

    async def run(self) -> None:
        """Sync until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._listen)
            nursery.start_soon(self.finality.listen)
            if self._transactions is not None:
                nursery.start_soon(self._transactions.run)
            nursery.start_soon(warn_when_stuck, self.progress)
            if self._beginning is not None and self._chain.finalized.hash == self._chain.genesis_hash:
                await self._download(self._beginning)
            if not self._author:
                nursery.start_soon(warn_when_finality_stalls, self._chain, self.finality.peers_without_packet)
            while True:
                await self._follow()
                assert self._beginning is not None
                await self._download(self._beginning)

    async def _follow(self) -> None:
        """Follow the chain until cancelled, or until a newer state has to be downloaded."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.finality.run)
            nursery.start_soon(self._announce)
            await self._follower.run()
            nursery.cancel_scope.cancel()

    # --- handshakes and announcements

    def _handshake(self) -> bytes:
        best = self._chain.best
        roles = Roles.AUTHORITY if self._author else Roles.FULL  # one of them: Substrate never sends both
        return AnnounceHandshake(roles, best.number, best.hash, self._chain.genesis_hash).encode()

    def _refusal(self, peer: str, handshake: bytes) -> str | None:
        """Return the reason to refuse the handshake of a peer; None to accept it."""
        try:
            claim = AnnounceHandshake.decode(handshake)
        except WireError as error:
            return str(error)
        if claim.genesis_hash != self._chain.genesis_hash:
            return f"its genesis is 0x{claim.genesis_hash.hex()}: another chain"
        return None

    async def _listen(self) -> None:
        async for event in self._announces.events:
            match event:
                case ProtocolOpened(peer_id=peer, handshake=handshake):
                    self._opened(peer, handshake)
                case Closed(peer_id=peer):
                    self.peer_set.forget(peer)
                    self._follower.forget(peer)
                case Received(peer_id=peer, data=data):
                    self._announced(peer, data)

    def _opened(self, peer: str, handshake: bytes) -> None:
        refusal = self._refusal(peer, handshake)
        if refusal is not None:
            self._network.report(peer, reputation.FATAL, refusal)
            self._network.disconnect(peer, refusal)
            return
        claim = AnnounceHandshake.decode(handshake)
        if claim.roles == Roles.LIGHT:
            return  # a light client has no blocks to provide, and its best block proves nothing
        self.peer_set.update(peer, claim.best_number, claim.best_hash)
        self._follower.announced(peer, claim.best_hash, claim.best_number)

    def _announced(self, peer: str, data: bytes) -> None:
        try:
            announce = BlockAnnounce.decode(data)
        except WireError as error:
            self._network.report(peer, reputation.BAD_ANNOUNCE, str(error))
            return
        block, number = announce.header.hash, announce.header.number
        if peer not in self.peer_set:
            return
        if announce.best:
            self.peer_set.update(peer, number, block)
        self._follower.announced(peer, block, number, announce.header)

    async def _announce(self) -> None:
        """Announce our new best blocks to the peers, until cancelled."""
        while True:
            with self._chain.subscribe() as events:
                async for event in events:
                    header = self._chain.header(event.new.hash) if isinstance(event, BestChanged) else None
                    if header is not None:
                        announcement = BlockAnnounce(header).encode()
                        for peer in self._announces.peers:
                            self._announces.send(peer, announcement)

    async def _download(self, beginning: TrustedSet) -> None:
        """Download proofs and state, from genesis or from the checkpoint."""
        if self._checkpoint is not None:
            beginning = await load_checkpoint(
                self._asker, self._checkpoint, self.progress, self._chain.slot_now()
            )
        download = Download(self._asker, self._chain, self._store, beginning, self._set_cache, self.progress)
        await download.run()
