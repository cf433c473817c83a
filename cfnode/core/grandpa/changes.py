"""Changes of the authorities that headers announce.

An announcement is a consensus item of the engine `FRNK` in the digest; at most one per block counts. A
*scheduled* change takes effect when the block `delay` after it is finalized (on this chain the delay is 0:
the block itself, still finalized by the old set). A *forced* change needs no finality at all and outranks a
scheduled one; only the chain's governance enacts it, when finality has stalled. Substrate, GRANDPA consensus
log.
"""

from __future__ import annotations

from dataclasses import dataclass

from cfnode.core.engines import GRANDPA as ENGINE
from cfnode.core.grandpa.authorities import Authority, encode_authorities, read_authorities
from cfnode.core.header import DigestItem, DigestKind, Header
from cfnode.core.scale import ByteCursor

__all__ = ["ENGINE", "ForcedChange", "ScheduledChange", "forced_change", "scheduled_change"]

_SCHEDULED, _FORCED = 1, 2


@dataclass(frozen=True, slots=True)
class ScheduledChange:
    """New authorities from the block on that is `delay` blocks later, once it is final."""

    authorities: tuple[Authority, ...]
    delay: int = 0

    def item(self) -> DigestItem:
        """Return the announcement as a digest item."""
        tail = encode_authorities(self.authorities) + self.delay.to_bytes(4, "little")
        return DigestItem(DigestKind.CONSENSUS, ENGINE, bytes((_SCHEDULED,)) + tail)


@dataclass(frozen=True, slots=True)
class ForcedChange:
    """New authorities `delay` blocks later, final or not.

    `median` is the number of the block that the median node has finalized.
    """

    median: int
    authorities: tuple[Authority, ...]
    delay: int


def scheduled_change(header: Header) -> ScheduledChange | None:
    """Return the scheduled change in a header, or None; raise ScaleError where it is malformed."""
    cursor = _find(header, _SCHEDULED)
    if cursor is None:
        return None
    change = ScheduledChange(read_authorities(cursor), cursor.u32())
    cursor.finish()
    return change


def forced_change(header: Header) -> ForcedChange | None:
    """Return the forced change in a header, or None; raise ScaleError where it is malformed."""
    cursor = _find(header, _FORCED)
    if cursor is None:
        return None
    change = ForcedChange(cursor.u32(), read_authorities(cursor), cursor.u32())
    cursor.finish()
    return change


def _find(header: Header, variant: int) -> ByteCursor | None:
    for item in header.digest:
        if item.kind is DigestKind.CONSENSUS and item.engine == ENGINE and item.data[:1] == bytes((variant,)):
            return ByteCursor(item.data, 1)
    return None
