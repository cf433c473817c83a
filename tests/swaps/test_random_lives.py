"""Random lives: all rooms agree on whose each unit is and how far it is, and show it to no one else.

50 lives in an ordinary run, the same ones each time; 2,000 new ones with `--all`. `CFNODE_TEST_SEED` plays
others, or those of a failed run, which prints its seed.
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

SEED = int(os.environ.get("CFNODE_TEST_SEED", repeats(random.randrange(10**6), 0)))
PARTS = 10
LIVES = repeats(2_000, 50) // PARTS
STEPS = 9
"""Steps of a life."""
IN_ALL_ROOMS = repeats(True, False)
"""Whether each room is read whole after each step, or one each second step; all are at the end."""


def played(seed: int, folder: Path, *, recomputes: bool = False) -> Life:
    """Return a whole life, in which all rooms agree."""
    life = Life(seed)
    rooms = Rooms(life, folder)
    try:
        for _ in range(STEPS):
            life.step()
            rooms.agree_on_changes(in_all_rooms=IN_ALL_ROOMS)
        life.rest()
        rooms.agree()
        if recomputes:
            rooms.recompute()
    finally:
        rooms.close()
    return life


@pytest.mark.parametrize("part", range(PARTS))
def test_all_rooms_agree_on_whose_each_unit_is(part: int, tmp_path: Path) -> None:
    used = Counter[tuple[int, str, int]]()
    for seed in range(SEED + part * LIVES, SEED + (part + 1) * LIVES):
        print(f"CFNODE_TEST_SEED={seed}")  # which a failure shows
        life = played(seed, tmp_path, recomputes=seed % PARTS == 0)
        used.update((seed, channel.chain, channel.number) for channel in life.model.channels)
    assert max(used.values()) > 1, "numbers came back"
