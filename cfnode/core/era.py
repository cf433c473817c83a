"""Mortality of extrinsics: the era, its encoding, and the blocks that it covers.

Polkadot spec, "Extrinsics", mortality: an immortal era is one byte 00. A mortal one lasts for `period` blocks
(a power of two from 4 to 65,536), beginning with the block whose number is `phase` modulo the period; its two
bytes hold log2(period) − 1 in the low four bits and phase / quantum above them, where the quantum is period /
4096, at least 1. The signature covers the hash of the block at which the era begins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cfnode.core.scale import ScaleError

__all__ = ["IMMORTAL", "MAX_PERIOD", "MIN_PERIOD", "Era"]

MIN_PERIOD = 4
MAX_PERIOD = 1 << 16
QUANTA = 1 << 12
MORTAL_ERA = re.compile(r"Mortal([0-9]{1,3})")
MAX_KEPT_ERAS = 256
"""Eras kept by their name and field: those of a block's transactions are few."""


@dataclass(frozen=True, slots=True)
class Era:
    """A span of blocks. `period` 0: immortal."""

    period: int = 0
    phase: int = 0

    @classmethod
    def mortal(cls, period: int, current: int) -> Era:
        """Return an era of at least `period` blocks that covers block `current`.

        The period is rounded up to a power of two within 4..65,536; for periods above 4,096 the beginning is
        rounded down to a multiple of the quantum.
        """
        rounded = min(max(1 << max(period - 1, 0).bit_length(), MIN_PERIOD), MAX_PERIOD)
        phase = current % rounded
        return cls(rounded, phase - phase % _quantum(rounded))

    @classmethod
    def decode(cls, data: bytes, offset: int = 0) -> tuple[Era, int]:
        """Return the era at `offset` and the offset after it; raise ScaleError."""
        if data[offset : offset + 1] == b"\0":
            return IMMORTAL, offset + 1
        if len(data) < offset + 2:
            raise ScaleError(f"the era at offset {offset} is truncated")
        word = int.from_bytes(data[offset : offset + 2], "little")
        period = 2 << (word & 15)
        era = cls(period, (word >> 4) * _quantum(period))
        if period < MIN_PERIOD or era.phase >= period:
            raise ScaleError(f"0x{data[offset : offset + 2].hex()} at offset {offset} is not an era")
        return era, offset + 2

    @classmethod
    def from_value(cls, value: Any) -> Era:
        """Return the era of a decoded `Era` enum: "Immortal" or ("Mortal<first byte>", second byte).

        Raises ScaleError.
        """
        if value == "Immortal":
            return IMMORTAL
        match value:
            case (str(name), int(second)):
                return _mortal(name, second)
        raise ScaleError(f"{value!r} is not an era")

    @property
    def is_immortal(self) -> bool:
        """Whether the extrinsic is valid at every block."""
        return self.period == 0

    @property
    def value(self) -> Any:
        """The value of the metadata's `Era` enum."""
        if self.is_immortal:
            return "Immortal"
        first, second = self.encode()
        return f"Mortal{first}", second

    def encode(self) -> bytes:
        """Return the era in one byte if it is immortal, else in two."""
        if self.is_immortal:
            return b"\0"
        exponent = min(max(self.period.bit_length() - 2, 1), 15)
        return (exponent | self.phase // _quantum(self.period) << 4).to_bytes(2, "little")

    def birth(self, current: int) -> int:
        """Return the number of the block at which the era that covers block `current` begins.

        The signature covers that block's hash.
        """
        if self.is_immortal:
            return 0
        return (max(current, self.phase) - self.phase) // self.period * self.period + self.phase

    def death(self, current: int) -> int | None:
        """Return the number of the first block in which the extrinsic is no longer valid.

        None for an immortal era.
        """
        return None if self.is_immortal else self.birth(current) + self.period


IMMORTAL = Era()


@lru_cache(maxsize=MAX_KEPT_ERAS)
def _mortal(name: str, second: int) -> Era:
    """Return the era of a mortal case by its name and its field; raise ScaleError."""
    first = MORTAL_ERA.fullmatch(name)
    if first is None or not 0 < int(first[1]) < 256 or not 0 <= second < 256:
        raise ScaleError(f"{(name, second)!r} is not an era")
    return Era.decode(bytes([int(first[1]), second]))[0]


def _quantum(period: int) -> int:
    return max(period // QUANTA, 1)
