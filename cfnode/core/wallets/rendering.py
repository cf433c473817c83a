"""Conversion of SCALE values to EIP-712 types and values, for Ethereum wallets.

The metadata's type of a value decides, as in Chainflip's `ethereum-eip712` crate (runtime 2.2). A struct is a
struct under the path of its type, a list is a struct with numbered members, and an enum is the struct of the
value's variant, or the variant's name if it has no fields. So the type of a value may vary with the value:
the names of such types, and of generic ones, end in a hash of their members.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cfnode.core.hashing import keccak_256
from cfnode.core.scale import (
    Array,
    Compact,
    Composite,
    Field,
    PortableType,
    Primitive,
    ScaleError,
    Some,
    Tuple,
    TypeRegistry,
    Variants,
)
from cfnode.core.scale import Sequence as ListOf

from .typed_data import Member, Types

__all__ = ["Rendered", "Renderer"]

EMPTY_TEXT = "Empty"
MAX_EIP712_DEPTH = 56
"""Maximum depth of nesting, enough for all values that SCALE can encode: its decoders stop at 64."""
_PRIMITIVES = {"bool": "bool", "str": "string", "char": "string"} | {
    f"{short}{bits}": f"{long}{bits}"
    for short, long in {"u": "uint", "i": "int"}.items()
    for bits in (8, 16, 32, 64, 128, 256)
}
_OF_THE_EVM = {"H160": "address", "H256": "bytes", "U256": "uint256"}


@dataclass(frozen=True, slots=True)
class Rendered:
    """A value's EIP-712 type, the value, and whether the EIP-712 type depends on the value."""

    type: str
    value: Any
    varies: bool = False


class Renderer:
    """Converter of values of a registry's types; `types` collects the structs that they need, by name."""

    def __init__(self, registry: TypeRegistry) -> None:
        self._registry = registry
        self._types: dict[str, tuple[Member, ...]] = {}
        self._depth = 0

    @property
    def types(self) -> Types:
        """The structs of all values rendered so far."""
        return dict(sorted(self._types.items()))

    def render(self, type_id: int, value: Any) -> Rendered:
        """Return a value of a type in EIP-712; raise ScaleError if it has no such form.

        The value is in the form in which the type's codec decodes it.
        """
        if self._depth >= MAX_EIP712_DEPTH:
            raise ScaleError(f"nested too deeply to be rendered: at most {MAX_EIP712_DEPTH} levels")
        self._depth += 1
        try:
            return self._rendered(type_id, value)
        finally:
            self._depth -= 1

    def _rendered(self, type_id: int, value: Any) -> Rendered:
        row = self._registry.type(type_id)
        match row.definition:
            case Composite(fields):
                return self._composite(row, fields, value)
            case Variants():
                return self._variant(row, row.definition, value)
            case ListOf(item) | Array(_, item):
                return self._list(item, value)
            case Tuple(items):
                return self._tuple(items, value)
            case Primitive(name):
                return Rendered(_PRIMITIVES[name], value)
            case Compact(inner):
                return self.render(inner, value)
        raise ScaleError(f"type {type_id} has no form in EIP-712")

    def _composite(self, row: PortableType, fields: Sequence[Field], value: Any) -> Rendered:
        if row.path[:1] == ("primitive_types",) and row.path[-1] in _OF_THE_EVM:
            return Rendered(_OF_THE_EVM[row.path[-1]], value)
        members = self._members(fields, value)
        return self._struct(_name(row), members, generic=bool(row.params))

    def _variant(self, row: PortableType, definition: Variants, value: Any) -> Rendered:
        name, payload = _chosen(row, value)
        if payload is _NOTHING:
            return Rendered("string", name, varies=True)
        variant = next(candidate for candidate in definition.variants if candidate.name == name)
        members = self._members(variant.fields, payload)
        struct = self._struct(f"{_name(row)}__{name}", members, generic=True)
        return Rendered(struct.type, struct.value, varies=True)

    def _members(self, fields: Sequence[Field], value: Any) -> list[tuple[str, Rendered]]:
        parts = [
            self.render(field.type, part) for field, part in zip(fields, _parts(fields, value), strict=True)
        ]
        return [
            (field.name if field.name is not None else f"{rendered.type}_{index}", rendered)
            for index, (field, rendered) in enumerate(zip(fields, parts, strict=True))
        ]

    def _list(self, item: int, value: Any) -> Rendered:
        if not value:
            return Rendered("string", EMPTY_TEXT, varies=True)
        if isinstance(value, bytes):
            return Rendered("bytes", value)
        members = [(str(index), self.render(item, element)) for index, element in enumerate(value)]
        return self._struct(_tagged(f"ArrayOf__{members[0][1].type}", members, 4, ""), members)

    def _tuple(self, items: Sequence[int], value: Any) -> Rendered:
        parts = [self.render(item, element) for item, element in zip(items, value, strict=True)]
        members = [(f"{rendered.type}__{index}", rendered) for index, rendered in enumerate(parts)]
        return self._struct(_tagged("UnnamedTuple", members, 4), members)

    def _struct(self, name: str, members: list[tuple[str, Rendered]], generic: bool = False) -> Rendered:
        if not members:
            return Rendered("string", EMPTY_TEXT)
        varies = any(rendered.varies for _, rendered in members)
        if varies or generic:
            name = _tagged(name, members, 8)
        self._types[name] = tuple((member, rendered.type) for member, rendered in members)
        return Rendered(name, {member: rendered.value for member, rendered in members}, varies)


_NOTHING = object()


def _chosen(row: PortableType, value: Any) -> tuple[str, Any]:
    """Return the name of a value's variant, and its payload."""
    if row.path == ("Option",):
        if value is None:
            return "None", _NOTHING
        return "Some", value.value if isinstance(value, Some) else value
    return (value, _NOTHING) if isinstance(value, str) else value


def _parts(fields: Sequence[Field], value: Any) -> Sequence[Any]:
    if len(fields) == 1 and fields[0].name is None:
        return [value]
    if isinstance(value, dict):
        return [value[field.name] for field in fields]
    parts: Sequence[Any] = value
    return parts


def _name(row: PortableType) -> str:
    if not row.path:
        raise ScaleError(f"type {row.id} has no name to render")
    return "____".join(row.path)


def _tagged(name: str, members: list[tuple[str, Rendered]], length: int, between: str = "__") -> str:
    """Return a name with part of the hash of the members, which the chain writes as Rust prints them."""
    members_text = ", ".join(
        f'Eip712DomainType {{ name: "{member}", type: "{rendered.type}" }}' for member, rendered in members
    )
    return f"{name}{between}{keccak_256(f'[{members_text}]'.encode())[:length].hex()}"
