"""bt-decode (Rust, over scale-info and scale-value) as a second opinion on values.

It has no encoder for arbitrary types, so a test encodes with ours and lets both decode.
"""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.core.scale import (
    Array,
    Compact,
    Composite,
    Field,
    Primitive,
    Sequence,
    Some,
    Tuple,
    TypeRegistry,
    Variant,
    Variants,
    encode_compact,
)


class Oracle:
    """Decodes by the metadata V15 it was given."""

    def __init__(self, metadata: bytes) -> None:
        self._bt_decode = pytest.importorskip(
            "bt_decode", reason="bt-decode is not installed: pip install '.[dev]'"
        )
        option = b"\x01" + encode_compact(len(metadata)) + metadata
        table = self._bt_decode.MetadataV15.decode_from_metadata_option(option)
        self._registry = self._bt_decode.PortableRegistry.from_metadata_v15(table)

    def decode(self, type_ids: list[int], encoded: list[bytes]) -> list[Any]:
        """Return the decoded values, in one call: each call copies the type table."""
        names = [f"scale_info::{type_id}" for type_id in type_ids]
        return self._bt_decode.decode_list(names, self._registry, encoded)


def oracle_form(registry: TypeRegistry, type_id: int, value: Any) -> Any:
    """Return our value as the oracle shows it: bytes and lists are tuples, newtypes are tuples of one."""
    row = registry.type(type_id)
    match row.definition:
        case Composite(fields):
            if row.path == ("primitive_types", "U256"):
                return (tuple(value >> 64 * word & 0xFFFFFFFFFFFFFFFF for word in range(4)),)
            return _fields(registry, fields, value)
        case Variants(variants):
            if row.path == ("Option",):
                return _option(registry, variants[1].fields[0].type, value)
            return _variant(registry, variants, value)
        case Sequence(item) | Array(type=item):
            return tuple(oracle_form(registry, item, part) for part in value)
        case Tuple(types):
            return tuple(oracle_form(registry, t, part) for t, part in zip(types, value, strict=True))
        case Compact(inner):
            return oracle_form(registry, inner, value)
        case Primitive("u256" | "i256" as name):
            return value.to_bytes(32, "little", signed=name[0] == "i")
        case Primitive():
            return value
    return list(value)


def _option(registry: TypeRegistry, inner: int, value: Any) -> Any:
    if value is None:
        return None
    return oracle_form(registry, inner, value.value if isinstance(value, Some) else value)


def _variant(registry: TypeRegistry, variants: tuple[Variant, ...], value: Any) -> Any:
    """Return whether the oracle takes the variant, named None or Some, for one of an Option."""
    name, payload = (value, ()) if isinstance(value, str) else value
    fields = next(variant.fields for variant in variants if variant.name == name)
    values = _fields(registry, fields, payload)
    if name == "Some":
        return values[0]
    return None if name == "None" else {name: values}


def _fields(registry: TypeRegistry, fields: tuple[Field, ...], value: Any) -> Any:
    if not fields:
        return ()
    if fields[0].name is not None:
        return {field.name: oracle_form(registry, field.type, value[field.name]) for field in fields}
    values = (value,) if len(fields) == 1 else value
    return tuple(oracle_form(registry, f.type, part) for f, part in zip(fields, values, strict=True))
