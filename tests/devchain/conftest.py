"""The mini chain of the node's tests, opened for one test."""

from tests.node.conftest import make_rig, rig

__all__ = ["make_rig", "rig"]
