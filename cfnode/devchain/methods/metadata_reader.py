"""Reader of JSON values of any type in the metadata, by the shape of the type.

A struct is an object, an enum its variant's name or an object with that one member, a list or a tuple an
array; bytes are hex, an account is SS58, a large number may be a string of hex. An optional member may be
left out. With this reader the node can encode any call that the metadata describes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from cfnode.core.scale import (
    Array,
    Compact,
    Composite,
    Field,
    PortableType,
    Primitive,
    Tuple,
    TypeRegistry,
    Variants,
)
from cfnode.core.scale import Sequence as ListOf
from cfnode.core.scale.metadata import Metadata
from cfnode.rpc.table.broker_params import ASSET
from cfnode.rpc.table.convert import (
    excerpt,
    read_account,
    read_bool,
    read_number_or_hex,
    read_prefixed_hex,
    read_text,
)

__all__ = ["MetadataReader", "read_call"]

_ACCOUNT: Final = ("sp_core", "crypto", "AccountId32")
_BIG: Final = ("primitive_types", "U256")
_ASSET: Final = ("cf_primitives", "chains", "assets", "any", "Asset")
MAX_JSON_DEPTH: Final = 32


def read_call(metadata: Metadata, pallet: str, name: str, arguments: Mapping[str, Any]) -> Any:
    """Read a runtime call, in the form of the metadata's `call_codec`.

    Raises ValueError, whose text begins with the wrong parameter: `pallet`, `call` or `arguments`.
    """
    pallet_metadata = next(
        (entry for entry in metadata.pallets if entry.name == pallet and entry.calls is not None), None
    )
    if pallet_metadata is None or pallet_metadata.calls is None:
        raise ValueError(f"pallet: no pallet {excerpt(pallet)} has calls")
    definition = metadata.registry.type(pallet_metadata.calls).definition
    calls = definition.variants if isinstance(definition, Variants) else ()
    call = next((variant for variant in calls if variant.name == name), None)
    if call is None:
        names = ", ".join(variant.name for variant in calls)
        raise ValueError(f"call: {pallet} has no call {excerpt(name)}; there are {names}")
    reader = MetadataReader(metadata.registry)
    try:
        call_arguments = reader.fields(call.fields, arguments) if call.fields else None
        value = (pallet, (name, call_arguments) if call.fields else name)
        metadata.call_codec.encode(value)  # a number out of range raises ScaleError, a ValueError
    except ValueError as error:
        raise ValueError(f"arguments: {error}") from None
    return value


class MetadataReader:
    """Reader of values of a registry's types; its ValueError names the member that does not fit."""

    def __init__(self, registry: TypeRegistry) -> None:
        self._registry = registry

    def read(self, type_id: int, value: Any, depth: int = 0) -> Any:
        """Read the value of a type, in the form of its codec. Raises ValueError."""
        if depth > MAX_JSON_DEPTH:
            raise ValueError("nested too deeply")
        row = self._registry.type(type_id)
        match row.definition:
            case Composite(fields):
                return self._composite(row, fields, value, depth + 1)
            case Variants():
                return self._variant(row, row.definition, value, depth + 1)
            case ListOf(item) | Array(_, item):
                return self._list(item, value, depth + 1)
            case Tuple(items):
                return tuple(self._each(items, value, depth + 1))
            case Compact(inner):
                return self.read(inner, value, depth + 1)
            case Primitive(name):
                return _primitive(name, value)
        raise ValueError(f"a value of type {type_id} cannot be written in JSON")

    def _composite(self, row: PortableType, fields: Sequence[Field], value: Any, depth: int) -> Any:
        if row.path == _ACCOUNT:
            return read_account(value)
        if row.path == _BIG:
            return _number(value)
        return self.fields(fields, value, depth)

    def fields(self, fields: Sequence[Field], value: Any, depth: int = 0) -> Any:
        """Read the fields of a struct, of a variant, or of a call. Raises ValueError."""
        if len(fields) == 1 and fields[0].name is None:
            return self.read(fields[0].type, value, depth)
        if not fields or fields[0].name is None:
            return tuple(self._each([field.type for field in fields], value, depth))
        if not isinstance(value, dict):
            raise ValueError(f"expected an object, got {excerpt(value)}")
        names = [str(field.name) for field in fields]
        if unknown_members := sorted(set(value) - set(names)):
            raise ValueError(f"unknown member {excerpt(unknown_members[0])}; there are {', '.join(names)}")
        types = dict(zip(names, (field.type for field in fields), strict=True))
        return {name: self._member(name, type_id, value, depth) for name, type_id in types.items()}

    def _member(self, name: str, type_id: int, value: Mapping[str, Any], depth: int) -> Any:
        if name not in value and self._registry.type(type_id).path != ("Option",):
            raise ValueError(f"missing member {name}")
        try:
            return self.read(type_id, value.get(name), depth)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None

    def _variant(self, row: PortableType, definition: Variants, value: Any, depth: int) -> Any:
        if row.path == ("Option",):
            return None if value is None else self.read(definition.variants[1].fields[0].type, value, depth)
        if row.path == _ASSET and isinstance(value, dict):
            return ASSET.read(value)
        name, payload = value, None
        if isinstance(value, dict) and len(value) == 1:
            ((name, payload),) = value.items()
        variant = next((candidate for candidate in definition.variants if candidate.name == name), None)
        if variant is None:
            names = ", ".join(candidate.name for candidate in definition.variants)
            raise ValueError(f"expected one of {names}, got {excerpt(value)}")
        return (name, self.fields(variant.fields, payload, depth)) if variant.fields else name

    def _list(self, item: int, value: Any, depth: int) -> Any:
        if self._registry.type(item).definition == Primitive("u8"):
            return read_prefixed_hex(value)
        if not isinstance(value, list):
            raise ValueError(f"expected an array, got {excerpt(value)}")
        return [self.read(item, element, depth) for element in value]

    def _each(self, items: Sequence[int], value: Any, depth: int) -> list[Any]:
        if not isinstance(value, list) or len(value) != len(items):
            raise ValueError(f"expected an array of {len(items)}, got {excerpt(value)}")
        return [self.read(item, element, depth) for item, element in zip(items, value, strict=True)]


def _primitive(name: str, value: Any) -> Any:
    if name == "bool":
        return read_bool(value)
    if name in ("str", "char"):
        return read_text(value)
    return _number(value)


def _number(value: Any) -> int:
    """Read an integer; the codec checks its range."""
    if type(value) is int:
        return value
    if not isinstance(value, str) or not value.startswith("0x"):
        raise ValueError(f"expected an integer or a string of 0x and hex digits, got {excerpt(value)}")
    return read_number_or_hex(value)
