"""Why should nobody rely on this node just now?

`/health/readiness` and the metrics ask. Each impediment has a kind, for programs, and words, for people.
"""

from __future__ import annotations

from typing import Literal, TypedDict

__all__ = ["Impediment"]


class Impediment(TypedDict):
    """`kind`: `syncing`, `isolated` (no peers, or no blocks), or `failing` (a block it cannot execute)."""

    kind: Literal["syncing", "isolated", "failing"]
    message: str
