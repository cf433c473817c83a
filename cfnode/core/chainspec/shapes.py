"""Values fitted to storage types that differ from runtime to runtime, and types written as text.

The metadata of a storage item decides. `fitted` follows the type: a struct gets the fields that it has, in
their order; a field that the caller does not know keeps its value in the state, or else gets the empty value
of its type; a set is sorted, as Rust's `BTreeSet` is. `described` writes a type as text, for an error that a
person can act on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cfnode.core.scale import ScaleError, types
from cfnode.core.scale.registry import TypeRegistry

__all__ = ["described", "fitted"]

MAX_TYPE_DEPTH = 16
"""Types inside types that are followed: the items written have five levels; a type may contain itself."""

MAX_DESCRIBED_DEPTH = 3
"""Levels of a type that an error names; deeper ones do not help the reader."""


def fitted(registry: TypeRegistry, type_id: int, value: Any, present: Any = None, depth: int = 0) -> Any:
    """Return `value` with the fields that the type has; `present` is what the state holds there, or None.

    Raises ScaleError where the type is of another kind, or lacks a field that `value` names.
    """
    row = _row(registry, type_id, depth)
    match row.definition:
        case types.Composite((types.Field(name=None, type=inner),)):
            items = fitted(registry, inner, value, present, depth + 1)
            return sorted(items) if row.path[-1:] == ("BTreeSet",) and _are_bytes(items) else items
        case types.Composite(fields) if fields and _are_named(fields):
            return _struct(registry, fields, value, present, depth)
        case types.Tuple(members) if isinstance(value, tuple) and len(value) == len(members):
            parts = zip(members, value, strict=True)
            return tuple(fitted(registry, member, part, None, depth + 1) for member, part in parts)
        case types.Sequence(item) if isinstance(value, list):
            return [fitted(registry, item, element, None, depth + 1) for element in value]
        case _:
            return value  # the codec checks it


def _struct(
    registry: TypeRegistry, fields: tuple[types.Field, ...], value: Any, present: Any, depth: int
) -> Any:
    if not isinstance(value, Mapping):
        raise ScaleError("the type is a struct")
    names = [field.name for field in fields]
    unknown = [name for name in value if name not in names]
    if unknown:
        raise ScaleError(f"the type has no field {', '.join(unknown)}")
    old_fields = present if isinstance(present, Mapping) else {}
    new_fields: dict[str | None, Any] = {}
    for field in fields:
        old = old_fields.get(field.name)
        if field.name in value:
            new_fields[field.name] = fitted(registry, field.type, value[field.name], old, depth + 1)
        else:
            new_fields[field.name] = (
                old if field.name in old_fields else empty(registry, field.type, depth + 1)
            )
    return new_fields


def empty(registry: TypeRegistry, type_id: int, depth: int = 0) -> Any:
    """Return Rust's `Default` of a type that has one by itself: 0, false, nothing. Raises ScaleError."""
    row = _row(registry, type_id, depth)
    match row.definition:
        case types.Primitive(name) if name != "char":
            return False if name == "bool" else "" if name == "str" else 0
        case types.Compact():
            return 0
        case types.Sequence(item):
            return b"" if _is_u8(registry, item) else []
        case types.Array(length, item):
            return bytes(length) if _is_u8(registry, item) else [empty(registry, item, depth + 1)] * length
        case types.Tuple(members):
            return tuple(empty(registry, member, depth + 1) for member in members)
        case types.Composite((types.Field(name=None, type=inner),)):
            return empty(registry, inner, depth + 1)
        case types.Composite(fields) if _are_named(fields):
            return {field.name: empty(registry, field.type, depth + 1) for field in fields}
        case types.Composite(fields):
            return tuple(empty(registry, field.type, depth + 1) for field in fields)
        case types.Variants() if row.path == ("Option",):
            return None
    raise ScaleError(f"{described(registry, type_id)} has no empty value")


def described(registry: TypeRegistry, type_id: int, depth: int = 0) -> str:
    """Return a type in Rust's notation, a struct with its fields: `Council {members: …, threshold: u32}`."""
    row = registry.type(type_id)
    name = row.path[-1] if row.path else ""
    if isinstance(row.definition, types.Primitive):
        return row.definition.name
    if depth >= MAX_DESCRIBED_DEPTH:
        return name or "…"
    descriptions = [described(registry, part_type, depth + 1) for part_type in _parts(row)]
    match row.definition:
        case types.Sequence():
            return f"Vec<{descriptions[0]}>"
        case types.Array(length):
            return f"[{descriptions[0]}; {length}]"
        case types.Tuple():
            return f"({', '.join(descriptions)})"
        case types.Compact():
            return f"Compact<{descriptions[0]}>"
        case types.Composite(fields) if _are_named(fields):
            members = (f"{field.name}: {kind}" for field, kind in zip(fields, descriptions, strict=True))
            return f"{name} {{{', '.join(members)}}}"
        case types.Composite():
            return f"{name}({', '.join(descriptions)})"
        case types.Variants(cases):
            return f"{name} {{{' | '.join(case.name for case in cases)}}}"
    return "BitVec"


def _parts(row: types.PortableType) -> tuple[int, ...]:
    match row.definition:
        case types.Composite(fields):
            return tuple(field.type for field in fields)
        case types.Sequence(item) | types.Array(type=item) | types.Compact(item):
            return (item,)
        case types.Tuple(members):
            return members
        case _:
            return ()


def _row(registry: TypeRegistry, type_id: int, depth: int) -> types.PortableType:
    if depth >= MAX_TYPE_DEPTH:
        raise ScaleError(f"a type with more than {MAX_TYPE_DEPTH} types inside each other")
    return registry.type(type_id)


def _are_bytes(items: Any) -> bool:
    return isinstance(items, list) and all(isinstance(element, bytes) for element in items)


def _are_named(fields: tuple[types.Field, ...]) -> bool:
    return all(field.name is not None for field in fields)


def _is_u8(registry: TypeRegistry, type_id: int) -> bool:
    return registry.type(type_id).definition == types.Primitive("u8")
