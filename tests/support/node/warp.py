"""Chains of several authority sets, nodes that warp to their end, and false proofs."""

from __future__ import annotations

import itertools

from cfnode.core.grandpa import WarpFragment, WarpProof
from cfnode.core.header import Header
from cfnode.devchain.authorities import well_known
from cfnode.node.asking.asker import Asker
from cfnode.node.asking.peer_set import PeerSet
from cfnode.node.asking.progress import SyncProgress
from cfnode.node.sync.serving.serve import SyncServer
from cfnode.node.sync.warping.authority_set_cache import AuthoritySetCache, TrustedSet
from cfnode.node.sync.warping.warp import WarpSync
from tests.node.conftest import MakeRig
from tests.node.mini import Rig, tx, voter_set, voters_of
from tests.support.node.net import MemoryNetwork, Tamper, join

KEYS = well_known(3)


async def grown(make_rig: MakeRig) -> Rig:
    """Return three sets, the last block of the third one."""
    rig = await make_rig(authorities=KEYS)
    await rig.block(tx("alice", 0, voters_of(KEYS[:2])), final=True)
    await rig.block(tx("alice", 1, voters_of(KEYS[1:])), final=True)
    await rig.block(final=True)
    return rig


class Client:
    """A node that knows genesis and some peers, all of which serve the same chain."""

    def __init__(self, rig: Rig, memory: AuthoritySetCache | None = None, **liars: Tamper | None) -> None:
        self.rig, self.network = rig, MemoryNetwork("client")
        self.peer_set = PeerSet(itertools.count(0, -1).__next__)
        header = rig.store.header(rig.chain.genesis_hash)
        assert header is not None
        self.genesis = TrustedSet(header, voter_set(KEYS, 0))
        self.progress = SyncProgress()
        for height, (name, tamper) in enumerate(reversed(liars.items())):
            self.add(name, tamper, height)
        self.asker = Asker(self.network, self.peer_set)
        self.sync = WarpSync(self.asker, self.genesis, memory, self.progress)

    def add(self, name: str, tamper: Tamper | None, height: int = 0) -> None:
        """Add a peer that serves warp proofs, or what `tamper` makes of them."""
        peer = MemoryNetwork(name, tamper=tamper)
        SyncServer(peer, self.rig.chain, self.rig.store).declare()
        join(self.network, peer)
        self.peer_set.update(name, height, bytes(32))


def edited(proof: bytes | None, edit: object) -> bytes:
    """Return the warp proof with edited fragments."""
    assert proof is not None and callable(edit)
    fragments = list(WarpProof.decode(proof).fragments)
    edit(fragments)
    return WarpProof(tuple(fragments), True).encode()


def forge_last(fragments: list[WarpFragment]) -> None:
    """Replace the header of the last fragment by a forged one."""
    last = fragments[-1]
    header = Header(last.header.parent_hash, last.header.number, bytes(32), bytes(32))
    fragments[-1] = WarpFragment(header, last.justification)
