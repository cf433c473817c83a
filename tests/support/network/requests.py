"""Handlers of requests."""

from __future__ import annotations

from cfnode.network.connection import OnSubstream, PeerConnection
from cfnode.network.exchange import ServedProtocol, accept_protocol
from cfnode.network.substream import Substream


async def echo(peer: str, data: bytes) -> bytes | None:
    """Return the request a thousand times."""
    return data * 1000


def serving(served: ServedProtocol) -> OnSubstream:
    """Return a handler of substreams that serves the protocol."""

    async def serve(connection: PeerConnection, substream: Substream) -> None:
        _, first = await accept_protocol(substream, {"/echo"})
        await served.serve(connection, substream, first)

    return serve


async def shout(peer: str, data: bytes) -> bytes | None:
    """Return the request in capitals; refuse `refuse`, fail at `fail`."""
    if data == b"refuse":
        return None
    if data == b"fail":
        raise KeyError("a fault of ours")
    return data.upper()
