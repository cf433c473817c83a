"""Which consensus engine does a digest item or a justification belong to? Engines have ids of four bytes."""

from __future__ import annotations

__all__ = ["AURA", "GRANDPA"]

AURA = b"aura"
"""Authorship: whose slot it is, and the author's seal."""
GRANDPA = b"FRNK"
"""Finality: changes of the authorities, and their votes."""
