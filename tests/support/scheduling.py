"""Which tests of a run stay in one process: those of a file, but for files whose tests share nothing.

A file is played by one process, so that its node starts once. A file whose tests take minutes, and share no
fixture, would keep one process busy when the others are done: its tests are spread.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

SPREAD = frozenset(
    {
        "tests/readers/test_matrix.py",
        "tests/sdk/test_recovery_lives.py",
        "tests/swaps/test_aborted_lives.py",
        "tests/swaps/test_random_lives.py",
    }
)
"""Files whose tests share no fixture."""


class Scheduling(LoadFileScheduling):
    """Scheduling by file, and by test for the files of SPREAD."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return nodeid if file in SPREAD else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling | None:
    """Return the scheduling of `--dist=loadfile`; leave the other ones to xdist."""
    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None
