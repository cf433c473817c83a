"""List of the scenarios: each test of this folder that takes a `story`; there is no list to keep."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.rpc.scenarios.transcript import slug


def scenarios() -> list[str]:
    """Return the names of the scenarios, as those of their files."""
    modules = [
        import_module(f"{__package__}.{path.stem}") for path in Path(__file__).parent.glob("test_*.py")
    ]
    return sorted(name for module in modules for name in _of(module))


def _of(module: Any) -> Iterator[str]:
    for name, test in vars(module).items():
        if name.startswith("test_") and "story" in inspect.signature(test).parameters:
            marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
            if marks:
                (cases,) = (mark.args[1] for mark in marks)
                yield from (slug(f"{name}[{case}]") for case in cases)
            else:
                yield slug(name)
