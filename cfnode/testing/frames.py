"""Frames of cfnode that pytest leaves out of a traceback: those of an error that a test's author can act on.

A module with `__tracebackhide__ = expected` has its frames hidden. `hide_frames` gives it to all loaded
modules of cfnode; the plugin calls it for a failed test that uses its fixtures. An error that only a fault of
cfnode explains keeps all frames, and `pytest --full-trace` prints them always.
"""

from __future__ import annotations

import sys
from typing import Protocol

from cfnode.sdk.errors import SdkError
from cfnode.testing.errors import NotReached

__all__ = ["drop_causes", "expected", "hide_frames"]

MAX_CHAINED_ERRORS = 100
"""Maximum errors of a chain that are looked at."""


class _Raised(Protocol):
    """The part of pytest's ExceptionInfo that is read."""

    @property
    def value(self) -> BaseException: ...


def expected(raised: _Raised | None) -> bool:
    """Return whether an error is one that the called functions document."""
    return raised is not None and isinstance(raised.value, SdkError | NotReached | ValueError | TypeError)


def drop_causes(error: BaseException) -> None:
    """Remove the causes of an SDK's error in a chain of errors: those of the HTTP client below it."""
    link: BaseException | None = error
    for _ in range(MAX_CHAINED_ERRORS):
        if link is None:
            return
        if isinstance(link, SdkError):
            link.__cause__, link.__suppress_context__ = None, True
            return
        link = link.__cause__ or link.__context__


def hide_frames() -> None:
    """Hide the frames of all loaded modules of cfnode."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "cfnode":
            vars(module).setdefault("__tracebackhide__", expected)
