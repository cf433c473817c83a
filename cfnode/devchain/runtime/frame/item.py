"""A storage item's declaration, and the pallet, runtime and codecs that it works with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from cfnode.core.scale import Codec
from cfnode.devchain.runtime.release import Release

from .host import Host
from .kept import KeptValues
from .span import Span
from .table import TypeTable

__all__ = ["UNSET", "Decoder", "Default", "Item", "ItemOwner", "OwnersRuntime", "Unset"]

V = TypeVar("V")
T_co = TypeVar("T_co", covariant=True)


class Unset:
    """The type of `UNSET`."""


UNSET = Unset()


@dataclass(frozen=True, slots=True)
class Item:
    """The declaration of one storage item; `hashers` and `keys` are empty for a plain value."""

    hashers: tuple[str, ...]
    keys: tuple[str, ...]
    value: str
    optional: bool
    default: object
    span: Span

    @property
    def key(self) -> str:
        """The expression of the key: a tuple if there are several hashers."""
        return self.keys[0] if len(self.keys) == 1 else f"({', '.join(self.keys)})"


class OwnersRuntime(Protocol):
    """The runtime of an item's pallet, as the item knows it."""

    @property
    def host(self) -> Host:
        """The storage that the runtime works on."""

    @property
    def release(self) -> Release:
        """The release of the chain that the runtime implements."""

    @property
    def types(self) -> TypeTable:
        """The type table with the codecs of the storage items."""

    @property
    def kept(self) -> KeptValues:
        """The cache of decoded values."""


Default: TypeAlias = V | Callable[[OwnersRuntime], V] | Unset
"""The value of an item that is not stored: a value, a function of the runtime, or the type's zero."""


class ItemOwner(Protocol):
    """The pallet of an item, as the item knows it."""

    @property
    def name(self) -> str:
        """The name of the pallet, which is the prefix of its storage keys."""

    @property
    def runtime(self) -> OwnersRuntime:
        """The runtime that the pallet is part of."""

    def codec(self, text: str) -> Codec:
        """Return the codec of a type expression."""

    def type_id(self, text: str) -> int:
        """Return the type id of a type expression, for the metadata."""


class Decoder(Protocol[T_co]):
    """A codec, as the reader of a type knows it."""

    def decode(self, data: bytes) -> T_co:
        """Decode a whole value. Raises ScaleError."""

    def decode_from(self, data: bytes, offset: int) -> tuple[T_co, int]:
        """Decode the value at an offset; return it and the offset behind it. Raises ScaleError."""
