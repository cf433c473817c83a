"""The error of a malformed address."""

from __future__ import annotations

__all__ = ["AddressError"]


class AddressError(ValueError):
    """A malformed address; the text names the rule that it breaks.

    `official` is the official node's text for the same fault, which its clients know.
    """

    def __init__(self, text: str, official: str | None = None) -> None:
        super().__init__(text)
        self.official = official or text
