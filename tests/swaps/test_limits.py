"""The runtime's limits on messages and commissions stand in one place, and all rooms use it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from cfnode.swaps import limits

ROOT = Path(__file__).parents[2]
OWNER = "cfnode/swaps/limits.py"
LIMITS = {
    limits.MAX_CCM_MESSAGE_BYTES: "message",
    limits.MAX_CCM_ADDITIONAL_DATA_BYTES: "additional|parameters",
    limits.MAX_COMMISSION_BPS: "commission|bps",
}
"""Each limit, and a word that stands where it is meant."""


def test_no_other_place_repeats_a_limit() -> None:
    paths = [path for path in (ROOT / "cfnode").rglob("*.py") if str(path.relative_to(ROOT)) != OWNER]
    repeated = {f"{path.relative_to(ROOT)}:{line}" for path in paths for line in _repeats(path)}
    assert repeated == set()


def _repeats(path: Path) -> Iterator[int]:
    """Yield the lines with the number of a limit whose word is in the same statement."""
    source = path.read_text()
    if not any(re.search(rf"\b{number}\b", source.replace("_", "")) for number in LIMITS):
        return
    for statement in ast.walk(ast.parse(source)):
        if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.Call):
            continue
        text = ast.get_source_segment(source, statement) or ""
        for node in ast.walk(statement):
            word = LIMITS.get(node.value) if isinstance(node, ast.Constant) else None
            if word is not None and re.search(word, text, re.IGNORECASE):
                yield node.lineno
