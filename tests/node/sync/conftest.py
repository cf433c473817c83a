"""Nodes of the mini chain that see each other through a network in memory."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from tests.node.conftest import make_rig, rig

__all__ = ["make_rig", "patient_clock", "rig"]


@pytest.fixture
def patient_clock() -> MockClock:
    """Time jumps when all has been quiet for a moment, not while a thread is at work."""
    return MockClock(autojump_threshold=0.05)
