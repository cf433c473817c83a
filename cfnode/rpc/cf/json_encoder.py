"""The JSON encoder of chain values, by the types in the block's metadata and a table of overrides.

Chainflip's node serialises Rust structures, and most of the result follows from the shape of the type alone,
so this module derives it: a struct is an object, an enum is externally tagged, an account is SS58, an amount
(u128) is hex. `json_overrides` lists the exceptions by the name of the type, never by the name of a method.
The encoder of a type is built when it is first needed, and kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from cfnode.core.addresses import BitcoinNetwork
from cfnode.core.scale import Some, TypeRegistry
from cfnode.core.scale.types import (
    Array,
    BitSequence,
    Compact,
    Composite,
    Field,
    PortableType,
    Primitive,
    Sequence,
    Tuple,
    Variant,
    Variants,
)

__all__ = ["Encode", "JsonEncoder", "Member", "Overrides"]

Encode = Callable[[Any], Any]
"""A function from a decoded value to its JSON value."""


@dataclass(frozen=True, slots=True)
class Member:
    """The differences of a member from what its type suggests."""

    encode: Encode | None = None
    """The replacement of the type's own encoder; it takes the decoded value."""
    build: Callable[[JsonEncoder], Encode] | None = None
    """A function that builds the replacement, for an encoder that depends on the runtime."""
    reshape: Encode | None = None
    """The function that is applied after the type's own encoder, to its result."""
    plain_numbers: bool = False
    """Whether amounts in it are numbers."""
    flatten: bool = False
    """Whether its members are members of the parent."""
    optional: bool = False
    """Whether it is left out when it is null or empty."""
    hidden: bool = False
    """Whether it is left out."""


@dataclass(frozen=True, slots=True)
class Overrides:
    """Overrides of the encoding that follows from a type.

    `types`: by the last one or two names of the path. `members`: by (type, member) or (`Enum.Variant`,
    member). `tagged`: enums whose tag is one of the members.
    """

    types: dict[str, Callable[[JsonEncoder, PortableType, bool], Encode]]
    members: dict[tuple[str, str], Member]
    tagged: dict[str, str]


_PLAIN: Final = Member()


def _name(row: PortableType) -> str:
    return row.path[-1] if row.path else ""


def _unchanged(value: Any) -> Any:
    return value


def _numbers(value: bytes) -> list[int]:
    return list(value)


