"""Metrics of a signing account of the node: its balances and channels, and the outcomes of its calls.

The figures of the account cost runtime calls. They are read when the metrics are requested, once for a best
block, and exported until the next reading. If reading fails, they are absent: an old balance must not look
like a present one.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Generic, TypeVar

import trio

from cfnode.node.metrics.registry import MetricsRegistry, Sample, by_label
from cfnode.node.signing.submission_tally import SubmissionTally

__all__ = ["AccountMetrics"]

log = logging.getLogger("cfnode.prometheus")

FIGURES_TIMEOUT_S = 5.0
"""Seconds that a scrape waits for the reading; Prometheus gives up after ten."""

Figures = TypeVar("Figures")


class AccountMetrics(Generic[Figures]):
    """The metrics of one account; `namespace` is `broker` or `lp`.

    `best`: returns the block to read at; None without a state.
    """

    def __init__(
        self,
        namespace: str,
        registry: MetricsRegistry,
        tally: SubmissionTally,
        best: Callable[[], bytes | None],
    ) -> None:
        self._best = best
        self._read: Callable[[bytes], Awaitable[Figures]] | None = None
        self._at: bytes | None = None
        self._figures: Figures | None = None
        self._reading = trio.Lock()
        self._namespace, self._registry = namespace, registry
        registry.read(f"cfnode_{namespace}_calls_waiting", lambda: tally.waiting)
        registry.read_many(f"cfnode_{namespace}_extrinsics_total", by_label(lambda: tally.outcomes))

    def export(self, name: str, value: Callable[[Figures], float]) -> None:
        """Export a figure of the account under `name`."""
        self._registry.read_many(
            f"cfnode_{self._namespace}_{name}",
            lambda: () if self._figures is None else (((), value(self._figures)),),
        )

    def export_each(self, name: str, values: Callable[[Figures], Mapping[str, float]]) -> None:
        """Export figures by the value of one label."""

        def samples() -> Iterable[Sample]:
            readings = {} if self._figures is None else values(self._figures)
            return [((label,), value) for label, value in readings.items()]

        self._registry.read_many(f"cfnode_{self._namespace}_{name}", samples)

    def read_with(self, read: Callable[[bytes], Awaitable[Figures]]) -> None:
        """Read the figures at a block with `read` from now on; without a function they are absent."""
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

    async def _read_at(self, block: bytes, read: Callable[[bytes], Awaitable[Figures]]) -> Figures | None:
        try:
            with trio.fail_after(FIGURES_TIMEOUT_S):
                return await read(block)
        except trio.TooSlowError:
            log.debug("The account of %s was not read within %g s", self._namespace, FIGURES_TIMEOUT_S)
        except Exception as error:  # an unexpected answer of the runtime fails these metrics, not the others
            log.debug("The account of %s could not be read: %s", self._namespace, error)
        return None
