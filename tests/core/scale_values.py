"""Random values of any type of a type table, in the shape that the codec takes.

Written from the table alone, without the compiler, so that both can be wrong only in different ways.
"""

from __future__ import annotations

from random import Random
from typing import Any

from cfnode.core.scale import (
    Array,
    BitSequence,
    Compact,
    Composite,
    Field,
    PortableType,
    Primitive,
    Sequence,
    Some,
    Tuple,
    TypeRegistry,
    Variant,
    Variants,
)

NEVER = 10**6
"""The height of a type that has no value, such as an enum without variants."""

_LETTERS = "aZ09 _-é√語😀\x00\n"


class Values:
    """A source of random values; the height of a type is how deep its shallowest value nests.

    Values never hold a value of a type in `without`.
    """

    def __init__(self, registry: TypeRegistry, seed: int, without: frozenset[int] = frozenset()) -> None:
        self.registry = registry
        self.without = without
        self.random = Random(seed)
        self.heights: dict[int, int] = {row.id: NEVER for row in registry.types}
        while self._lower_heights():
            pass

    def _lower_heights(self) -> bool:
        changed = False
        for row in self.registry.types:
            height = self._height(row)
            if height < self.heights[row.id]:
                self.heights[row.id] = height
                changed = True
        return changed

    def _height(self, row: PortableType) -> int:
        if row.id in self.without:
            return NEVER
        match row.definition:
            case Composite(fields):
                return self._above([field.type for field in fields])
            case Variants(variants):
                return min((self.variant_height(variant) for variant in variants), default=NEVER)
            case Array(length, item):
                return self._above([item] if length else [])
            case Tuple(types):
                return self._above(list(types))
            case _:
                return 1

    def variant_height(self, variant: Variant) -> int:
        """Return how many levels a value of the variant has at least."""
        return self._above([field.type for field in variant.fields])

    def _above(self, parts: list[int]) -> int:
        return min(NEVER, 1 + max((self.heights[part] for part in parts), default=0))

    def inhabited(self, type_id: int) -> bool:
        """Return whether the type has a value at all."""
        return self.heights[type_id] < NEVER

    def value(self, type_id: int, room: int = 12) -> Any:
        """Return a value that nests at most about `room` levels deep, or as deep as it must."""
        row = self.registry.type(type_id)
        match row.definition:
            case Composite(fields):
                if row.path == ("primitive_types", "U256"):
                    return self.integer(256, signed=False)
                return self.fields(fields, room)
            case Variants(variants):
                return self.enum(row, variants, room)
            case Sequence(item):
                length = self.length(room) if self.inhabited(item) else 0
                return self.items(item, length, room)
            case Array(length, item):
                return self.items(item, length, room)
            case Tuple(types):
                return tuple(self.value(part, room - 1) for part in types)
            case Primitive(name):
                return self.primitive(name)
            case Compact(inner):
                return self.value(inner, room)
            case BitSequence():
                return [
                    self.random.random() < 0.5 for _ in range(self.random.choice((0, 1, 7, 8, 9, 40, 65)))
                ]

    def length(self, room: int) -> int:
        """Return a random length, 0 where no level is left."""
        if room <= 0:
            return 0
        return self.random.choice((0, 1, 2, 3) if room > 6 else (0, 1))

    def items(self, item: int, length: int, room: int) -> Any:
        """Return a random sequence of that many items."""
        if self.registry.type(item).definition == Primitive("u8"):
            return self.random.randbytes(length)
        return [self.value(item, room - 1) for _ in range(length)]

    def fields(self, fields: tuple[Field, ...], room: int) -> Any:
        """Return random values of fields, in the form in which they are decoded."""
        values = [self.value(field.type, room - 1) for field in fields]
        if len(fields) == 1 and fields[0].name is None:
            return values[0]
        if fields and all(field.name is not None for field in fields):
            return {field.name: value for field, value in zip(fields, values, strict=True)}
        return tuple(values)

    def enum(self, row: PortableType, variants: tuple[Variant, ...], room: int) -> Any:
        """Return a random value of one of the variants that fit into the room."""
        lowest = min(self.variant_height(variant) for variant in variants)
        possible = [v for v in variants if self.variant_height(v) <= max(lowest, min(room, NEVER - 1))]
        return self.of_variant(row, self.random.choice(possible), room)

    def of_variant(self, row: PortableType, variant: Variant, room: int = 12) -> Any:
        """Return a value of this variant."""
        if row.path == ("Option",):
            if variant.name == "None":
                return None
            inner = variant.fields[0].type
            value = self.value(inner, room - 1)
            return Some(value) if self.may_be_none(inner) else value
        return (variant.name, self.fields(variant.fields, room)) if variant.fields else variant.name

    def may_be_none(self, type_id: int) -> bool:
        """Return whether None is a value of the type."""
        row = self.registry.type(type_id)
        match row.definition:
            case Composite((Field(name=None, type=inner),)):
                return self.may_be_none(inner)
        return row.path == ("Option",)

    def primitive(self, name: str) -> Any:
        """Return a random value of a primitive type."""
        if name == "bool":
            return self.random.random() < 0.5
        if name == "char":
            return self.random.choice(_LETTERS)
        if name == "str":
            return "".join(self.random.choices(_LETTERS, k=self.random.randrange(6)))
        return self.integer(int(name[1:]), signed=name[0] == "i")

    def integer(self, width: int, signed: bool) -> int:
        """Return an integer: often at an edge, often small, sometimes anything."""
        low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
        some = self.random.getrandbits(self.random.randrange(1, width))
        return self.random.choice((low, high, 0, some, min(some + 1, high), -some if signed else some))
