"""A follow of `chainHead_v1_follow`."""

from __future__ import annotations

from typing import Any

import trio

from tests.rpc.clients import WebSocket
from tests.support.waiting import LIMIT_S


class Head:
    """One follow on one WebSocket."""

    def __init__(self, ws: WebSocket, identity: str) -> None:
        self.ws = ws
        self.identity = identity

    async def event(self) -> dict[str, Any]:
        """Return its next event."""
        with trio.fail_after(LIMIT_S):
            params = await self.ws.notification()
        assert params["subscription"] == self.identity
        event: dict[str, Any] = params["result"]
        return event

    async def events(self, count: int) -> list[dict[str, Any]]:
        """Return its next events."""
        return [await self.event() for _ in range(count)]

    async def answer(self, method: str, *params: Any) -> Any:
        """Return the whole answer to a method that takes the follow first."""
        return await self.ws.call(f"chainHead_v1_{method}", self.identity, *params)

    async def call(self, method: str, *params: Any) -> Any:
        """Return its result."""
        return (await self.answer(method, *params))["result"]

    async def code(self, method: str, *params: Any) -> int:
        """Return the code of its error."""
        code: int = (await self.answer(method, *params))["error"]["code"]
        return code

    async def done(self, method: str, *params: Any) -> list[dict[str, Any]]:
        """Return all events of an operation, without its id."""
        begun = await self.call(method, *params)
        assert begun["result"] == "started"
        events: list[dict[str, Any]] = []
        while not events or events[-1]["event"] in ("operationStorageItems", "operationWaitingForContinue"):
            event = await self.event()
            assert event.pop("operationId") == begun["operationId"]
            events.append(event)
        return events


async def followed(ws: WebSocket, *, with_runtime: bool = True) -> Head:
    """Return a new follow."""
    return Head(ws, (await ws.call("chainHead_v1_follow", with_runtime))["result"])
