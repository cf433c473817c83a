"""Which tests did a run skip, and what would let them run? A line for each remedy, not for each test."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

REMEDIES = {
    "CFNODE_TEST_REFERENCE": "without the reference vectors: CFNODE_TEST_REFERENCE names their folder",
    "CFNODE_TEST_BERGHAIN_SPEC": "without the official chain spec: CFNODE_TEST_BERGHAIN_SPEC names the file",
    "scripts/peers": "without programs and libraries of others: scripts/peers installs them",
    "scripts/deb": "without the packages of a release: scripts/deb --fetch downloads them",
    "scripts/test --all": "that take minutes: scripts/test --all plays them",
}
"""By a word of the reasons."""
_PACKAGE = re.compile(r"install the package (\S+)")


def summary(reasons: Iterable[str]) -> Iterator[str]:
    """A line for each remedy, with the number of tests; a reason without a known remedy stays as it is."""
    counts: Counter[str] = Counter()
    packages: Counter[str] = Counter()
    for reason in reasons:
        if found := _PACKAGE.search(reason):
            packages[found[1]] += 1
        else:
            counts[next((text for word, text in REMEDIES.items() if word in reason), reason)] += 1
    known = [text for text in REMEDIES.values() if text in counts]
    yield from (f"{counts[text]} {text}" for text in known)
    if packages:
        yield f"{packages.total()} without packages of the system: {', '.join(sorted(packages))}"
    yield from (f"{count} {text}" for text, count in counts.items() if text not in REMEDIES.values())
