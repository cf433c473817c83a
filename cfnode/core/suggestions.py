"""Known names that a mistyped name may mean: those with a similar spelling, in any case of letters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import cached_property

__all__ = ["NearNames", "closest", "did_you_mean", "or_sentence"]

MAX_SUGGESTIONS = 3
MAX_LETTERS = 80
"""Letters of a name that is compared: the time is quadratic in them, and no known name has more."""
MIN_LIKENESS = 0.6
"""Share of letters that two names have in common, in the same order."""
MIN_BEGINNING = 3
"""Letters of a name's beginning that are enough to suggest it."""


def closest(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that are most similar to `name` or begin with it, best first; maybe none."""
    folded = {known_name.lower(): known_name for known_name in known}
    if len(name) > MAX_LETTERS:
        return []
    typed = name.lower()
    longer = [known_name for known_name in folded if known_name.startswith(typed)]
    matches = get_close_matches(typed, folded, MAX_SUGGESTIONS, MIN_LIKENESS)
    if len(typed) >= MIN_BEGINNING:
        matches = list(dict.fromkeys(matches + longer))
    return [folded[match] for match in matches[:MAX_SUGGESTIONS]]


class NearNames:
    """A fast look-up of the known name that differs by one letter, or in case and underscores only.

    It takes microseconds, but for the first one, which makes the table. It serves names that strangers send:
    `closest` compares a name with each known one, which takes milliseconds.
    """

    def __init__(self, known: Iterable[str]) -> None:
        self._known = tuple(known)

    @cached_property
    def _by_form(self) -> dict[str, str]:
        by_form: dict[str, str] = {}
        for name in self._known:
            for form in _forms(_folded(name)):
                by_form.setdefault(form, name)
        return by_form

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
    return or_sentence(closest(name, known))


def or_sentence(names: Iterable[str]) -> str:
    """Return the sentence that suggests names, with a blank before it; empty without names."""
    text = " or ".join(names)
    return f" Did you mean {text}?" if text else ""
