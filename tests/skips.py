"""Tests that a run skipped, and what would let them run: a line for each remedy, not for each test."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from _pytest.outcomes import Skipped

REMEDIES = {
    "CFNODE_TEST_REFERENCE": "without the reference vectors: CFNODE_TEST_REFERENCE names their folder",
    "CFNODE_TEST_BERGHAIN_SPEC": "without the official chain spec: CFNODE_TEST_BERGHAIN_SPEC names the file",
    "scripts/peers": "without programs and libraries of others: scripts/peers installs them",
    "scripts/deb": "without the packages of a release: scripts/deb --fetch downloads them",
    "scripts/test --all": "that take minutes: scripts/test --all plays them",
}
"""By a word of the reasons."""
NO_REASON = "Skipped"
_PACKAGE = re.compile(r"install the package (\S+)")


def reason_of(error: BaseException) -> str:
    """Return why a test was skipped.

    pytest-trio drops the reason of a skip within a nursery, and raises another one without: the first is in
    the group of exceptions from which that came.
    """
    if (text := str(error)) not in ("", NO_REASON) or error.__context__ is None:
        return text or NO_REASON
    return next((str(leaf) for leaf in _leaves(error.__context__) if isinstance(leaf, Skipped)), NO_REASON)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield the exceptions of a group and of all groups in it."""
    if isinstance(error, BaseExceptionGroup):
        for exception in error.exceptions:
            yield from _leaves(exception)
    else:
        yield error


def summary(reasons: Iterable[str]) -> Iterator[str]:
    """Yield a line for each remedy, with the number of tests; a reason without a known remedy stays."""
    counts: Counter[str] = Counter()
    packages: Counter[str] = Counter()
    for reason in reasons:
        if match := _PACKAGE.search(reason):
            packages[match[1]] += 1
        else:
            counts[next((text for word, text in REMEDIES.items() if word in reason), reason)] += 1
    known = [text for text in REMEDIES.values() if text in counts]
    yield from (f"{counts[text]} {text}" for text in known)
    if packages:
        yield f"{packages.total()} without packages of the system: {', '.join(sorted(packages))}"
    yield from (f"{count} {text}" for text, count in counts.items() if text not in REMEDIES.values())
