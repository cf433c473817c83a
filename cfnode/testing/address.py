"""Which address does the development chain of a test have? The base of the blocking and the async client."""

from __future__ import annotations

from typing import Generic, TypeVar

from cfnode.sdk import AsyncSwapSDK, SwapSDK

__all__ = ["AtNode"]

Client = TypeVar("Client", SwapSDK, AsyncSwapSDK)


class AtNode(Generic[Client]):
    """A node's address, and the SDK's client for it.

    `url` is for JSON-RPC, for the swap service (`backend_url`) and for broker calls; `sdk` opens channels by
    the swap service.
    """

    def __init__(self, url: str, client: type[Client]) -> None:
        self.url = url
        self.sdk: Client = client(network="dev", rpc_url=url, backend_url=url)

    @property
    def ws_url(self) -> str:
        """The same node over WebSocket."""
        return self.url.replace("http://", "ws://", 1)
