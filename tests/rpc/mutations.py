"""Parameters with which a method makes sense, changed in one place: another type, a member less, one more."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any, Final

WRONG: Final[list[Any]] = [
    *(None, True, 5, -1, 1.5, 1e300, 2**70, "", "☃", "0x", "0x1g", [], [None], [[{}]], ["a", "b"]),
    *({}, {"☃": 1.5}, {"chain": "Ethereum"}, {"Eth": 1}, {"a": 1, "b": 2}),
]
FITS_NOWHERE: Final[list[Any]] = [1.5, [[{}]], {"☃": 1.5}]
"""Values that no parameter of any method takes."""
Path = tuple[Any, ...]


def mutated(params: list[Any], seed: str, count: int) -> Iterator[list[Any]]:
    """Yield so many variants of them; equal ones for equal seeds."""
    source = random.Random(seed)
    for _ in range(count):
        path = source.choice([path for path in _places(params) if path])
        yield _with(params, path, _other(source, _at(params, path)))


def _places(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, entry in pairs:
        yield from _places(entry, (*path, step))


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _with(params: list[Any], path: Path, value: Any) -> list[Any]:
    changed = copy.deepcopy(params)
    _at(changed, path[:-1])[path[-1]] = value
    return changed


def _other(source: random.Random, value: Any) -> Any:
    """Return another type, or its like with something less or more."""
    if isinstance(value, dict) and value and source.random() < 0.6:
        gone = source.choice(list(value))
        less = {name: entry for name, entry in value.items() if name != gone}
        return source.choice([less, less | {"☃": value[gone]}, [*value.values()], [*less.values()]])
    if isinstance(value, str) and source.random() < 0.5:
        return source.choice([value + "0", value[:-1], "☃" + value, {value: None}, [value]])
    return source.choice(WRONG)
