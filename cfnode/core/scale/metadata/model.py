"""Metadata of one runtime, with look-ups of pallets, storage, constants, errors and runtime APIs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from cfnode.core.scale.errors import NotInMetadataError
from cfnode.core.scale.metadata.bound import ApiFunction, StorageItem
from cfnode.core.scale.metadata.tables import (
    CustomValue,
    ExtrinsicFormat,
    OuterEnums,
    PalletMetadata,
    RuntimeApiMetadata,
)
from cfnode.core.scale.registry import Codec, TypeRegistry
from cfnode.core.scale.types import Field, Variant, Variants

__all__ = ["Metadata"]

_Name = TypeVar("_Name")
_Thing = TypeVar("_Thing")


class _Index:
    """The caches of look-ups: names from the beginning, codecs from their first use on."""

    __slots__ = ("functions", "methods", "pallets", "storage", "variants")

    def __init__(self, pallets: tuple[PalletMetadata, ...], apis: tuple[RuntimeApiMetadata, ...]) -> None:
        self.pallets: dict[str | int, PalletMetadata] = {pallet.name: pallet for pallet in pallets}
        self.pallets.update({pallet.index: pallet for pallet in pallets})
        self.methods = {f"{api.name}_{method.name}": method for api in apis for method in api.methods}
        self.functions: dict[str, ApiFunction] = {}
        self.storage: dict[tuple[str, str], StorageItem] = {}
        self.variants: dict[int, dict[int, Variant]] = {}


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of one runtime, with look-ups by name.

    `version` is 14 or 15. V14 has no `apis`, no `custom` and maybe no `outer_enums`. Unknown names raise
    `NotInMetadataError`.
    """

    version: int
    registry: TypeRegistry
    pallets: tuple[PalletMetadata, ...]
    extrinsic: ExtrinsicFormat
    runtime_type: int
    apis: tuple[RuntimeApiMetadata, ...] = ()
    outer_enums: OuterEnums | None = None
    custom: tuple[CustomValue, ...] = ()
    _index: _Index = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Build the index of pallets and APIs by name."""
        object.__setattr__(self, "_index", _Index(self.pallets, self.apis))

    def pallet(self, name: str) -> PalletMetadata:
        """Return the pallet of a name."""
        return _found(self._index.pallets, name, "pallet")

    def pallet_by_index(self, index: int) -> PalletMetadata:
        """Return the pallet with an index, which is the first byte of its calls and events."""
        return _found(self._index.pallets, index, "pallet")

    def storage(self, pallet: str, item: str) -> StorageItem:
        """Return a storage item: its keys, its value, its default."""
        storage_item = self._index.storage.get((pallet, item))
        if storage_item is None:
            storage_item = self._index.storage[pallet, item] = self._bind_storage(pallet, item)
        return storage_item

    def _bind_storage(self, pallet: str, item: str) -> StorageItem:
        storage = self.pallet(pallet).storage
        for entry in storage.entries if storage else ():
            if storage and entry.name == item:
                return StorageItem(self.registry, pallet, storage.prefix, entry)
        raise NotInMetadataError(f"the runtime has no storage item {pallet}.{item}")

    def storage_key(self, pallet: str, item: str, *keys: Any) -> bytes:
        """Return the key of a storage item, as `StorageItem.key` does.

        With fewer keys than the map has, it is the prefix of all matching keys.
        """
        return self.storage(pallet, item).key(*keys)

    def storage_codec(self, pallet: str, item: str) -> Codec:
        """Return the codec of a storage item's value."""
        return self.storage(pallet, item).value

    def constant(self, pallet: str, name: str) -> Any:
        """Return the value of a constant."""
        for constant in self.pallet(pallet).constants:
            if constant.name == name:
                return self.registry.codec(constant.type).decode(constant.value)
        raise NotInMetadataError(f"the runtime has no constant {pallet}.{name}")

    def api_method(self, function: str) -> ApiFunction:
        """Return a runtime API method by its entry point, as in `Core_version`."""
        api_function = self._index.functions.get(function)
        if api_function is None:
            method = _found(self._index.methods, function, "runtime API function")
            api_function = self._index.functions[function] = ApiFunction(self.registry, function, method)
        return api_function

    def has_api(self, function: str) -> bool:
        """Return whether the runtime has this entry point."""
        return function in self._index.methods

    def error(self, module_index: int, error: int | bytes) -> tuple[str, str, str]:
        """Return pallet, name and docs of a module error.

        `error` is its index, or the bytes that begin with the index.
        """
        pallet = self.pallet_by_index(module_index)
        index = error if isinstance(error, int) else error[0] if error else -1
        variant = self._variants_of(pallet.errors).get(index)
        if variant is None:
            raise NotInMetadataError(f"the pallet {pallet.name} has no error {index}")
        return pallet.name, variant.name, " ".join(line.strip() for line in variant.docs).strip()

    def call_fields(self, pallet: str, name: str) -> tuple[Field, ...] | None:
        """Return the fields of a call; None if the runtime has no such call."""
        known = self._index.pallets.get(pallet)
        calls = self._variants_of(None if known is None else known.calls).values()
        return next((variant.fields for variant in calls if variant.name == name), None)

    def has_call(self, pallet: str, name: str) -> bool:
        """Return whether the runtime has a call."""
        return self.call_fields(pallet, name) is not None

    def event_names(self, pallet: str) -> tuple[str, ...]:
        """Return the names of a pallet's events, in the order of their indices."""
        return tuple(variant.name for variant in self._variants_of(self.pallet(pallet).events).values())

    def _variants_of(self, type_id: int | None) -> Mapping[int, Variant]:
        if type_id is None:
            return {}
        variants = self._index.variants.get(type_id)
        if variants is None:
            definition = self.registry.type(type_id).definition
            cases = definition.variants if isinstance(definition, Variants) else ()
            variants = self._index.variants[type_id] = {case.index: case for case in cases}
        return variants

    @property
    def event_codec(self) -> Codec:
        """The codec of the events of a block, as System.Events holds them: a list of EventRecord."""
        return self.storage_codec("System", "Events")

    @property
    def call_codec(self) -> Codec:
        """The codec of RuntimeCall."""
        return self.registry.codec(self.extrinsic.call)


def _found(table: Mapping[_Name, _Thing], name: _Name, what: str) -> _Thing:
    try:
        return table[name]
    except KeyError:
        raise NotInMetadataError(f"the runtime has no {what} {name}") from None
