"""Ids of the consensus engines of digest items and justifications: four bytes each."""

from __future__ import annotations

__all__ = ["AURA", "GRANDPA"]

AURA = b"aura"
"""Authorship: whose slot it is, and the author's seal."""
GRANDPA = b"FRNK"
"""Finality: changes of the authorities, and their votes."""
