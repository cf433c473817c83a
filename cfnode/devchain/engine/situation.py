"""A block that the engine answers, and what a test holds back meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field

from cfnode.core.hashing import blake2_256
from cfnode.devchain.engine.block import BlockView, Call

__all__ = ["HeldBack", "Situation"]


@dataclass(frozen=True, slots=True)
class HeldBack:
    """What a test holds back: chains whose transactions stay under way, and signatures.

    `failing`: broadcasts, by chain and number, that each authority fails to send. `receivers`: assets with
    addresses, in the form of their chain, that refuse transfers.
    """

    chains: frozenset[str] = frozenset()
    failing: frozenset[tuple[str, int]] = frozenset()
    receivers: frozenset[tuple[str, bytes]] = frozenset()
    signatures: bool = False


@dataclass(frozen=True, slots=True)
class Situation:
    """A block to answer: its state, the epoch, the authorities that are ours.

    `since_ms`, `until_ms`: times of the block before it and its own, Unix milliseconds; 0 without one.
    `given`: hashes of the calls that are witnessed in the next block.
    """

    block: BlockView
    epoch: int
    authorities: tuple[bytes, ...]
    since_ms: int
    until_ms: int
    holds: HeldBack = HeldBack()
    given: set[bytes] = field(default_factory=set)

    def is_new(self, call: Call) -> bool:
        """Return whether a witnessed call has not been sent in this epoch, and note that it is sent now.

        The chain executes a call once in an epoch, by its hash.
        """
        call_hash = blake2_256(self.block.encoded(call))
        is_new = call_hash not in self.given and (
            self.block.stored("Witnesser", "Votes", self.epoch, call_hash) is None
        )
        self.given.add(call_hash)
        return is_new

    @property
    def number(self) -> int:
        """The number of the block."""
        return int(self.block.value("System", "Number"))
