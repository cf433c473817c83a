"""An answer as a list of pieces that wait to be sent; many answers may share the largest piece.

Data for many clients is encoded once and kept as text. An answer with such a text has its own head and a view
of the text, so that a hundred slow clients share one copy of it.
"""

from __future__ import annotations

from typing import Final

__all__ = ["NOTHING", "SHARED_FROM", "Part", "Reply", "whole"]

Part = bytes | memoryview
SHARED_FROM: Final = 16 * 1024
"""Bytes from which on cached text is not copied into an answer; below, a copy is cheaper than a piece."""


class Reply:
    """The pieces of an answer in order; empty if there is no answer."""

    __slots__ = ("parts", "size")

    def __init__(self, *parts: Part) -> None:
        self.parts = parts
        self.size = sum(map(len, parts))

    def __bool__(self) -> bool:
        """Return whether there is an answer to send."""
        return self.size > 0

    @property
    def shared(self) -> list[memoryview]:
        """The pieces that other answers may hold, too."""
        return [part for part in self.parts if type(part) is memoryview]

    @property
    def own(self) -> int:
        """The bytes that this answer alone holds."""
        return self.size - sum(map(len, self.shared))


NOTHING: Final = Reply()


def whole(data: bytes) -> Reply:
    """Return an answer of one piece; NOTHING if `data` is empty."""
    return Reply(data) if data else NOTHING
