"""Rewriting of storage items of a raw chain specification, in the types of its own runtime's metadata.

The state is read by the metadata (`Present`), and an `ItemContent` says what an item is to hold. Values are
fitted to the item's type (`shapes`), so that one program serves runtimes whose structs have other fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cfnode.core.chainspec.shapes import described, fitted
from cfnode.core.scale import NotInMetadataError, ScaleError
from cfnode.core.scale.metadata import Metadata, StorageItem

__all__ = ["AnyOf", "ItemContent", "Part", "Present", "Rewritten", "rewrite"]

Rows = Mapping[tuple[Any, ...], Any]
"""Map keys to value; a plain item has the key ()."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A rewritten storage item: the numbers of its old and of its new entries."""

    item: str
    removed: int
    written: int


@dataclass(frozen=True, slots=True)
class ItemContent:
    """The new content of an item; `keep`: entries under other keys stay.

    A value of `AnyOf` stands for several, of which each runtime takes one.
    """

    rows: Rows
    keep: bool = False


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Alternative values of an item, in the types of several runtimes, newest first."""

    shapes: tuple[Any, ...]


class Present:
    """The state before the change, decoded by the metadata."""

    def __init__(self, metadata: Metadata, top: Mapping[bytes, bytes]) -> None:
        self._metadata, self._top = metadata, top

    def has(self, pallet: str, item: str) -> bool:
        """Return whether the runtime has this item."""
        try:
            self._metadata.storage(pallet, item)
        except NotInMetadataError:
            return False
        return True

    def value(self, pallet: str, item: str, *keys: Any) -> Any:
        """Return the value of an item, or of an entry of a map; its default if it is absent.

        Raises ScaleError if the value has an unknown shape.
        """
        storage_item = self._metadata.storage(pallet, item)
        try:
            return storage_item.decode(self._top.get(storage_item.key(*keys)))
        except ScaleError as error:
            raise _unknown_shape(self._metadata, storage_item, error) from error

    def takes(self, pallet: str, item: str, keys: tuple[Any, ...], value: Any) -> bool:
        """Return whether the runtime has an entry with these keys and this value."""
        try:
            storage_item = self._metadata.storage(pallet, item)
            return bool(storage_item.key(*keys) and storage_item.value.encode(value))
        except ScaleError:
            return False

    def balance(self, account: bytes) -> int:
        """Return the FLIP atoms of an account."""
        value = self.value("Flip", "Account", account)
        return value.get("balance", 0) if isinstance(value, dict) else 0


Part = Iterator[tuple[tuple[str, str], ItemContent]]
"""Items by pallet and name, with their new content."""


def rewrite(top: dict[bytes, bytes], metadata: Metadata, item: StorageItem, change: ItemContent) -> Rewritten:
    """Write the new content of an item into a state. Raises ScaleError for an item of an unknown shape."""
    try:
        rows = dict(_rows(top, metadata, item, change))
    except ScaleError as error:
        raise _unknown_shape(metadata, item, error) from error
    removed = [key for key in top if key.startswith(item.prefix) and (key in rows or not change.keep)]
    for key in removed:
        del top[key]
    top.update(rows)
    return Rewritten(f"{item.pallet}.{item.entry.name}", len(removed), len(rows))


def _unknown_shape(metadata: Metadata, item: StorageItem, error: ScaleError) -> ScaleError:
    shape = described(metadata.registry, item.value.type_id)
    name = f"{item.pallet}.{item.entry.name}"
    return ScaleError(f"{name} has a shape that this program does not know, {shape}: {error}")


def _rows(
    top: Mapping[bytes, bytes], metadata: Metadata, item: StorageItem, change: ItemContent
) -> Iterator[tuple[bytes, bytes]]:
    """Yield storage keys and values; raise ScaleError if the item's key or value is of another type."""
    for keys, value in change.rows.items():
        if len(keys) != len(item.keys):
            raise ScaleError(f"its key has {len(item.keys)} parts, not {len(keys)}")
        key = item.key(*keys)
        shapes = value.shapes if isinstance(value, AnyOf) else (value,)
        yield key, _encoded(metadata, item, shapes, item.decode(top.get(key)))


def _encoded(metadata: Metadata, item: StorageItem, shapes: tuple[Any, ...], present: Any) -> bytes:
    """Return the encoding of the first of the values that fits the item's type; raise ScaleError."""
    faults: list[str] = []
    for shape in shapes:
        try:
            return item.value.encode(fitted(metadata.registry, item.value.type_id, shape, present))
        except ScaleError as error:
            faults.append(str(error))
    raise ScaleError("; ".join(faults))
