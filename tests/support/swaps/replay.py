"""Replay of a random life that failed: its seed, and the fewest steps with which it fails at the same place.

Each step of such a life has its own randomness, by the life's seed and the step's number. So a step may be
left out, and the others do what they did as far as they can.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["STEPS_VARIABLE", "explained", "steps_of_run"]

T = TypeVar("T")
STEPS_VARIABLE = "CFNODE_TEST_STEPS"
"""The numbers of the steps that a replay takes, with commas; without it a life has all of its steps."""
Place = tuple[str, str, int | None]


def steps_of_run(length: int) -> tuple[int, ...]:
    """Return the numbers of the steps of each life: all, or those of a replay."""
    named = os.environ.get(STEPS_VARIABLE)
    return (
        tuple(range(length)) if named is None else tuple(int(number) for number in named.split(",") if number)
    )


def explained(play: Callable[[Sequence[int]], T], seed: int, steps: Sequence[int]) -> T:
    """Play a life; its failure gets a note with what replays it."""
    try:
        return play(steps)
    except Exception as error:
        fewest = _fewest(play, steps, _place(error))
        numbers = ",".join(map(str, fewest))
        error.add_note(f"Replay it with CFNODE_TEST_SEED={seed} {STEPS_VARIABLE}={numbers}")
        raise


def _fewest(play: Callable[[Sequence[int]], object], steps: Sequence[int], place: Place) -> Sequence[int]:
    """Return the steps without each that the life fails at the same place without."""
    fewest = list(steps)
    for step in reversed(steps):
        fewer = [number for number in fewest if number != step]
        if _failure(play, fewer) == place:
            fewest = fewer
    return fewest


def _failure(play: Callable[[Sequence[int]], object], steps: Sequence[int]) -> Place | None:
    try:
        play(steps)
    except Exception as error:
        return _place(error)
    return None


def _place(error: Exception) -> Place:
    """Return the kind of an error, and the line that raised it."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return type(error).__name__, frame.filename, frame.lineno
