"""Both ends of a connection in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio.testing

from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.core.peer_id import peer_id
from cfnode.network.buffers import Buffers
from cfnode.network.connection import OnSubstream, PeerConnection
from cfnode.network.substream import Substream
from cfnode.network.upgrade import Secured, upgrade
from tests.network.conftest import key

ADDRESS = Multiaddr.parse("/ip4/127.0.0.1/tcp/1")


async def secured_pair(
    caller: int = 1,
) -> tuple[tuple[trio.abc.Stream, Secured], tuple[trio.abc.Stream, Secured]]:
    """Return two ends in memory after the handshake: the dialer, the listener."""
    left, right = trio.testing.memory_stream_pair()
    ends: dict[bool, Secured] = {}

    async def prove(stream: trio.abc.Stream, number: int, dialer: bool) -> None:
        ends[dialer] = await upgrade(stream, key(number), dialer=dialer)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(prove, left, caller, True)
        nursery.start_soon(prove, right, 2, False)
    return (left, ends[True]), (right, ends[False])


def connection(
    stream: trio.abc.Stream,
    secured: Secured,
    on_substream: OnSubstream,
    *,
    inbound: bool,
    sums: Buffers | None = None,
    flood_lock: trio.Lock | None = None,
) -> PeerConnection:
    """Return one end of a connection."""
    return PeerConnection(
        stream,
        secured.channel,
        remote=secured.remote,
        peer_id=peer_id(secured.remote),
        address=ADDRESS,
        inbound=inbound,
        on_substream=on_substream,
        buffers=sums,
        flood_lock=flood_lock,
    )


async def ignore(connection: PeerConnection, substream: Substream) -> None:
    """Handle a substream by doing nothing."""
    await trio.sleep_forever()


@asynccontextmanager
async def ours_and_raw(
    on_substream: OnSubstream = ignore, sums: Buffers | None = None, flood_lock: trio.Lock | None = None
) -> AsyncIterator[tuple[PeerConnection, trio.abc.Stream, Secured]]:
    """Yield our end as the listener, and a dialer whose frames the test makes itself."""
    (stream, raw), (theirs, secured) = await secured_pair()
    ours = connection(theirs, secured, on_substream, inbound=True, sums=sums, flood_lock=flood_lock)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ours.run, secured.first)
        await ours.ready.wait()
        yield ours, stream, raw
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def both(
    handler: OnSubstream, sums: Buffers | None = None, caller_does: OnSubstream = ignore, number: int = 1
) -> AsyncIterator[tuple[PeerConnection, PeerConnection]]:
    """Yield the dialer's end and the listener's end, each with its handler of substreams."""
    (left, there), (right, here) = await secured_pair(number)
    caller = connection(left, there, caller_does, inbound=False, sums=None)
    called = connection(right, here, handler, inbound=True, sums=sums)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(caller.run, there.first)
        nursery.start_soon(called.run, here.first)
        await caller.ready.wait()
        await called.ready.wait()
        yield caller, called
        nursery.cancel_scope.cancel()
