"""Types of the node's health, and of the reasons why clients should not rely on it now.

`/health/readiness` lists the impediments: each has a kind, for programs, and a message, for people.
"""

from __future__ import annotations

from typing import Literal, TypedDict

__all__ = ["Health", "Impediment"]


class Health(TypedDict):
    """The response of Substrate's `system_health`."""

    peers: int
    isSyncing: bool
    shouldHavePeers: bool


class Impediment(TypedDict):
    """A reason why clients should not rely on the node.

    `kind`: `syncing`, `isolated` (no peers, or no blocks), or `failing` (a block that the node cannot
    execute).
    """

    kind: Literal["syncing", "isolated", "failing"]
    message: str
