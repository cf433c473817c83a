"""Counts of the node's own calls, for the metrics: waiting ones, and ended ones by outcome."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

__all__ = ["OUTCOMES", "Outcome", "SubmissionTally"]

Outcome = Literal["included", "failed", "refused", "dropped", "unknown"]
OUTCOMES: Final[tuple[Outcome, ...]] = ("included", "failed", "refused", "dropped", "unknown")
"""In a block; in a block with an error; not sent; sent and no longer in the pool; no block in time."""


class SubmissionTally:
    """The counter of calls. `waiting`: calls under way. `outcomes`: ended calls so far, by outcome."""

    def __init__(self) -> None:
        self.waiting = 0
        self.outcomes: dict[str, int] = dict.fromkeys(OUTCOMES, 0)

    def count(self, outcome: Outcome) -> None:
        """Count a call that has ended."""
        self.outcomes[outcome] += 1

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Count a call as waiting inside the `with`."""
        self.waiting += 1
        try:
            yield
        finally:
            self.waiting -= 1
