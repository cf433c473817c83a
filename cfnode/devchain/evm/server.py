"""HTTP port of the local EVM chain: JSON-RPC by POST, on this machine only.

The chain is worked with in one thread at a time, so that a long simulation keeps no connection from being
accepted or closed. py-evm needs a high recursion limit, with which a JSON decoder could exhaust the stack; so
the nesting of a request is checked before it is decoded.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final, TypeVar

import trio

from cfnode.core import jsonrpc
from cfnode.core.foreign import ForeignError, JsonLimits, require_light
from cfnode.core.jsonrpc import ErrorCode, RpcCall, RpcError
from cfnode.devchain.evm.chain import EvmChain
from cfnode.devchain.evm.methods import called
from cfnode.serving.limits import PortLimits
from cfnode.serving.listening import Listen, listen
from cfnode.serving.plain_rpc import reply_to
from cfnode.serving.posted import posted_json
from cfnode.serving.responses import JSON, TEXT, Receive, Scope, Send, deny, respond
from cfnode.serving.server import PortServer
from cfnode.web.bearer import HttpRefusal, joined
from cfnode.web.origins import origin_policy

__all__ = ["HOST", "EvmPort"]

T = TypeVar("T")
log = logging.getLogger("cfnode.evm")

HOST: Final = "127.0.0.1"
MAX_EVM_CONNECTIONS: Final = 64
MAX_EVM_REQUEST_BYTES: Final = 512 * 1024
"""Bytes of a request: the largest transaction in hex, and more."""
MAX_EVM_BATCH: Final = 50
_LIMITS: Final = JsonLimits(
    size=MAX_EVM_REQUEST_BYTES, values=16_384, depth=16, filling=64 * 1024, wide=64 * 1024
)
_BUSY: Final = b"Too many connections. Please try again later.\n"
_PAGE: Final = b"JSON-RPC of a local EVM chain: POST a call to this address, or give it to a wallet.\n"


class EvmPort:
    """The port of a chain."""

    def __init__(self, chain: EvmChain) -> None:
        self.chain = chain
        self._turn = trio.CapacityLimiter(1)
        self._origins = origin_policy(None, (), 0)

    async def run(self, port: int, *, task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve until cancelled; started with the port number (useful with port 0). Raises ListenError."""
        sockets = listen(Listen([HOST], port, "EVM chain's", "choose another with --port"))
        number: int = sockets[0].getsockname()[1]
        self._origins = origin_policy(None, (), number)
        task_status.started(number)
        limits = PortLimits("EVM chain", log, MAX_EVM_CONNECTIONS, is_external=False, busy=_BUSY)
        await PortServer(self, limits).run(sockets)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request; refuse a WebSocket."""
        if scope["type"] != "http":
            await receive()
            await deny(send, HttpRefusal(404, _PAGE))
            return
        headers = joined(scope["headers"])
        origin = headers.get(b"origin")
        refused = self._origins.refusal(headers.get(b"host"), origin)
        cors = self._origins.cors_headers(origin)
        if refused is not None:
            await respond(send, 403, refused, [TEXT])
        elif scope["method"] == "OPTIONS":
            await respond(send, 200, b"", self._origins.preflight_headers(origin, takes_tokens=False))
        elif scope["method"] in ("GET", "HEAD"):
            await respond(send, 200, _PAGE, [TEXT, *cors])
        elif scope["method"] != "POST":
            await respond(send, 405, _PAGE, [TEXT, (b"allow", b"GET, HEAD, POST"), *cors])
        elif (
            body := await posted_json(scope, headers, receive, send, MAX_EVM_REQUEST_BYTES, cors)
        ) is not None:
            await respond(send, 200, await self.reply(body), [JSON, *cors])

    async def reply(self, body: bytes) -> bytes:
        """Return the answer to a call or a batch; b"" for a notification."""
        try:
            message = jsonrpc.parse(require_light(body, _LIMITS), MAX_EVM_BATCH)
        except ForeignError as error:
            error_json = RpcError(ErrorCode.INVALID_REQUEST, f"the request {error}")
            return jsonrpc.failure(jsonrpc.NULL, error_json)
        return await reply_to(message, self.call)

    async def call(self, message: RpcCall) -> Any:
        """Return the result of a call. Raises RpcError."""
        return await self.work(called, message.method, message.arguments())

    async def work(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return what a function makes of the chain, when its turn has come."""
        return await trio.to_thread.run_sync(
            function, self.chain, *arguments, limiter=self._turn, abandon_on_cancel=True
        )
