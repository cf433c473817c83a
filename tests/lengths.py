"""Numbers of repetitions in tests that take long.

`scripts/test --all` plays such a test whole. An ordinary run plays a part of it: it is waited for with each
change, and what the test shows does not depend on the number.
"""

from __future__ import annotations

import os
import random

import pytest

WHOLE = "CFNODE_TEST_WHOLE"
"""Set by `--all`, and inherited by the processes that the tests run in."""


def repeats(whole: int, part: int) -> int:
    """Return the number of repetitions: `whole` with `--all`, else `part`."""
    return whole if os.environ.get(WHOLE) else part


def examples(whole: int) -> int:
    """Return the number of examples of a costly property: `whole` with `--all`, else a third of it.

    An ordinary run tries the same examples each time.
    """
    return repeats(whole, max(10, whole // 3))


SEED = "CFNODE_TEST_SEED"
"""The seed of random tests. `--all` sets one for the whole run, and prints it."""


def seed_of_run(ordinary: int) -> int:
    """Return the seed of random tests: that of the run, by chance with `--all`, else `ordinary`."""
    return int(os.environ.get(SEED, ordinary))


def draw_seed() -> str:
    """Give the run a seed by chance, unless it has one; the processes of its tests inherit it."""
    return os.environ.setdefault(SEED, str(random.randrange(10**6)))


only_whole = pytest.mark.skipif(
    f"{WHOLE!r} not in os.environ", reason="takes minutes: scripts/test --all plays it"
)
"""For a test whose rules shorter tests play too; looked up at its start, since `--all` is read after this."""
