"""Imports of the test files by the processes of a run, each beginning with files of its own.

Pytest rewrites and compiles a file at its first import and keeps the result. In one order, each process
would compile each file of a new clone.
"""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

from tests.process import ROOT


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import the files of the command line's folders; one that fails is imported again, and reported."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    folders = [Path(argument).resolve() for argument in session.config.args]
    if not worker or not all(folder.is_dir() for folder in folders):
        return
    names = sorted({name for folder in folders for name in module_names(folder)})
    for name in rotated(names, int(worker.removeprefix("gw")), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])):
        with suppress(Exception, pytest.skip.Exception):
            import_module(name)


def module_names(folder: Path) -> list[str]:
    """Return the names of the test modules below a folder of this project."""
    files = (path for path in folder.rglob("test_*.py") if path.is_relative_to(ROOT))
    return [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files]


def rotated(names: list[str], worker: int, workers: int) -> list[str]:
    """Return the names, beginning with a worker's own part of them."""
    first = len(names) * worker // workers
    return names[first:] + names[:first]
