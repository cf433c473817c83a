"""Address of a test's development chain, and the SDK's client for it.

`AtNode` is the base of the blocking and the async client.
"""

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
        """The node's address for WebSocket connections (`ws://…`)."""
        return self.url.replace("http://", "ws://", 1)
