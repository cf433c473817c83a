"""JSON-RPC of a few methods: the answer to a message, one call after another.

The node's own port decides more for each call (`cfnode.rpc.answering.dispatch`). This is for ports whose
JSON-RPC has a few methods only.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from cfnode.core import jsonrpc
from cfnode.core.jsonrpc import RefusedMessage, RpcBatch, RpcCall, RpcError, RpcMessage

__all__ = ["reply_to"]

Method = Callable[[RpcCall], Awaitable[Any]]
"""Returns the result of a call. Raises RpcError."""


async def reply_to(message: RpcMessage, call: Method) -> bytes:
    """Return the answer to a parsed message; b"" if no call of it wants one."""
    if not isinstance(message, RpcBatch):
        return await _reply_to_one(message, call)
    replies = [reply for entry in message.entries if (reply := await _reply_to_one(entry, call))]
    return b"[" + b",".join(replies) + b"]" if replies else b""


async def _reply_to_one(message: RpcCall | RefusedMessage, call: Method) -> bytes:
    if isinstance(message, RefusedMessage):
        return jsonrpc.failure(message.id, message.error) if message.id else b""
    try:
        reply = jsonrpc.success(message.reply_id, jsonrpc.encode(await call(message)))
    except RpcError as error:
        reply = jsonrpc.failure(message.reply_id, error)
    return b"" if message.is_notification else reply
