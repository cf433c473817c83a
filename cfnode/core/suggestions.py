"""Which known names may a mistyped one mean? Those with a similar spelling, whatever the case of letters."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["closest", "did_you_mean"]

MAX_SUGGESTIONS = 3
MAX_LETTERS = 80
"""Letters of a name that is compared: the time is quadratic in them, and no known name has more."""
MIN_LIKENESS = 0.6
"""Share of letters that two names have in common, in the same order."""


def closest(name: str, known: Iterable[str]) -> list[str]:
    """The known names most similar to `name`, best first; empty if none is similar."""
    folded = {each.lower(): each for each in known}
    if len(name) > MAX_LETTERS:
        return []
    found = get_close_matches(name.lower(), folded, MAX_SUGGESTIONS, MIN_LIKENESS)
    return [folded[each] for each in found]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`" Did you mean A or B?"`, to append to a sentence; empty if no known name is similar to `name`."""
    found = closest(name, known)
    return f" Did you mean {' or '.join(found)}?" if found else ""
