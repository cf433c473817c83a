"""How does a development chain go back to a block and a state that it had, final blocks included?

A snapshot is a copy of the database, and of what the process holds: overlays, the transactions that wait,
the chain's clock, and what a test has set (finality, signatures, silent authorities, announced deposits). To
revert puts all of it in place again, so that the same calls then give the same blocks. Clients that follow
the chain receive `Reverted`; a transaction that was sent later ends as dropped.

Other nodes cannot go back behind a block that is final for them: while there are peers nothing is reverted.
Snapshots are bounded in number and in bytes, lie in the base path, and end with the process.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import trio

from cfnode.core.addresses import EncodedAddress
from cfnode.devchain.author import Author
from cfnode.devchain.clock import ChainClock
from cfnode.devchain.voter import Voter
from cfnode.node.chain import ChainCopy
from cfnode.node.chain_errors import ChainRefusal
from cfnode.node.node import Node
from cfnode.node.pool_errors import PoolError

__all__ = ["MAX_SNAPSHOTS", "Announced", "SnapshotError", "Snapshots"]

MAX_SNAPSHOTS = 32
"""Tests nest a few fixtures; far more means that nothing is ever reverted."""
MAX_BYTES = 1 << 30
"""Of all copies together. A young chain takes a few MiB, a live network's state hundreds."""


class SnapshotError(ChainRefusal):
    """No snapshot can be taken, or none reverted to; the text says why."""


@dataclass(frozen=True, slots=True)
class Announced:
    """A deposit that was announced and has not been witnessed; `transaction` None if none was named."""

    amount: int
    transaction: bytes | None


@dataclass(frozen=True, slots=True)
class _Moment:
    """All that a development chain was; `waiting`: data and source of the pool's transactions."""

    chain: ChainCopy
    directory: Path
    size: int
    waiting: tuple[tuple[bytes, int], ...]
    slots: tuple[int | None, int]
    finality: tuple[bool, frozenset[int]]
    signs: bool
    announced: dict[EncodedAddress, Announced]


class Snapshots:
    """The snapshots of one chain, by numbers that are used once. `directory`: for the copies alone."""

    def __init__(self, directory: Path, node: Node, author: Author, voter: Voter, clock: ChainClock) -> None:
        self._directory = directory
        self._node = node
        self._author = author
        self._voter = voter
        self._clock = clock
        self._moments: dict[int, _Moment] = {}
        self._last = 0
        self.announced: dict[EncodedAddress, Announced] = {}
        """Deposits on their way, by address: the newest of each. The chain itself notes only boosted ones."""

    async def take(self) -> int:
        """Remember the chain as it is; the number to revert to. Raises SnapshotError."""
        async with self._author.making, self._voter.signing:
            if len(self._moments) >= MAX_SNAPSHOTS:
                raise SnapshotError(
                    f"{MAX_SNAPSHOTS} snapshots are kept, as many as there may be: dev_revert to one of them"
                )
            self._require_room(self._node.store.database.used)
            if not self._last:
                await self.clear()  # what a process left that was killed
            self._last = number = self._last + 1
            self._moments[number] = await self._moment(self._directory / str(number))
        return number

    async def revert(self, number: int) -> None:
        """Be again what the chain was; that snapshot and all later ones are used up. Raises SnapshotError."""
        async with self._author.making, self._voter.signing:
            moment = self._moments.get(number)
            if moment is None:
                raise SnapshotError(f"snapshot {number:#x} is unknown or used: each is reverted to once")
            if self._node.peers:
                raise SnapshotError(
                    f"{self._node.peers} nodes follow this chain, and a final block stays final for them: "
                    "stop them, and let them begin with an empty database afterwards"
                )
            with trio.CancelScope(shield=True):  # a client that leaves meanwhile leaves no half of it
                await self._node.chain.restore(moment.chain)
                self._restore(moment)
                await self._forget([each for each in self._moments if each >= number])
        for data, source in moment.waiting:
            with suppress(PoolError):  # a transaction that is not valid any more
                await self._node.pool.submit(data, source)

    async def clear(self) -> None:
        """Delete all copies."""
        self._moments.clear()
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(_delete, self._directory)

    async def _moment(self, directory: Path) -> _Moment:
        await trio.to_thread.run_sync(partial(directory.mkdir, parents=True))
        try:
            chain = await self._node.chain.copy(directory)
            size = await trio.to_thread.run_sync(_size, directory)
            self._require_room(size)
        except BaseException:
            _delete(directory)
            raise
        return _Moment(
            chain=chain,
            directory=directory,
            size=size,
            waiting=tuple(
                (each.data, each.source) for each in (*self._node.pool.ready(), *self._node.pool.futures())
            ),
            slots=self._clock.place,
            finality=(self._voter.is_held, self._voter.silent),
            signs=self._author.signs,
            announced=dict(self.announced),
        )

    def _require_room(self, size: int) -> None:
        if size + sum(each.size for each in self._moments.values()) > MAX_BYTES:
            raise SnapshotError(f"the snapshots would take more than {MAX_BYTES >> 20} MiB")

    def _restore(self, moment: _Moment) -> None:
        self._clock.place = moment.slots
        self._voter.set(*moment.finality)
        self._author.signs = moment.signs
        self.announced.clear()
        self.announced.update(moment.announced)

    async def _forget(self, numbers: list[int]) -> None:
        for number in numbers:
            await trio.to_thread.run_sync(_delete, self._moments.pop(number).directory)


def _size(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.iterdir())


def _delete(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
