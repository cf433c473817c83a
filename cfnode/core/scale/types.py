"""Type table of runtime metadata V14 and V15 (scale-info's portable registry), as frozen values.

Types refer to each other by number, so recursive types need no special form.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "PRIMITIVES",
    "Array",
    "BitSequence",
    "Compact",
    "Composite",
    "Definition",
    "Field",
    "PortableType",
    "Primitive",
    "Sequence",
    "Tuple",
    "TypeParam",
    "Variant",
    "Variants",
]

_WIDTHS = (8, 16, 32, 64, 128, 256)

PRIMITIVES: tuple[str, ...] = (
    "bool",
    "char",
    "str",
    *(f"u{bits}" for bits in _WIDTHS),
    *(f"i{bits}" for bits in _WIDTHS),
)
"""Primitive types in the order of their index in the metadata."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a composite or of a variant. `type` is a type id, `type_name` the name in the source."""

    name: str | None
    type: int
    type_name: str | None = None
    docs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Variant:
    """One case of an enum; `index` is its byte on the wire."""

    name: str
    fields: tuple[Field, ...]
    index: int
    docs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Composite:
    """A struct."""

    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Variants:
    """An enum."""

    variants: tuple[Variant, ...]


@dataclass(frozen=True, slots=True)
class Sequence:
    """A `Vec<T>`: length, then items."""

    type: int


@dataclass(frozen=True, slots=True)
class Array:
    """A `[T; N]`: items only."""

    length: int
    type: int


@dataclass(frozen=True, slots=True)
class Tuple:
    """A tuple; the empty one is the unit."""

    types: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Primitive:
    """One of `PRIMITIVES`."""

    name: str


@dataclass(frozen=True, slots=True)
class Compact:
    """A number of the inner type in compact form."""

    type: int


@dataclass(frozen=True, slots=True)
class BitSequence:
    """A `BitVec`: `store` is the type of its words, `order` a type named Lsb0 or Msb0."""

    store: int
    order: int


Definition = Composite | Variants | Sequence | Array | Tuple | Primitive | Compact | BitSequence


@dataclass(frozen=True, slots=True)
class TypeParam:
    """A generic parameter of a type; `type` is None for a parameter without meaning at run time."""

    name: str
    type: int | None


@dataclass(frozen=True, slots=True)
class PortableType:
    """One row of the type table."""

    id: int
    path: tuple[str, ...]
    params: tuple[TypeParam, ...]
    definition: Definition
    docs: tuple[str, ...] = ()
