"""The runtime's limits on messages and commissions stand in one place, and all rooms use it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from cfnode.swaps import limits

ROOT = Path(__file__).parents[2]
OWNER = "cfnode/swaps/limits.py"
WORDS = {
    limits.MAX_CCM_MESSAGE_BYTES: re.compile("message", re.IGNORECASE),
    limits.MAX_CCM_ADDITIONAL_DATA_BYTES: re.compile("additional", re.IGNORECASE),
    limits.MAX_COMMISSION_BPS: re.compile("commission", re.IGNORECASE),
}
"""Each limit, and a word that stands near its number where it is meant."""
NUMBER = re.compile(r"\b(?:15_?000|3_?000|1_?000)\b(?! (?:basis )?points)")
"""A number of code; two texts about errors have that of a commission, in points."""


def test_no_other_place_repeats_a_limit() -> None:
    """Find the numbers of the limits near the words that they are about."""
    paths = [path for path in (ROOT / "cfnode").rglob("*.py") if str(path.relative_to(ROOT)) != OWNER]
    repeated = {f"{path.relative_to(ROOT)}:{line}" for path in paths for line in _repeats(path.read_text())}
    assert repeated == set()


def _repeats(source: str) -> Iterator[int]:
    """Yield the lines with the number of a limit whose word is on them, or on the two lines before."""
    if NUMBER.search(source) is None:
        return
    lines = source.splitlines()
    for place, line in enumerate(lines):
        near = "\n".join(lines[max(place - 2, 0) : place + 1])
        numbers = [int(match.replace("_", "")) for match in NUMBER.findall(line)]
        if any(WORDS[number].search(near) for number in numbers):
            yield place + 1
