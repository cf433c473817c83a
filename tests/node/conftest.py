"""The mini chain, opened for one test, and nodes of it that are connected by a network in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.node.mini import Rig
from tests.support.node.liar import TcpPeer
from tests.support.node.peers import KEYS, Peer, grow

MakeRig = Callable[..., Awaitable[Rig]]


@pytest.fixture
async def make_rig(tmp_path: Path) -> AsyncIterator[MakeRig]:
    """Yield a function that makes mini chains, closed at the end; a name opens the same database again."""
    rigs: list[Rig] = []

    async def make(name: str = "db", **options: Any) -> Rig:
        path = tmp_path / name
        path.mkdir(exist_ok=True)
        rigs.append(await Rig.make(path, **options))
        return rigs[-1]

    yield make
    for rig in rigs:
        rig.store.close()


@pytest.fixture
async def rig(make_rig: MakeRig) -> Rig:
    """Return a chain with one authority, blocks on demand and two blocks of finality lag."""
    return await make_rig()


@pytest.fixture
async def authority(make_rig: MakeRig) -> Peer:
    """Return the author of the chain, after some blocks (`grow`)."""
    peer = Peer("authority", await make_rig("authority", authorities=KEYS), author=True)
    await grow(peer)
    return peer


@pytest.fixture
async def light(make_rig: MakeRig) -> Peer:
    """Return a light node with only the genesis."""
    return Peer("light", await make_rig("light", authorities=KEYS), light=True)


@pytest.fixture
async def chain(make_rig: MakeRig) -> Rig:
    """Return a true chain with set changes, which the honest peer and the liar have."""
    rig = await make_rig("chain", authorities=KEYS)
    await grow(Peer("author", rig, author=True))
    return rig


@pytest.fixture
async def victim(make_rig: MakeRig) -> TcpPeer:
    """Return a light node on TCP, which the liar attacks."""
    return TcpPeer(1, await make_rig("victim", authorities=KEYS), light=True)
