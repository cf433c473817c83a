"""Who broke the rules of a connection: they or we?"""

from __future__ import annotations

__all__ = ["FloodError", "LocalError", "RemoteError"]


class RemoteError(Exception):
    """The other side broke a protocol; the text says how. Its connection (or substream) ends here."""


class FloodError(RemoteError):
    """The other side keeps within the format, but makes us work for nothing."""


class LocalError(Exception):
    """Our own code asked for what the protocol does not allow: a bug of ours, not of a peer."""
