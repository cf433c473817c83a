"""Records of what each test costs: wall time, processor time, and the processes that it starts.

`scripts/test --costs=FOLDER` writes a JSON line for each phase of each test to FOLDER/<worker>.jsonl;
`scripts/bench tests` adds them up. Processor time of children counts in the phase that waits for their end.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support.forking import ForkingPopen


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--costs`."""
    parser.addoption("--costs", metavar="FOLDER", help="write what each test costs to files in FOLDER")


def pytest_configure(config: pytest.Config) -> None:
    """Register the recorder if `--costs` is given."""
    if folder := config.getoption("--costs"):
        worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
        config.pluginmanager.register(Recorder(Path(folder) / f"{worker}.jsonl"), "costs of tests")


class Recorder:
    """Writes the lines of one process."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("w")

    def _write(self, **row: Any) -> None:
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()

    def _measured(self, phase: str, test: str = "") -> Generator[None, Any, Any]:
        began, used, of_children = time.monotonic(), _processor_s(resource.RUSAGE_SELF), _children_s()
        started = Counter(ForkingPopen.started)
        result = yield
        self._write(
            test=test,
            phase=phase,
            wall=round(time.monotonic() - began, 4),
            own=round(_processor_s(resource.RUSAGE_SELF) - used, 4),
            children=round(_children_s() - of_children, 4),
            starts=dict(ForkingPopen.started - started),
        )
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, Any, Any]:
        """Measure the collection."""
        return (yield from self._measured("collection"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Measure the setup of a test."""
        return (yield from self._measured("setup", item.nodeid))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Measure the call of a test."""
        return (yield from self._measured("call", item.nodeid))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Measure the teardown of a test."""
        return (yield from self._measured("teardown", item.nodeid))


def _processor_s(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def _children_s() -> float:
    return _processor_s(resource.RUSAGE_CHILDREN)
