"""Why should clients not rely on this node now?

`/health/readiness` lists the impediments: each has a kind, for programs, and a message, for people.
"""

from __future__ import annotations

from typing import Literal, TypedDict

__all__ = ["Impediment"]


class Impediment(TypedDict):
    """`kind`: `syncing`, `isolated` (no peers, or no blocks), or `failing` (a block it cannot execute)."""

    kind: Literal["syncing", "isolated", "failing"]
    message: str
