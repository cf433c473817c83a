"""Well-known accounts of a development chain, whose secrets are public.

The node reads them here without importing the runtime.
"""

from __future__ import annotations

from typing import Final

__all__ = ["FLIP", "WELL_KNOWN", "WELL_KNOWN_FLIP", "authority_uri"]

FLIP: Final = 10**18
"""Smallest units of one FLIP."""
WELL_KNOWN: Final = ("Alice", "Bob", "Charlie", "Dave", "Eve", "Ferdie")
WELL_KNOWN_FLIP: Final = 1_000_000 * FLIP
"""What each of them has in genesis, in smallest units."""


def authority_uri(index: int) -> str:
    """Return the secret URI of a development authority's Aura key (sr25519) and GRANDPA key (ed25519)."""
    return f"//{WELL_KNOWN[index]}" if index < len(WELL_KNOWN) else f"//Authority//{index}"
