"""Requests, and clients that read nothing or wait for the end."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import trio.testing

from tests.rpc.clients import WebSocket


def call(method: str, params: Any = None, identity: Any = 1) -> dict[str, Any]:
    """Return a JSON-RPC call."""
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}


async def until_closed(stream: trio.SocketStream) -> bytes:
    """Return everything until the other side closes."""
    data = b""
    try:
        while more := await stream.receive_some(65536):
            data += more
    except trio.BrokenResourceError:
        pass
    return data


async def hoard(port: int, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
    """Ask for 40 MB as a client that reads nothing."""
    async with WebSocket(port) as ws:
        with suppress(trio.BrokenResourceError):
            for _ in range(10):
                await ws.send(b'{"jsonrpc":"2.0","id":1,"method":"test_anotherLarge"}')
        task_status.started()
        await trio.sleep_forever()
