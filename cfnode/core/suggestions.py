"""Known names that a mistyped name may mean: those with a similar spelling, in any case of letters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

__all__ = ["NearNames", "closest", "did_you_mean"]

MAX_SUGGESTIONS = 3
MAX_LETTERS = 80
"""Letters of a name that is compared: the time is quadratic in them, and no known name has more."""
MIN_LIKENESS = 0.6
"""Share of letters that two names have in common, in the same order."""


def closest(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names most similar to `name`, best first; empty if no name is similar."""
    folded = {known_name.lower(): known_name for known_name in known}
    if len(name) > MAX_LETTERS:
        return []
    matches = get_close_matches(name.lower(), folded, MAX_SUGGESTIONS, MIN_LIKENESS)
    return [folded[match] for match in matches]


class NearNames:
    """A fast look-up of the known name that differs by one letter, or in case and underscores only.

    It takes microseconds. It serves names that strangers send: `closest` compares a name with each known one,
    which takes milliseconds.
    """

    def __init__(self, known: Iterable[str]) -> None:
        self._by_form: dict[str, str] = {}
        for name in known:
            for form in _forms(_folded(name)):
                self._by_form.setdefault(form, name)

    def of(self, name: str) -> str | None:
        """Return the known name near to `name`, or None."""
        if len(name) > MAX_LETTERS:
            return None
        return next((self._by_form[form] for form in _forms(_folded(name)) if form in self._by_form), None)


def _folded(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(".", "")


def _forms(folded: str) -> Iterator[str]:
    """Yield a name, and the name without each of its letters in turn."""
    yield folded
    for index in range(len(folded)):
        yield folded[:index] + folded[index + 1 :]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `" Did you mean A or B?"`, to append to a sentence; empty if no known name is similar."""
    suggestions = closest(name, known)
    return f" Did you mean {' or '.join(suggestions)}?" if suggestions else ""
