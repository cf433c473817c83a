"""Answer that tells a browser of new blocks by server-sent events, for a limited time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import trio
from starlette.responses import Response

from cfnode.dashboard.pulse import Pulse

__all__ = ["EventStream"]

Message = MutableMapping[str, Any]


class EventStream(Response):
    """Answer that stays open."""

    def __init__(self, pulse: Pulse) -> None:
        # Proxies shall pass each event on at once.
        headers = {"cache-control": "no-store, no-transform", "x-accel-buffering": "no"}
        super().__init__(None, 200, headers, "text/event-stream")
        self._pulse = pulse
        self.raw_headers = [header for header in self.raw_headers if header[0] != b"content-length"]

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Send events until the end."""

        async def send_part(data: bytes) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": True})

        async def until_gone() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            nursery.cancel_scope.cancel()

        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async with trio.open_nursery() as nursery:
            nursery.start_soon(until_gone)
            await self._pulse.stream(send_part)
            nursery.cancel_scope.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})
