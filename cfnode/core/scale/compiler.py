"""Compiler of a type table into SCALE encoders and decoders.

Each type becomes a pair of closures (`kind`), built from those of its parts. A type that contains itself
meets a type that is still being compiled: there the closure looks its target up when it is called, and
counts: a value may enter its own type `MAX_SCALE_DEPTH` times.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cfnode.core.scale import enums, primitives, shapes
from cfnode.core.scale.errors import ScaleError
from cfnode.core.scale.kind import Kind
from cfnode.core.scale.types import (
    Array,
    BitSequence,
    Compact,
    Composite,
    Definition,
    Field,
    PortableType,
    Primitive,
    Sequence,
    Tuple,
    Variant,
    Variants,
)

__all__ = ["MAX_SCALE_DEPTH", "Classes", "Compiler", "PythonForm"]

PythonForm = type | Mapping[str, type | str]
"""The Python form of a type, where it is not the usual one.

That of a struct is its dataclass. That of an enum maps each variant to the dataclass of its fields, or a
variant without fields to another name.
"""
Classes = Mapping[int, PythonForm]
"""Python forms by type id."""

MAX_SCALE_DEPTH = 64
"""How often a value may contain a value of its own type, one inside the other."""

_WIDTHS = (8, 16, 32, 64, 128, 256)
_PRIMITIVES = {
    "bool": primitives.BOOL,
    "char": primitives.CHAR,
    "str": primitives.TEXT,
    **{f"u{width}": primitives.integer(width, signed=False) for width in _WIDTHS},
    **{f"i{width}": primitives.integer(width, signed=True) for width in _WIDTHS},
}
_COMPACTS = {f"u{width}": primitives.compact(width) for width in _WIDTHS}
_BIG_UINTS: dict[tuple[str, ...], int] = {
    ("primitive_types", f"U{width}"): width for width in (128, 256, 512)
}
_UNIT = shapes.tuple_of(())


class Compiler:
    """One walk through the table, which compiles a type and its parts.

    `done` are the kinds of earlier walks, shared with other threads. The kinds of this walk are in `fresh`;
    the caller publishes them together at its end, since one of them may refer to another that is not finished
    before.
    """

    def __init__(self, rows: Mapping[int, PortableType], done: Mapping[int, Kind], classes: Classes) -> None:
        self.rows = rows
        self.done = done
        self.classes = classes
        self.fresh: dict[int, Kind] = {}
        self.open: set[int] = set()

    def kind(self, type_id: int) -> Kind:
        """Return the kind of a type, compiled now unless it is compiled or being compiled."""
        kind = self.done.get(type_id) or self.fresh.get(type_id)
        if kind is not None:
            return kind
        if type_id in self.open:
            return self.later(type_id)
        self.open.add(type_id)
        self.fresh[type_id] = compiled = self.compile(self.row(type_id))
        self.open.discard(type_id)
        return compiled

    def row(self, type_id: int) -> PortableType:
        """Return the row of a type id. Raises ScaleError for an unknown id."""
        try:
            return self.rows[type_id]
        except KeyError:
            raise ScaleError(f"the type table has no type {type_id}") from None

    def compile(self, row: PortableType) -> Kind:
        """Return the codec of a row of the type table. Raises ScaleError."""
        match row.definition:
            case Composite(fields):
                width = _BIG_UINTS.get(row.path)
                return primitives.integer(width, signed=False) if width else self.struct(row, fields)
            case Variants():
                return self.variants(row, row.definition)
            case Sequence(item):
                return primitives.BYTES if self.is_u8(item) else shapes.sequence(self.kind(item))
            case Array(length, item):
                if self.is_u8(item):
                    return primitives.byte_array(length)
                return shapes.array(length, self.kind(item))
            case Tuple(types):
                return shapes.tuple_of([self.kind(part) for part in types])
            case Primitive(name):
                return _PRIMITIVES[name]
            case Compact(inner):
                return self.compact(inner)
            case BitSequence(store, order):
                return self.bits(store, order)

    def is_u8(self, type_id: int) -> bool:
        """Return whether a type id means u8, whose sequences are bytes."""
        return self.row(type_id).definition == Primitive("u8")

    def fields(self, fields: tuple[Field, ...]) -> Kind:
        """Return the kind of fields.

        One unnamed field is the value itself; names make a dict; otherwise the value is a tuple.
        """
        if len(fields) == 1 and fields[0].name is None:
            return self.kind(fields[0].type)
        kinds = [self.kind(field.type) for field in fields]
        names = [field.name for field in fields if field.name is not None]
        if fields and len(names) == len(fields):
            return shapes.named(list(zip(names, kinds, strict=True)))
        return shapes.tuple_of(kinds)

    def struct(self, row: PortableType, fields: tuple[Field, ...]) -> Kind:
        """Return the kind of a struct, whose values are of its class if it has one."""
        own_class = self.classes.get(row.id)
        return self.instance(own_class, fields) if isinstance(own_class, type) else self.fields(fields)

    def instance(self, made: type, fields: tuple[Field, ...]) -> Kind:
        """Return the kind of fields as attributes of a class.

        Fields without names are together the attribute `value`.
        """
        kinds = [(field.name, self.kind(field.type)) for field in fields if field.name is not None]
        return shapes.instance(made, kinds or [("value", self.fields(fields))])

    def variants(self, row: PortableType, definition: Variants) -> Kind:
        """Return the codec of an enum; `Option` has None for its first case."""
        cases = definition.variants
        if row.path == ("Option",) and [case.name for case in cases] == ["None", "Some"]:
            inner = cases[1].fields[0].type
            return shapes.option(self.kind(inner), wrap=self.may_be_none(inner))
        case_classes = self.classes.get(row.id)
        if isinstance(case_classes, Mapping):
            return enums.union([self.case(case, case_classes.get(case.name, case.name)) for case in cases])
        return enums.enum(
            [
                enums.Case(case.index, case.name, self.fields(case.fields) if case.fields else None)
                for case in cases
            ]
        )

    def case(self, case: Variant, made: type | str) -> tuple[int, type | str, Kind | None]:
        """Return (index, class or name, kind) of a variant of an enum with a Python form.

        The kind is None for a name.
        """
        return case.index, made, self.instance(made, case.fields) if isinstance(made, type) else None

    def may_be_none(self, type_id: int) -> bool:
        """Return whether None is a value of this type: it is an Option, or a newtype of one."""
        seen: set[int] = set()
        while type_id not in seen:
            seen.add(type_id)
            row = self.row(type_id)
            match row.definition:
                case Composite((Field(name=None, type=inner),)):
                    type_id = inner
                case _:
                    return row.path == ("Option",)
        return False

    def compact(self, type_id: int) -> Kind:
        """Return the kind of a type in compact form; raise ScaleError if it has none.

        Compact forms exist for unsigned integers, structs that have just one, and the unit (no bytes).
        """
        seen: set[int] = set()
        while type_id not in seen:
            seen.add(type_id)
            match self.row(type_id).definition:
                case Primitive(name) if name in _COMPACTS:
                    return _COMPACTS[name]
                case Composite((Field(type=inner),)):
                    type_id = inner
                case Tuple(()) | Composite(()):
                    return _UNIT
                case _:
                    break
        raise ScaleError(f"type {type_id} has no compact form")

    def bits(self, store: int, order: int) -> Kind:
        """Return the codec of a bit sequence, by the type ids of its words and its bit order."""
        words: dict[Definition, int] = {Primitive(f"u{width}"): width for width in (8, 16, 32, 64)}
        word_bits = words.get(self.row(store).definition)
        name = self.row(order).path[-1:]
        if word_bits is None or name not in (("Lsb0",), ("Msb0",)):
            raise ScaleError(f"type {store} with order {order} is not a bit sequence")
        return primitives.bits(word_bits, lowest_first=name == ("Lsb0",))

    def later(self, type_id: int) -> Kind:
        """Return the kind of a type inside itself, which looks its target up when it is called.

        Only here does the depth grow.
        """
        fresh = self.fresh

        def encode(value: Any, out: bytearray, depth: int) -> None:
            if depth >= MAX_SCALE_DEPTH:
                raise ScaleError(f"nested too deeply: at most {MAX_SCALE_DEPTH} levels")
            fresh[type_id].encode(value, out, depth + 1)

        def decode(data: bytes, offset: int, depth: int) -> tuple[Any, int]:
            if depth >= MAX_SCALE_DEPTH:
                raise ScaleError(f"nested too deeply: at most {MAX_SCALE_DEPTH} levels (offset {offset})")
            return fresh[type_id].decode(data, offset, depth + 1)

        return Kind(encode, decode, 1)
