"""What the engine sees of one block: its storage by today's names, and calls built for the next block.

A call is filled by the types of the block's metadata: fields by their names; what the engine does not name is
empty. So one program serves releases that have added fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from cfnode.core.chainspec.shapes import empty
from cfnode.core.scale import NotInMetadataError, ScaleError, types
from cfnode.core.scale.metadata import Metadata, StorageItem
from cfnode.core.scale.registry import TypeRegistry
from cfnode.core.state import BlockState
from cfnode.devchain.engine.names import OLDER_FIELDS, call_of, storage_of

__all__ = ["MAX_ENTRIES", "BlockView", "Call", "filled"]

MAX_ENTRIES: Final = 1_000
"""Entries of a map that are read in one block; later ones wait for the next."""
MAX_DEPTH: Final = 24
_U256: Final = ("primitive_types", "U256")
"""A struct of words that the codec takes as a number."""

Call = tuple[str, tuple[str, dict[str, Any]] | str]
"""A runtime call in the form of the metadata's codec."""


class BlockView:
    """The state of a block, read by the names of `names`, and calls for the block after it."""

    def __init__(self, metadata: Metadata, state: BlockState) -> None:
        self.metadata = metadata
        self._state = state

    def has(self, pallet: str, item: str) -> bool:
        """Return whether the runtime has this storage item, under any name."""
        try:
            storage_of(self.metadata, pallet, item)
        except NotInMetadataError:
            return False
        return True

    def value(self, pallet: str, item: str, *keys: Any) -> Any:
        """Return a value, or its default. Raises ScaleError, also if the runtime lacks the item."""
        storage_item = storage_of(self.metadata, pallet, item)
        return storage_item.decode(self._state.get(self._key(storage_item, keys)))

    def stored(self, pallet: str, item: str, *keys: Any) -> bytes | None:
        """Return the bytes of a value, None if it is absent. Raises ScaleError."""
        return self._state.get(self._key(storage_of(self.metadata, pallet, item), keys))

    def _key(self, item: StorageItem, keys: tuple[Any, ...]) -> bytes:
        """Return a storage key; a struct in it gets the fields that this release has."""
        registry = self.metadata.registry
        parts = zip(item.keys, keys, strict=False)
        return item.key(*(filled(registry, codec.type_id, key) for codec, key in parts))

    def entries(self, pallet: str, item: str) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """Yield the keys and values of a map, `MAX_ENTRIES` at most; nothing if the runtime lacks it."""
        if not self.has(pallet, item):
            return
        storage_item = storage_of(self.metadata, pallet, item)
        key: bytes | None = storage_item.prefix
        for _ in range(MAX_ENTRIES):
            key = self._state.next_key(key) if key is not None else None
            if key is None or not key.startswith(storage_item.prefix):
                return
            yield storage_item.decode_key(key), storage_item.decode(self._state.get(key))

    def has_call(self, pallet: str, name: str) -> bool:
        """Return whether the runtime has a call, under any name."""
        try:
            call_of(self.metadata, pallet, name)
        except NotInMetadataError:
            return False
        return True

    def call(self, pallet: str, name: str, **fields: Any) -> Call:
        """Return a call by today's name and fields. Raises ScaleError if the runtime lacks it."""
        pallet, name = call_of(self.metadata, pallet, name)
        types_of_fields = self.metadata.call_fields(pallet, name)
        if not types_of_fields:
            return pallet, name
        names, older = {field.name for field in types_of_fields}, OLDER_FIELDS.get(name, {})
        renamed = {
            field if field in names else older.get(field, field): value for field, value in fields.items()
        }
        return pallet, (name, _struct(self.metadata.registry, types_of_fields, renamed, 0))

    def stores(self, pallet: str, item: str, key: Any, value: Any) -> Call:
        """Return the council's call that stores a value of a map. Raises ScaleError."""
        storage_item = storage_of(self.metadata, pallet, item)
        entry = self._key(storage_item, (key,)), storage_item.value.encode(value)
        return self.call("Governance", "call_as_sudo", call=self.call("System", "set_storage", items=[entry]))

    def encoded(self, call: Call) -> bytes:
        """Return the bytes of a call. Raises ScaleError."""
        return self.metadata.call_codec.encode(call)


def filled(registry: TypeRegistry, type_id: int, value: Any, depth: int = 0) -> Any:
    """Return `value` with all fields that its type has: missing ones are empty, unknown ones are left out.

    Raises ScaleError for a type that is nested too deeply.
    """
    if depth > MAX_DEPTH:
        raise ScaleError(f"a type with more than {MAX_DEPTH} types inside each other")
    match registry.type(type_id).definition:
        case types.Composite((types.Field(name=None, type=inner),)):
            return filled(registry, inner, value, depth + 1)
        case types.Composite(fields) if fields and isinstance(value, Mapping):
            return _struct(registry, fields, value, depth)
        case types.Composite(()) | types.Tuple(()):
            return ()
        case types.Sequence(item) if isinstance(value, list):
            return [filled(registry, item, element, depth + 1) for element in value]
        case types.Variants(cases) if isinstance(value, tuple) and len(value) == 2:
            return _variant(registry, cases, value, depth)
        case types.Variants(_) if isinstance(value, Mapping) and "assets" in value:
            return value["assets"]["zero"]  # before spec 100 a pair of assets is its first one
        case _:
            return value  # the codec checks it


def _struct(
    registry: TypeRegistry, fields: tuple[types.Field, ...], value: Mapping[str, Any], depth: int
) -> dict[str, Any]:
    return {
        str(field.name): (
            filled(registry, field.type, value[str(field.name)], depth + 1)
            if field.name in value
            else _blank(registry, field.type, depth + 1)
        )
        for field in fields
    }


def _variant(
    registry: TypeRegistry, cases: tuple[types.Variant, ...], value: tuple[str, Any], depth: int
) -> tuple[str, Any]:
    name, payload = value
    case = next((case for case in cases if case.name == name), None)
    if case is None or not isinstance(payload, Mapping) or not case.fields or case.fields[0].name is None:
        return value
    return name, _struct(registry, case.fields, payload, depth)


def _blank(registry: TypeRegistry, type_id: int, depth: int) -> Any:
    """Return the empty value of a type: for an enum, its first case."""
    if depth > MAX_DEPTH:
        raise ScaleError(f"a type with more than {MAX_DEPTH} types inside each other")
    row = registry.type(type_id)
    if row.path == _U256:
        return 0
    match row.definition:
        case types.Composite((types.Field(name=None, type=inner),)):
            return _blank(registry, inner, depth + 1)
        case types.Composite(fields) if fields and fields[0].name is not None:
            return _struct(registry, fields, {}, depth)
        case types.Variants((case, *_)) if row.path != ("Option",):
            return _blank_case(registry, case, depth)
        case types.Tuple(members):
            return tuple(_blank(registry, member, depth + 1) for member in members)
        case _:
            return empty(registry, type_id)


def _blank_case(registry: TypeRegistry, case: types.Variant, depth: int) -> Any:
    if not case.fields:
        return case.name
    if case.fields[0].name is not None:
        return case.name, _struct(registry, case.fields, {}, depth)
    values = tuple(_blank(registry, field.type, depth + 1) for field in case.fields)
    return case.name, values[0] if len(values) == 1 else values
