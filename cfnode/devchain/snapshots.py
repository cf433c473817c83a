"""Snapshots of a development chain, to which it returns, even behind final blocks.

A snapshot is a copy of the database and of the data in memory: overlays, waiting transactions, the chain's
clock, and the settings of a test (finality, signatures, silent authorities, announced deposits). Reverting
restores all of it, so that the same calls then give the same blocks. Clients that follow the chain receive
`ChainReset`; a transaction that was sent after the snapshot ends as dropped.

Other nodes cannot go back behind a block that is final for them: with peers, a revert is refused. Snapshots
are bounded in number and in bytes, are stored in the base path, and are deleted at the end of the process.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import trio

from cfnode.core.addresses import EncodedAddress
from cfnode.devchain.author import Author
from cfnode.devchain.clock import ChainClock
from cfnode.devchain.voter import Voter
from cfnode.node.chain.chain import ChainCopy
from cfnode.node.chain.errors import ChainRefusal
from cfnode.node.node import Node
from cfnode.node.pool.errors import PoolError

__all__ = ["MAX_SNAPSHOTS", "SnapshotDeposit", "SnapshotError", "Snapshots"]

MAX_SNAPSHOTS = 32
"""Maximum snapshots: tests nest a few fixtures, and far more means that no snapshot is reverted to."""
MAX_SNAPSHOT_BYTES = 1 << 30
"""Bytes of all copies together. A young chain takes a few MiB, a live network's state hundreds."""


class SnapshotError(ChainRefusal):
    """A snapshot that cannot be taken or reverted to; the text says why."""


@dataclass(frozen=True, slots=True)
class SnapshotDeposit:
    """A deposit that was announced and not yet witnessed; `transaction` None if it has no given hash."""

    amount: int
    transaction: bytes | None


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The whole development chain at one moment; `waiting`: data and source of the pool's transactions."""

    chain: ChainCopy
    directory: Path
    size: int
    waiting: tuple[tuple[bytes, int], ...]
    slots: tuple[int | None, int]
    finality: tuple[bool, frozenset[int]]
    signs: bool
    holds: Any
    announced: dict[EncodedAddress, SnapshotDeposit]


class HoldsOwner(Protocol):
    """The engine of a chain in its own runtime: what a test holds back there is no part of the state."""

    holds: Any


class Snapshots:
    """The snapshots of one chain, by unique numbers. `directory`: contains nothing but the copies."""

    def __init__(self, directory: Path, node: Node, author: Author, voter: Voter, clock: ChainClock) -> None:
        self._directory = directory
        self._node = node
        self._author = author
        self._voter = voter
        self._clock = clock
        self._snapshots: dict[int, _Snapshot] = {}
        self._last = 0
        self.engine: HoldsOwner | None = None
        self.announced: dict[EncodedAddress, SnapshotDeposit] = {}
        """Announced deposits by address: the newest of each. The chain itself records only boosted ones."""

    async def take(self) -> int:
        """Copy the chain; returns the snapshot's number. Raises SnapshotError."""
        async with self._author.making, self._voter.signing:
            if len(self._snapshots) >= MAX_SNAPSHOTS:
                raise SnapshotError(
                    f"there are {MAX_SNAPSHOTS} snapshots, the maximum: call dev_revert for one of them"
                )
            self._require_room(self._node.store.database.used)
            if not self._last:
                await self.clear()  # copies of an earlier process that was killed
            self._last = number = self._last + 1
            self._snapshots[number] = await self._take(self._directory / str(number))
        return number

    async def revert(self, number: int) -> None:
        """Revert the chain to a snapshot, and delete that one and all later ones. Raises SnapshotError."""
        async with self._author.making, self._voter.signing:
            snapshot = self._snapshots.get(number)
            if snapshot is None:
                raise SnapshotError(f"snapshot {number:#x} is unknown or used: each can be reverted to once")
            if self._node.peers:
                raise SnapshotError(
                    f"{self._node.peers} nodes follow this chain, and a final block stays final for them: "
                    "stop them, and start them with an empty database afterwards"
                )
            with trio.CancelScope(shield=True):  # a disconnecting client must not interrupt the revert
                await self._node.chain.restore(snapshot.chain)
                self._restore(snapshot)
                await self._forget([height for height in self._snapshots if height >= number])
        for data, source in snapshot.waiting:
            with suppress(PoolError):  # a transaction that is no longer valid
                await self._node.pool.submit(data, source)

    async def clear(self) -> None:
        """Delete all copies."""
        self._snapshots.clear()
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(_delete, self._directory)

    async def _take(self, directory: Path) -> _Snapshot:
        await trio.to_thread.run_sync(partial(directory.mkdir, parents=True))
        try:
            chain = await self._node.chain.copy(directory)
            size = await trio.to_thread.run_sync(_size, directory)
            self._require_room(size)
        except BaseException:
            _delete(directory)
            raise
        return _Snapshot(
            chain=chain,
            directory=directory,
            size=size,
            waiting=tuple(
                (transaction.data, transaction.source)
                for transaction in (*self._node.pool.ready(), *self._node.pool.futures())
            ),
            slots=self._clock.position,
            finality=(self._voter.is_held, self._voter.silent),
            signs=self._author.signs,
            holds=None if self.engine is None else self.engine.holds,
            announced=dict(self.announced),
        )

    def _require_room(self, size: int) -> None:
        if size + sum(snapshot.size for snapshot in self._snapshots.values()) > MAX_SNAPSHOT_BYTES:
            raise SnapshotError(f"the snapshots would take more than {MAX_SNAPSHOT_BYTES >> 20} MiB")

    def _restore(self, snapshot: _Snapshot) -> None:
        self._clock.position = snapshot.slots
        self._voter.restore(*snapshot.finality)
        self._author.signs = snapshot.signs
        if self.engine is not None:
            self.engine.holds = snapshot.holds
        self.announced.clear()
        self.announced.update(snapshot.announced)

    async def _forget(self, numbers: list[int]) -> None:
        for number in numbers:
            await trio.to_thread.run_sync(_delete, self._snapshots.pop(number).directory)


def _size(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.iterdir())


def _delete(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
