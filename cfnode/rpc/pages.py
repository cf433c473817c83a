"""What else can the port of JSON-RPC serve? HTTP requests that a service above this room answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["Answer", "Pages"]


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer: status and body; `is_text` if the body is not JSON."""

    status: int
    body: bytes
    is_text: bool = False


class Pages(Protocol):
    """Requests that are not JSON-RPC, and their answers."""

    @property
    def max_body(self) -> int:
        """Bytes that the body of a request may have."""
        ...

    def serves(self, method: str, path: str) -> bool:
        """Whether a request is one of these."""
        ...

    async def answer(self, path: str, query: bytes, body: bytes, sdk_version: str) -> Answer:
        """The answer to a request that is served; `sdk_version` is "" where the client does not state one."""
        ...
