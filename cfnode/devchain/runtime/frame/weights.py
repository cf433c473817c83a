"""Weights: the cost of a call, and the limits of a block.

Weight is picoseconds of reference time, and bytes of proof, for which the chain takes no fee. The figures of
reads, writes and base costs are the chain's own (`System.DbWeight`, `System.BlockWeights`); those of each
call are in `measured_weights`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from cfnode.devchain.runtime import values

from .calls import Arguments

READ_PS = 8_000_000
WRITE_PS = 50_000_000
BASE_BLOCK_PS = 431_614_000
BASE_EXTRINSIC_PS = 108_157_000
MAX_BLOCK_PS = 2_000_000_000_000
MAX_NORMAL_PS = 1_000_000_000_000
MAX_NORMAL_EXTRINSIC_PS = 799_891_843_000
MAX_OPERATIONAL_EXTRINSIC_PS = 1_799_891_843_000
UNLIMITED_PROOF_BYTES = 2**64 - 1
MAX_BLOCK_BYTES = 6_553_600
MAX_NORMAL_BYTES = 2_621_440

DispatchClass = Literal["Normal", "Operational", "Mandatory"]


class Weight(NamedTuple):
    """Picoseconds and bytes of proof."""

    ref_time: int
    proof_size: int = 0


@dataclass(frozen=True, slots=True)
class Cost:
    """A call's cost: own time, storage reads and writes, dispatch class, and whether its sender pays."""

    time: int = 30_000_000
    reads: int = 1
    writes: int = 1
    dispatch_class: DispatchClass = "Normal"
    pays: bool = True
    proof: int = 0

    @property
    def weight(self) -> int:
        """Picoseconds of own time, reads and writes."""
        return self.time + self.reads * READ_PS + self.writes * WRITE_PS

    def plus(self, ref_time: int, proof_size: int) -> Cost:
        """Return the cost with more time (picoseconds) and proof (bytes)."""
        return replace(self, time=self.time + ref_time, proof=self.proof + proof_size)

    def info(self) -> values.DispatchEventInfo:
        """Return the `DispatchEventInfo` of events, with the base weight that every extrinsic has."""
        return values.DispatchEventInfo(
            weight=weight(self.weight + BASE_EXTRINSIC_PS, self.proof),
            class_=self.dispatch_class,
            pays_fee="Yes" if self.pays else "No",
        )


@dataclass(frozen=True, slots=True)
class CallWeight:
    """The weight of a call: `each` is added for every item of the argument `of`.

    A call that does other calls (`follows_nested`) is of the class Normal as soon as one of them is.
    """

    time: int
    proof: int = 0
    reads: int = 0
    writes: int = 0
    of: str = ""
    each: CallWeight | None = None
    dispatch_class: DispatchClass = "Normal"
    follows_nested: bool = False

    def cost(self, arguments: Arguments) -> Cost:
        """Return the cost of the call with these arguments, without the calls inside it."""
        base = Cost(self.time, self.reads, self.writes, self.dispatch_class, proof=self.proof)
        if self.each is None:
            return base
        count = len(arguments[self.of])
        return replace(
            base,
            time=base.time + count * self.each.time,
            proof=base.proof + count * self.each.proof,
            reads=base.reads + count * self.each.reads,
            writes=base.writes + count * self.each.writes,
        )


def weight(ref_time: int, proof_size: int = 0) -> values.Weight:
    """Return a weight (picoseconds, bytes of proof) as a value of the chain."""
    return values.Weight(ref_time=ref_time, proof_size=proof_size)


_HALF_PROOF = 2**63


def _limits(
    largest: values.Weight | None, total: values.Weight | None, reserved: values.Weight | None
) -> values.WeightsPerClass:
    return values.WeightsPerClass(
        base_extrinsic=weight(BASE_EXTRINSIC_PS), max_extrinsic=largest, max_total=total, reserved=reserved
    )


BLOCK_WEIGHTS = values.BlockWeights(
    base_block=weight(BASE_BLOCK_PS),
    max_block=weight(MAX_BLOCK_PS, UNLIMITED_PROOF_BYTES),
    per_class=values.PerDispatchClass(
        normal=_limits(
            weight(MAX_NORMAL_EXTRINSIC_PS, 7_378_697_629_483_820_646),
            weight(MAX_NORMAL_PS, _HALF_PROOF - 1),
            weight(0),
        ),
        operational=_limits(
            weight(MAX_OPERATIONAL_EXTRINSIC_PS, 16_602_069_666_338_596_454),
            weight(MAX_BLOCK_PS, UNLIMITED_PROOF_BYTES),
            weight(MAX_NORMAL_PS, _HALF_PROOF),
        ),
        mandatory=_limits(None, None, None),
    ),
)
"""`System.BlockWeights`: two seconds a block, half of it for normal extrinsics."""
