"""Interface of a service that answers HTTP requests other than JSON-RPC on the node's port."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["PageAnswer", "Pages"]


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """HTTP answer: status and body; `is_text` if the body is not JSON."""

    status: int
    body: bytes
    is_text: bool = False


class Pages(Protocol):
    """Service for requests that are not JSON-RPC."""

    @property
    def max_body(self) -> int:
        """Maximum size of a request's body, in bytes."""
        ...

    def serves(self, method: str, path: str) -> bool:
        """Return whether the service answers this request."""
        ...

    async def answer(self, path: str, query: bytes, body: bytes, sdk_version: str) -> PageAnswer:
        """Return the answer to a request; `sdk_version` is "" if the client does not state one."""
        ...
