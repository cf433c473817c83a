"""Random faults of the soak's network: kills, pauses, cut connections, jumps of the clock."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from cfnode.cli.client import CallRefused, NodeUnreachable
from scripts.soak_suite.network import Network

MIN_PAUSE_S, MAX_PAUSE_S = 2.0, 10.0
"""Seconds between two faults."""
MIN_LENGTH_S, MAX_LENGTH_S = 3.0, 30.0
"""Seconds of a pause, a cut connection, or a kill."""
MAX_DOWN = 0.34
"""Maximum share of nodes that are killed or paused at a time."""
JUMP_MS = 3_600_000


@dataclass(order=True)
class Repair:
    """Action that is due later."""

    when: float
    what: Callable[[], None] = field(compare=False)


class Troubles:
    """Source of one fault after the other; `step` performs due actions."""

    def __init__(self, network: Network, seed: int, *, hurry: float = 1.0) -> None:
        self._network, self._chance, self._hurry = network, random.Random(seed), hurry
        self._repairs: list[Repair] = []
        self._next = time.monotonic() + 1
        self.counts: Counter[str] = Counter()
        self._kinds = [self._death] * 3 + [self._standstill] * 3 + [self._executor] * 4
        self._kinds += [self._cut] * 3 + [self._jump]

    def step(self) -> None:
        """Do due repairs, and begin a trouble if its time has come."""
        now = time.monotonic()
        for repair in sorted(repair for repair in self._repairs if repair.when <= now):
            self._repairs.remove(repair)
            repair.what()
        if now >= self._next:
            self._next = now + self._hurry * self._chance.uniform(MIN_PAUSE_S, MAX_PAUSE_S)
            trouble = self._chance.choice(self._kinds)
            if trouble():
                self.counts[trouble.__name__.removeprefix("_")] += 1

    def end(self) -> None:
        """End all faults."""
        for repair in sorted(self._repairs):
            repair.what()
        self._repairs.clear()

    def _later(self, what: Callable[[], None]) -> None:
        length = self._hurry * self._chance.uniform(MIN_LENGTH_S, MAX_LENGTH_S)
        self._repairs.append(Repair(time.monotonic() + length, what))

    def _someone(self) -> int | None:
        """Return the number of a node that may have a fault; None if too many already do."""
        members = self._network.members
        able = [at for at, member in enumerate(members) if member.is_alive and not member.is_stopped]
        if len(members) - len(able) + 1 > max(1, MAX_DOWN * len(members)):
            return None
        return self._chance.choice(able)

    def _death(self) -> bool:
        at = self._someone()
        if at is not None:
            member = self._network.members[at]
            member.die()
            self._later(member.start)
        return at is not None

    def _standstill(self) -> bool:
        at = self._someone()
        if at is not None:
            member = self._network.members[at]
            member.stand_still()
            self._later(member.go_on)
        return at is not None

    def _executor(self) -> bool:
        at = self._someone()
        if at is not None:
            self._network.members[at].kill_executor(self._chance)
        return at is not None

    def _cut(self) -> bool:
        uncut = [wire for wire in self._network.wires if not wire.is_cut]
        if uncut:
            wire = self._chance.choice(uncut)
            wire.cut()
            self._later(wire.mend)
        return bool(uncut)

    def _jump(self) -> bool:
        """Move the chain's clock forward by an hour between two blocks."""
        with suppress(NodeUnreachable, CallRefused):
            if not self._network.author.is_stopped:
                self._network.author.call("dev_timeTravel", JUMP_MS)
                return True
        return False
