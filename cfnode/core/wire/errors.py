"""What is wrong with bytes that came from a peer?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cfnode.core.p2p.errors import RemoteError

__all__ = ["WireError", "reading"]


class WireError(ValueError):
    """A message that breaks its format or its bounds; the text names the message and the reason."""


@contextmanager
def reading(message: str) -> Iterator[None]:
    """What the layers below say of malformed bytes, as one error that names the message."""
    try:
        yield
    except WireError:
        raise
    except (RemoteError, ValueError) as error:  # ScaleError and TrieError are ValueErrors
        raise WireError(f"{message}: {error}") from error
