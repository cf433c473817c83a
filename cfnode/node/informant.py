"""Log lines of a running node (the informant).

They are the official node's lines, which guides refer to: one for each imported block and each
reorganization, and a summary every five seconds.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import trio

from cfnode.core.block import BlockRef
from cfnode.node.chain.events import BestChanged, Imported
from cfnode.node.chain.view import ChainView

log = logging.getLogger("cfnode.informant")

INFORMANT_INTERVAL_S = 5.0
KIB = 1024


def short(block_hash: bytes) -> str:
    """Return a hash shortened as in `0xc279…f190`."""
    text = block_hash.hex()
    return f"0x{text[:4]}…{text[-4:]}"


def _named(block: BlockRef) -> str:
    return f"#{block.number} ({short(block.hash)})"


def idle_line(peers: int, best: BlockRef, finalized: BlockRef, received: float = 0, sent: float = 0) -> str:
    """Return the summary of a synced node; `received` and `sent` in bytes per second."""
    plural = "peer" if peers == 1 else "peers"
    traffic = f"⬇ {_speed(received)} ⬆ {_speed(sent)}"
    return f"💤 Idle ({peers} {plural}), best: {_named(best)}, finalized {_named(finalized)}, {traffic}"


def _speed(rate: float) -> str:
    """Return a rate as Substrate writes it: `0`, `512 B/s`, `229.9kiB/s`, `3.2MiB/s`.

    `rate`: bytes per second.
    """
    if rate < 1:
        return "0"
    if rate < KIB:
        return f"{rate:.0f} B/s"
    return f"{rate / KIB:.1f}kiB/s" if rate < KIB * KIB else f"{rate / KIB / KIB:.1f}MiB/s"


def imported_line(event: Imported) -> str:
    """Return the line of an imported block, on the best chain or on a fork."""
    sign = "🏆" if event.is_best else "🆕"
    parent, block = short(event.header.parent_hash), short(event.block.hash)
    return f"{sign} Imported #{event.block.number} ({parent} → {block})"


class Informant:
    """The logger of the informant's lines.

    `peers` returns the number of peers; `syncing` the text of the sync (None: the node is synced); `traffic`
    the bytes received and sent since the start; `isolated` the text of a node without new blocks (None:
    blocks arrive).
    """

    def __init__(
        self,
        chain: ChainView,
        peers: Callable[[], int],
        syncing: Callable[[], str | None] = lambda: None,
        traffic: Callable[[], tuple[int, int]] = lambda: (0, 0),
        isolated: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._chain = chain
        self._peers = peers
        self._syncing = syncing
        self._traffic = traffic
        self._isolated = isolated

    async def run(self) -> None:
        """Log until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._log_state)
            nursery.start_soon(self._log_blocks)

    async def _log_state(self) -> None:
        before = self._traffic()
        while True:
            await trio.sleep(INFORMANT_INTERVAL_S)
            now = self._traffic()
            rates = (
                (later - earlier) / INFORMANT_INTERVAL_S for earlier, later in zip(before, now, strict=True)
            )
            line = idle_line(self._peers(), self._chain.best, self._chain.finalized, *rates)
            before = now
            log.info(line.replace("💤 Idle", self._syncing() or self._isolated() or "💤 Idle", 1))

    async def _log_blocks(self) -> None:
        while True:
            before = self._chain.best
            with self._chain.subscribe() as events:
                async for event in events:
                    if isinstance(event, Imported):
                        log.info(imported_line(event))
                    elif isinstance(event, BestChanged):
                        if event.retracted:
                            log.info(self._reorganised_line(before, event))
                        before = event.new

    def _reorganised_line(self, before: BlockRef, event: BestChanged) -> str:
        oldest = self._chain.header(event.enacted[0])
        common = (
            "" if oldest is None else f", common ancestor #{oldest.number - 1},{short(oldest.parent_hash)}"
        )
        return (
            f"♻️  Reorg on #{before.number},{short(before.hash)} "
            f"to #{event.new.number},{short(event.new.hash)}{common}"
        )
