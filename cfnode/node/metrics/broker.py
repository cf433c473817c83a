"""What does the broker have, and what became of its calls?

Balances and channels cost runtime calls. They are read when the metrics are requested, once for a best block,
and what was read is exported until the next reading. If reading fails, their metrics are absent: an old
balance must not look like a present one.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

import trio

from cfnode.node.metrics.registry import Registry, Sample, by_label
from cfnode.node.submission_tally import SubmissionTally

__all__ = ["BrokerFigures", "BrokerMetrics", "ReadBroker", "export_tally"]

log = logging.getLogger("cfnode.prometheus")

READ_S = 5.0
"""Seconds that a scrape waits for the reading; Prometheus gives up after ten."""


@dataclass(frozen=True, slots=True)
class BrokerFigures:
    """Amounts in whole units; `earned_fees` by asset (`Ethereum/USDC`)."""

    flip: float
    earned_fees: Mapping[str, float]
    open_channels: int


ReadBroker = Callable[[bytes], Awaitable[BrokerFigures]]
"""Reads the figures at a block."""


def export_tally(registry: Registry, namespace: str, tally: SubmissionTally) -> None:
    """Export how many calls of a signing account wait, and how the others ended; `broker` or `lp`."""
    registry.read(f"cfnode_{namespace}_calls_waiting", lambda: tally.waiting)
    registry.read_many(f"cfnode_{namespace}_extrinsics_total", by_label(lambda: tally.outcomes))


class BrokerMetrics:
    """The metrics of the node's broker account. `best`: gives the block to read at, None without a state."""

    def __init__(self, registry: Registry, tally: SubmissionTally, best: Callable[[], bytes | None]) -> None:
        self._best = best
        self._read: ReadBroker | None = None
        self._at: bytes | None = None
        self._figures: BrokerFigures | None = None
        self._reading = trio.Lock()
        export_tally(registry, "broker", tally)
        registry.read_many("cfnode_broker_flip_balance", lambda: self._samples(lambda known: known.flip))
        registry.read_many(
            "cfnode_broker_open_channels", lambda: self._samples(lambda known: known.open_channels)
        )
        registry.read_many("cfnode_broker_earned_fees", self._fees)

    def read_with(self, read: ReadBroker) -> None:
        """Use this function for balances and channels; without one they are absent."""
        self._read = read

    async def refresh(self) -> None:
        """Read again if there is a new best block. Errors are logged; the figures are absent then."""
        async with self._reading:
            block = self._best()
            if block is None or self._read is None:
                self._figures = self._at = None
            elif block != self._at:
                self._figures = await self._read_at(block, self._read)
                self._at = block

    async def _read_at(self, block: bytes, read: ReadBroker) -> BrokerFigures | None:
        try:
            with trio.fail_after(READ_S):
                return await read(block)
        except trio.TooSlowError:
            log.debug("The broker's account was not read within %g s", READ_S)
        except Exception as error:  # whatever a runtime answers fails these metrics, not the others
            log.debug("The broker's account could not be read: %s", error)
        return None

    def _samples(self, value: Callable[[BrokerFigures], float]) -> Iterable[Sample]:
        return () if self._figures is None else (((), value(self._figures)),)

    def _fees(self) -> Iterable[Sample]:
        fees = {} if self._figures is None else self._figures.earned_fees
        return [((asset,), amount) for asset, amount in fees.items()]
