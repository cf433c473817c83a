"""Nodes of the mini chain that see each other through a network in memory."""

from __future__ import annotations

from tests.node.conftest import make_rig, rig

__all__ = ["make_rig", "rig"]
