"""In which releases does a declaration stand?

    RefundFeeMultiple = Map("Twox64Concat", "ForeignChain", "u32", span=since("2.2.9"))
    PalletConfigUpdated = event(5, since("2.3.0"), update="…")
    BoundAddress = "…text of an error…", before("2.3.0")

A declaration without a span stands in all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from cfnode.devchain.runtime.release import Number, Release, number

__all__ = ["ALWAYS", "Span", "before", "since"]


@dataclass(frozen=True, slots=True)
class Span:
    """From one release on, and up to another one that lacks it; None is no limit."""

    since: Number = ()
    before: Number | None = None

    def covers(self, release: Release) -> bool:
        """Whether the release has the declaration."""
        return self.since <= release.number and (self.before is None or release.number < self.before)


ALWAYS = Span()


def since(release: str) -> Span:
    """In this release and all after it."""
    return Span(since=number(release))


def before(release: str) -> Span:
    """In all releases before this one."""
    return Span(before=number(release))