class JsonEncoder:
    """The encoder of the values of one runtime's types. `network` selects the format of Bitcoin addresses."""

    def __init__(self, registry: TypeRegistry, network: BitcoinNetwork | None, overrides: Overrides) -> None:
        self.registry = registry
        self.network = network
        self._overrides = overrides
        self._encoders: dict[tuple[int, bool], Encode] = {}

    def of(self, type_id: int, plain_numbers: bool = False) -> Encode:
        """Return the encoder of a type.

        `plain_numbers`: amounts as numbers.
        """
        encoder = self._encoders.get((type_id, plain_numbers))
        if encoder is None:
            # A type that contains itself finds this placeholder.
            self._encoders[type_id, plain_numbers] = lambda value: self._encoders[type_id, plain_numbers](
                value
            )
            encoder = self._encoders[type_id, plain_numbers] = self._make(
                self.registry.type(type_id), plain_numbers
            )
        return encoder

    def _make(self, row: PortableType, plain_numbers: bool) -> Encode:
        rule = self._overrides.types.get("::".join(row.path[-2:])) or self._overrides.types.get(_name(row))
        return self.plain(row, plain_numbers) if rule is None else rule(self, row, plain_numbers)

    def plain(self, row: PortableType, plain_numbers: bool = False) -> Encode:
        """Return the encoder that follows from the shape of the type alone."""
        match row.definition:
            case Primitive(name):
                return hex if (name == "u128" and not plain_numbers) or name == "u256" else _unchanged
            case Compact(inner):
                return self.of(inner, plain_numbers)
            case Sequence(inner) | Array(_, inner):
                return self._list(inner, plain_numbers)
            case Tuple(parts):
                return self._tuple([self.of(part, plain_numbers) for part in parts])
            case Composite(fields):
                return self._composite(row, fields, plain_numbers)
            case Variants(variants):
                return (
                    self._option(variants, plain_numbers)
                    if row.path == ("Option",)
                    else self._enum(row, plain_numbers)
                )
            case BitSequence():
                return _unchanged

    def _list(self, inner: int, plain_numbers: bool) -> Encode:
        if self.registry.type(inner).definition == Primitive("u8"):
            return _numbers
        encode = self.of(inner, plain_numbers)
        return lambda value: [encode(entry) for entry in value]

    @staticmethod
    def _tuple(encoders: list[Encode]) -> Encode:
        if not encoders:
            return lambda value: None
        return lambda value: [encode(part) for encode, part in zip(encoders, value, strict=True)]

    def _option(self, variants: tuple[Variant, ...], plain_numbers: bool) -> Encode:
        encode = self.of(next(case.fields[0].type for case in variants if case.fields), plain_numbers)

        def option(value: Any) -> Any:
            if value is None:
                return None
            return encode(value.value if isinstance(value, Some) else value)

        return option

    def _composite(self, row: PortableType, fields: tuple[Field, ...], plain_numbers: bool) -> Encode:
        if len(fields) == 1 and fields[0].name is None:
            if _name(row) == "BTreeMap":
                return self._map(fields[0].type, plain_numbers)
            return self.of(fields[0].type, plain_numbers)
        return self._fields(_name(row), fields, plain_numbers)

    def _map(self, pairs: int, plain_numbers: bool) -> Encode:
        encode = self.of(pairs, plain_numbers)

        def encode_map(value: Any) -> Any:
            entries = encode(value)
            if all(isinstance(key, str) for key, _ in entries):
                return dict(entries)
            return entries

        return encode_map

    def _fields(self, owner: str, fields: tuple[Field, ...], plain_numbers: bool) -> Encode:
        if fields and fields[0].name is None:
            if len(fields) == 1:
                return self.of(fields[0].type, plain_numbers)
            return self._tuple([self.of(field.type, plain_numbers) for field in fields])
        members = [self._member(owner, field, plain_numbers) for field in fields]
        members = [member for member in members if not member[2].hidden]

        def struct(value: Any) -> dict[str, Any]:
            result: dict[str, Any] = {}
            for name, encode, rule in members:
                entry = encode(value[name])
                if rule.flatten and entry is not None:
                    result.update(entry)
                elif not rule.optional or entry not in (None, [], {}, ""):
                    result[name] = entry
            return result

        return struct

    def _member(self, owner: str, field: Field, plain_numbers: bool) -> tuple[str, Encode, Member]:
        name = field.name or ""
        rule = self._overrides.members.get((owner, name), _PLAIN)
        own = rule.encode if rule.build is None else rule.build(self)
        encode = own or self.of(field.type, plain_numbers or rule.plain_numbers)
        if rule.reshape is not None:
            encode = _after(encode, rule.reshape)
        return name, encode, rule

    def _enum(self, row: PortableType, plain_numbers: bool) -> Encode:
        assert isinstance(row.definition, Variants)
        owner = _name(row)
        cases = {
            case.name: self._fields(f"{owner}.{case.name}", case.fields, plain_numbers)
            for case in row.definition.variants
            if case.fields
        }
        tag = self._overrides.tagged.get(owner)

        def enum(value: Any) -> Any:
            name, payload = (value, None) if isinstance(value, str) else value
            if tag is not None:
                return {tag: name, **(cases[name](payload) if name in cases else {})}
            return {name: cases[name](payload)} if name in cases else name

        return enum


def _after(first: Encode, second: Encode) -> Encode:
    return lambda value: second(first(value))
