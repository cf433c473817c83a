"""Checks of JSON documents by schemas: names of members, kinds of values, and an asset for each amount.

A schema is the name of a kind, a list with the schema of its entries, or an object with that of each member;
"?" after a member's name allows it to be absent, "*" stands for all members of a map, and a schema of a set
allows any of its kinds. The names of a `Foreign` object are another program's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Foreign", "Schema", "faults"]

Schema = Any


class Foreign(dict[str, Schema]):
    """The schema of an object that another program defines: its names need not be in camelCase."""


def _matches(pattern: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


_KINDS: dict[str, Callable[[Any], bool]] = {
    "amount": _matches(r"[0-9]+"),
    "count": _matches(r"[0-9]+"),
    "difference": _matches(r"-?[0-9]+"),
    "decimal": _matches(r"[0-9]+(\.[0-9]+)?"),
    "dollars": _matches(r"-?[0-9]+\.[0-9]{6}"),
    "time": _matches(r"20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"),
    "hash": _matches(r"0x[0-9a-f]{64}"),
    "hex": _matches(r"0x([0-9a-f]{2})*"),
    "digits": _matches(r"([0-9a-f]{2})+"),
    "text": lambda value: isinstance(value, str),
    "account": _matches(r"cF\w{40,60}"),
    "number": lambda value: type(value) is int and abs(value) < 2**53,
    "milliseconds": lambda value: type(value) is int and 1.5e12 < value < 4e12,
    "seconds": lambda value: type(value) in (int, float) and value >= 0,
    "percent": lambda value: type(value) in (int, float),
    "bool": lambda value: type(value) is bool,
    "null": lambda value: value is None,
    "any": lambda value: True,
}


def faults(value: Any, schema: Schema, place: str = "", *, has_asset: bool = False) -> Iterator[str]:
    """Return where a document differs from its schema; `has_asset`: an outer object names the asset."""
    if isinstance(schema, str):
        if not _KINDS[schema](value):
            yield f"{place}: {value!r} is not of the kind {schema}"
    elif isinstance(schema, set):
        if not any(_KINDS[kind](value) for kind in schema):
            yield f"{place}: {value!r} is of none of {sorted(schema)}"
    elif isinstance(schema, list):
        if not isinstance(value, list):
            yield f"{place}: no array"
            return
        for number, entry in enumerate(value):
            yield from faults(entry, schema[0], f"{place}[{number}]", has_asset=has_asset)
    elif not isinstance(value, dict):
        yield f"{place}: no object"
    elif "*" in schema:
        for name, member in value.items():
            yield from faults(member, schema["*"], f"{place}.{name}", has_asset=True)
    else:
        yield from _faults_of_members(value, schema, place, has_asset)


def _faults_of_members(
    value: dict[str, Any], schema: dict[str, Schema], place: str, has_asset: bool
) -> Iterator[str]:
    known = {name.removesuffix("?"): shape for name, shape in schema.items()}
    has_asset = has_asset or any("asset" in name.lower() or name == "source" for name in known)
    for name, shape in known.items():
        if name not in value and f"{name}?" not in schema:
            yield f"{place}.{name}: missing"
        if (
            not has_asset
            and not name.endswith("Wei")
            and "amount" in (shape if isinstance(shape, set) else [shape])
        ):
            yield f"{place}.{name}: an amount without its asset"
    for name, member in value.items():
        if name not in known:
            yield f"{place}.{name}: not in the schema"
            continue
        if not isinstance(schema, Foreign) and re.fullmatch(r"[a-z][a-zA-Z0-9]*", name) is None:
            yield f"{place}.{name}: not camelCase"
        yield from faults(member, known[name], f"{place}.{name}", has_asset=has_asset)
