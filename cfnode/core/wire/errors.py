"""The error of a malformed message of a peer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cfnode.core.p2p.errors import RemoteError

__all__ = ["WireError", "reading"]


class WireError(ValueError):
    """A message that breaks its format or its bounds; the text names the message and the reason."""


@contextmanager
def reading(message: str) -> Iterator[None]:
    """Turn the errors of the decoders in a `with` block into one WireError that names the message."""
    try:
        yield
    except WireError:
        raise
    except (RemoteError, ValueError) as error:  # ScaleError and TrieError are ValueErrors
        raise WireError(f"{message}: {error}") from error
