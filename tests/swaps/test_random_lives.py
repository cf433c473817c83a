"""Random lives: all rooms agree on whose each unit is and how far it is, and show it to no one else.

5 lives in an ordinary run, the same ones each time; 16 with `--world`, and 2,000 new ones with `--all`, which
prints its seed. `CFNODE_TEST_SEED` plays others. A life that fails says which seed and steps play it again:
these (`CFNODE_TEST_STEPS`) are then the only life.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from tests.lengths import repeats, seed_of_run
from tests.support.swaps.lives import Life
from tests.support.swaps.replay import STEPS_VARIABLE, explained, steps_of_run
from tests.support.swaps.rooms import Rooms

SEED = seed_of_run(0)
IS_REPLAY = STEPS_VARIABLE in os.environ
PARTS = 1 if IS_REPLAY else repeats(10, 16)
LIVES = 1 if IS_REPLAY else repeats(2_000, 16) // PARTS
STEPS = steps_of_run(9)
IN_ALL_ROOMS = repeats(True, False)
"""Whether each room is read whole after each step, or one each second step; all are at the end."""


def played(seed: int, folder: Path, steps: Sequence[int]) -> Life:
    """Return a whole life, in which all rooms agree."""
    life = Life(seed)
    rooms = Rooms(life, folder)
    try:
        for step in steps:
            life.step(step)
            rooms.agree_on_changes(in_all_rooms=IN_ALL_ROOMS)
        life.rest()
        rooms.agree()
        if IS_REPLAY or seed % 10 == 0:
            rooms.recompute()
    finally:
        rooms.close()
    return life


@pytest.mark.parametrize(
    "part", [pytest.param(part, marks=[pytest.mark.world] * (part > 4)) for part in range(PARTS)]
)
def test_all_rooms_agree_on_whose_each_unit_is(part: int, tmp_path: Path) -> None:
    """Play random lives in which all rooms agree, and some channel number is used more than once."""
    used = Counter[tuple[int, str, int]]()
    for seed in range(SEED + part * LIVES, SEED + (part + 1) * LIVES):
        life = explained(partial(played, seed, tmp_path), seed, STEPS)
        used.update((seed, channel.chain, channel.number) for channel in life.model.channels)
    assert LIVES == 1 or max(used.values()) > 1, "numbers came back"
