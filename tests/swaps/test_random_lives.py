"""Random lives: all rooms agree on whose each unit is and how far it is, and show it to no one else.

50 lives in an ordinary run, 2,000 with `--all`. `CFNODE_TEST_SEED` repeats a run, which prints its own.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pytest

from tests.lengths import repeats
from tests.support.swaps.lives import Life
from tests.support.swaps.rooms import Rooms

SEED = int(os.environ.get("CFNODE_TEST_SEED", random.randrange(10**6)))
PARTS = 10
LIVES = repeats(2_000, 50) // PARTS
STEPS = 9


@pytest.mark.parametrize("part", range(PARTS))
def test_all_rooms_agree_on_whose_each_unit_is(part: int, tmp_path: Path) -> None:
    """Lives one after the other; after the first part of each, and at its end, all rooms are asked."""
    reused = Counter[tuple[str, int]]()
    for place in range(LIVES):
        seed = SEED + part * LIVES + place
        print(f"CFNODE_TEST_SEED={seed}")
        life = Life(seed)
        rooms = Rooms(life, tmp_path)
        try:
            life.live(STEPS // 2)
            rooms.agree()
            life.live(STEPS - STEPS // 2)
            life.rest()
            rooms.agree_at_the_end()
        finally:
            rooms.close()
        reused.update((each.chain, each.number) for each in life.model.channels)
    assert max(reused.values()) > 1
