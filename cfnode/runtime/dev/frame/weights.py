"""What does a call cost, and how much fits into a block?

Weight is picoseconds of reference time (and bytes of proof, which the chain does not count). The figures of
reads, writes and base costs are the chain's own (`System.DbWeight`, `System.BlockWeights`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

READ = 8_000_000
WRITE = 50_000_000
BASE_BLOCK = 431_614_000
BASE_EXTRINSIC = 108_157_000
MAX_BLOCK = 2_000_000_000_000
MAX_NORMAL = 1_000_000_000_000
MAX_NORMAL_EXTRINSIC = 799_891_843_000
MAX_OPERATIONAL_EXTRINSIC = 1_799_891_843_000
MAX_PROOF = 2**64 - 1
MAX_LENGTH = 6_553_600
MAX_NORMAL_LENGTH = 2_621_440

DispatchClass = Literal["Normal", "Operational", "Mandatory"]


@dataclass(frozen=True, slots=True)
class Cost:
    """A call's cost: own time, storage reads and writes, in which class, and whether its sender pays."""

    time: int = 30_000_000
    reads: int = 1
    writes: int = 1
    dispatch_class: DispatchClass = "Normal"
    pays: bool = True

    @property
    def weight(self) -> int:
        """Picoseconds in all."""
        return self.time + self.reads * READ + self.writes * WRITE

    def info(self) -> dict[str, Any]:
        """`DispatchEventInfo`, as events carry it."""
        return {
            "weight": weight(self.weight),
            "class": self.dispatch_class,
            "pays_fee": "Yes" if self.pays else "No",
        }


def weight(ref_time: int, proof_size: int = 0) -> dict[str, int]:
    """`sp_weights::Weight` as a value."""
    return {"ref_time": ref_time, "proof_size": proof_size}


_HALF_PROOF = 2**63


def _limits(
    largest: dict[str, int] | None, total: dict[str, int] | None, reserved: dict[str, int] | None
) -> Any:
    return {
        "base_extrinsic": weight(BASE_EXTRINSIC),
        "max_extrinsic": largest,
        "max_total": total,
        "reserved": reserved,
    }


BLOCK_WEIGHTS: dict[str, Any] = {
    "base_block": weight(BASE_BLOCK),
    "max_block": weight(MAX_BLOCK, MAX_PROOF),
    "per_class": {
        "normal": _limits(
            weight(MAX_NORMAL_EXTRINSIC, 7_378_697_629_483_820_646),
            weight(MAX_NORMAL, _HALF_PROOF - 1),
            weight(0),
        ),
        "operational": _limits(
            weight(MAX_OPERATIONAL_EXTRINSIC, 16_602_069_666_338_596_454),
            weight(MAX_BLOCK, MAX_PROOF),
            weight(MAX_NORMAL, _HALF_PROOF),
        ),
        "mandatory": _limits(None, None, None),
    },
}
"""`System.BlockWeights`: two seconds a block, half of it for normal extrinsics."""
