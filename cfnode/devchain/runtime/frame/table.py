"""The type table of one runtime: from type expressions to scale-info's portable types.

A type gets its row when an expression first names it, so rows exist for what the runtime uses and for nothing
else. One expression is one row: `Vec<u8>` and `Bytes` are the same type.
"""

from __future__ import annotations

from collections.abc import Mapping

from cfnode.core.scale import PythonForm, TypeRegistry
from cfnode.core.scale.types import (
    PRIMITIVES,
    Array,
    Compact,
    Composite,
    Definition,
    Field,
    PortableType,
    Primitive,
    Sequence,
    Tuple,
    TypeParam,
    Variant,
    Variants,
)

from .expressions import (
    ArrayOf,
    Expression,
    FieldOf,
    TupleOf,
    TypeLanguageError,
    TypeName,
    describe,
    parse,
    substitute,
)
from .types import Alias, Catalog, Declaration, Enum, Struct

Scope = Mapping[str, str]
"""Names that only one pallet knows, as expressions: {"TargetAccount": "H160"}."""

_WIDTH = {name: int(name[1:]) // 8 for name in PRIMITIVES if name[0] in "ui"} | {
    "bool": 1,
    "char": 4,
    "str": 1,
}


class TypeTable:
    """Type ids for expressions in the names of one catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self.types: list[PortableType] = []
        self.catalog = catalog
        self._ids: dict[Expression, int] = {}
        self._forms: dict[int, PythonForm] = {}
        self._registry: TypeRegistry | None = None
        self._described: TypeRegistry | None = None

    def id(self, text: str, scope: Scope | None = None) -> int:
        """Return the id of an expression; a new one gets a row. Raises TypeLanguageError for a wrong name."""
        expression = parse(text)
        if scope:
            expression = substitute(expression, {name: parse(target) for name, target in scope.items()})
        try:
            return self._id(expression)
        except TypeLanguageError as error:
            raise TypeLanguageError(f"in {text!r}: {error}") from None

    @property
    def registry(self) -> TypeRegistry:
        """Codecs for the rows made so far: values are of the catalog's classes, where it has some."""
        if self._registry is None or len(self._registry.types) != len(self.types):
            self._registry = TypeRegistry(tuple(self.types), self._forms)
        return self._registry

    @property
    def described(self) -> TypeRegistry:
        """Codecs of the same rows for code outside of the runtime: values are dicts and tuples."""
        if self._described is None or len(self._described.types) != len(self.types):
            self._described = TypeRegistry(tuple(self.types))
        return self._described

    def zero(self, type_id: int) -> bytes:
        """Return the encoded `Default` of most Rust types: zeros, empty, None, an enum's first variant."""
        match self.types[type_id].definition:
            case Composite(fields):
                return b"".join(self.zero(field.type) for field in fields)
            case Variants(variants):
                first = variants[0]
                return bytes([first.index]) + b"".join(self.zero(field.type) for field in first.fields)
            case Tuple(items):
                return b"".join(map(self.zero, items))
            case Array(length, item):
                return self.zero(item) * length
            case Primitive(name):
                return bytes(_WIDTH[name])
            case _:
                return b"\0"

    def reads_back(self, type_id: int) -> bool:
        """Return whether a decoded value has the classes of the one that was encoded, in all its parts.

        Not so for a type with lists, tuples or dicts inside: an encoder takes a tuple for a list, and what
        the writer still holds could change.
        """
        return self._reads_back(type_id, set())

    def _reads_back(self, type_id: int, visited: set[int]) -> bool:
        if type_id in visited:
            return True
        visited.add(type_id)
        match self.types[type_id].definition:
            case Primitive() | Compact():
                return True
            case Sequence(item) | Array(_, item):
                return self.types[item].definition == Primitive("u8")
            case Tuple(items):
                return not items
            case Composite(fields):
                is_transparent = len(fields) == 1 and fields[0].name is None
                return (is_transparent or self._has_form(type_id, fields)) and self._all_read_back(
                    fields, visited
                )
            case Variants(variants):
                fields = tuple(field for variant in variants for field in variant.fields)
                is_transparent = self.types[type_id].path == ("Option",)
                return (is_transparent or self._has_form(type_id, fields)) and self._all_read_back(
                    fields, visited
                )
        return False

    def _has_form(self, type_id: int, fields: tuple[Field, ...]) -> bool:
        """Return whether values of a type are of its own classes, or names for want of fields."""
        return not fields or type_id in self._forms

    def _all_read_back(self, fields: tuple[Field, ...], visited: set[int]) -> bool:
        return all(self._reads_back(field.type, visited) for field in fields)

    def _id(self, expression: Expression) -> int:
        type_id = self._ids.get(expression)
        if type_id is not None:
            return type_id
        written_out = self._written_out(expression)
        if written_out != expression:
            self._ids[expression] = self._id(written_out)
            return self._ids[expression]
        declared = self._declared(expression)
        number = self._ids[expression] = len(self.types)
        self.types.append(PortableType(number, (), (), Tuple(())))  # holds the place: types may be recursive
        self.types[number] = self._row(number, expression, declared)
        return number

    def _written_out(self, expression: Expression) -> Expression:
        """Return the expression without aliases and boxes: several ways to write a type are one type."""
        declared = self._declared(expression)
        if declared is not None and isinstance(body := declared.make(), Alias):
            return self._written_out(body.target)
        match expression:
            case TypeName("Box", (item,)):
                return self._written_out(item)
            case TypeName(name, arguments) if arguments:
                return TypeName(name, tuple(map(self._written_out, arguments)))
            case TupleOf(items):
                return TupleOf(tuple(map(self._written_out, items)))
            case ArrayOf(item, length):
                return ArrayOf(self._written_out(item), length)
        return expression

    def _declared(self, expression: Expression) -> Declaration | None:
        if not isinstance(expression, TypeName):
            return None
        return self.catalog.get(expression.name)

    def _row(self, number: int, expression: Expression, declared: Declaration | None) -> PortableType:
        if declared is None:
            return PortableType(number, (), (), self._built_in(expression))
        assert isinstance(expression, TypeName)
        if len(expression.arguments) != len(declared.parameters):
            parameters = ", ".join(declared.parameters) or "no arguments"
            raise TypeLanguageError(f"{describe(expression)}: {declared.name} takes {parameters}")
        bound = dict(zip(declared.parameters, expression.arguments, strict=True))
        form = self.catalog.form(declared.name)
        if form is not None:
            self._forms[number] = form
        params = tuple(TypeParam(name, self._id(argument)) for name, argument in bound.items())
        return PortableType(number, declared.path, params, self._body(declared, bound))

    def _body(self, declared: Declaration, bound: Mapping[str, Expression]) -> Definition:
        body = declared.make()
        if isinstance(body, Struct):
            return Composite(self._fields(body.fields, bound))
        assert isinstance(body, Enum)
        return Variants(
            tuple(
                Variant(name, self._fields(fields, bound), index, docs)
                for index, name, fields, docs in body.variants
            )
        )

    def _fields(self, fields: tuple[FieldOf, ...], bound: Mapping[str, Expression]) -> tuple[Field, ...]:
        return tuple(
            Field(name, self._id(substitute(expression, bound)), describe(expression))
            for name, expression in fields
        )

    def _built_in(self, expression: Expression) -> Definition:
        match expression:
            case TupleOf(items):
                return Tuple(tuple(map(self._id, items)))
            case ArrayOf(item, length):
                return Array(length, self._id(item))
            case TypeName("Vec", (item,)):
                return Sequence(self._id(item))
            case TypeName("Compact", (item,)):
                return Compact(self._id(item))
            case TypeName(name, ()) if name in PRIMITIVES:
                return Primitive(name)
        raise TypeLanguageError(f"unknown type {describe(expression)!r}")
