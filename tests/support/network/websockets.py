"""Both ends of a WebSocket in memory."""

from __future__ import annotations

import trio.testing

from cfnode.network import websocket


async def both_ends() -> tuple[websocket.WebSocketByteStream, trio.abc.Stream, websocket.WebSocketByteStream]:
    """Return the dialer's end, the wire under it, and the listener's end."""
    left, right = trio.testing.memory_stream_pair()
    ends: dict[str, websocket.WebSocketByteStream] = {}

    async def accept() -> None:
        ends["listener"] = await websocket.accept(right)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(accept)
        ends["dialer"] = await websocket.connect(left, "127.0.0.1:1")
    return ends["dialer"], left, ends["listener"]
