"""Nodes of the mini chain, connected by a network in memory."""

from __future__ import annotations

import pytest

from tests.node.conftest import MakeRig, make_rig, rig
from tests.node.mini import Rig
from tests.node.sync.liar import TcpPeer
from tests.node.sync.peers import KEYS, Peer, grow

__all__ = ["authority", "light", "make_rig", "rig"]


@pytest.fixture
async def authority(make_rig: MakeRig) -> Peer:
    """The author of the chain, after some blocks (`grow`)."""
    peer = Peer("authority", await make_rig("authority", authorities=KEYS), author=True)
    await grow(peer)
    return peer


@pytest.fixture
async def light(make_rig: MakeRig) -> Peer:
    """A light node with only the genesis."""
    return Peer("light", await make_rig("light", authorities=KEYS), light=True)


@pytest.fixture
async def chain(make_rig: MakeRig) -> Rig:
    """A true chain with set changes, which the honest peer and the liar have."""
    rig = await make_rig("chain", authorities=KEYS)
    await grow(Peer("author", rig, author=True))
    return rig


@pytest.fixture
async def victim(make_rig: MakeRig) -> TcpPeer:
    """A light node on TCP, which the liar attacks."""
    return TcpPeer(1, await make_rig("victim", authorities=KEYS), light=True)
