"""The span of releases that have a declaration.

    RefundFeeMultiple = Map("Twox64Concat", "ForeignChain", "u32", span=since("2.2.9"))
    PalletConfigUpdated = event(5, since("2.3.0"), update="…")
    BoundAddress = "…text of an error…", before("2.3.0")

All releases have a declaration without a span.
"""

from __future__ import annotations

from dataclasses import dataclass

from cfnode.devchain.runtime.release import Number, Release, number

__all__ = ["ALWAYS", "Span", "before", "since"]


@dataclass(frozen=True, slots=True)
class Span:
    """From the release `since` on, up to the release `before`, which lacks it; None is no limit."""

    since: Number = ()
    before: Number | None = None

    def covers(self, release: Release) -> bool:
        """Return whether the release has the declaration."""
        return self.since <= release.number and (self.before is None or release.number < self.before)


ALWAYS = Span()


def since(release: str) -> Span:
    """Return the span of this release and all after it."""
    return Span(since=number(release))


def before(release: str) -> Span:
    """Return the span of all releases before this one."""
    return Span(before=number(release))
