"""Errors of the test kit's own; those of the node's answers are the SDK's."""

from __future__ import annotations

__all__ = ["NodeDidNotStart", "NotReached", "UnknownEvent"]


class NodeDidNotStart(RuntimeError):
    """The node exited or does not listen; the text has the last lines of its log."""


class NotReached(AssertionError):
    """The event did not occur within `max_blocks`."""


class UnknownEvent(ValueError):
    """The runtime has no event of this name; the message suggests similar ones."""
