"""Readers of Rust's structs, enums and tuples from JSON, with the errors of serde.

A struct may be an object or an array of its members in order; members are read in the order of the document.
An enum is the name of a variant, or an object with the name as its only member. Where serde has to buffer the
whole value before it knows the type (a tag among the members, one of several types), its errors have no line
and column, and some have another text: `buffered`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cfnode.rpc.table.serde import JsonPosition, Misread, duplicate_field, invalid_type, missing_field
from cfnode.rpc.table.serde_members import Repeated, members, object_of

__all__ = ["Member", "Read", "SerdeStruct", "enum", "sequence", "tagged", "tuple_of", "untagged"]

Read = Callable[[Any], Any]
Member = tuple[Read, bool]
"""The reader of a member, and whether it may be missing or null."""
Variant = Read | Mapping[str, Member] | None
"""The content of an enum's variant: one value, members, or nothing."""

_TRAILING: Final = "trailing characters"
_VARIANT: Final = "struct variant"


@dataclass(frozen=True, slots=True)
class SerdeStruct:
    """A struct, or the members of a variant. `name`: serde's name for it."""

    name: str
    members: Mapping[str, Member]
    is_range: bool = False
    """Whether unknown members are refused, as by serde's own reader of ranges."""
    defaults: int = 0
    """The number of members at the end that an array may lack: those with serde's `default`."""
    is_flat: bool = False
    """Whether members of another struct are among its own: then serde does not accept an array of members."""

    def __call__(self, value: Any) -> dict[str, Any]:
        """Return all members; missing optional ones are None, unknown ones are ignored."""
        if isinstance(value, dict):
            return self._from_object(value)
        if isinstance(value, list) and not self.is_flat:
            return self._from_array(value)
        error = invalid_type(value, self.name)
        if self.name.startswith(_VARIANT) and not self.is_flat:
            error.buffered = invalid_type(value, _VARIANT).text
        raise error

    def _from_object(self, value: dict[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, entry in members(value):
            if self._knows(name):
                if name in values:
                    raise duplicate_field(name, name, is_same=True)
                values[name] = self._read(name, entry)
        for name, (_, optional) in self.members.items():
            if name not in values and not optional:
                raise missing_field(name)
        return {name: values.get(name) for name in self.members}

    def _knows(self, name: str) -> bool:
        if self.is_range and name not in self.members:
            text = f"unknown field `{name}`, expected {_expected(self.members)}"
            raise Misread(text, JsonPosition.COLON, (name,))
        return name in self.members

    def _from_array(self, value: list[Any]) -> dict[str, Any]:
        values = {
            name: self._read(name, entry, index)
            for index, (name, entry) in enumerate(zip(self.members, value, strict=False))
        }
        count = len(self.members)
        if len(value) < count - self.defaults:
            elements = "" if self.is_range else f" with {count} element{'s' * (count != 1)}"
            raise Misread(f"invalid length {len(value)}, expected {self.name}{elements}")
        _check_end(value, count)
        return {name: values.get(name) for name in self.members}

    def _read(self, name: str, entry: Any, step: int | None = None) -> Any:
        reader, optional = self.members[name]
        if entry is None and optional:
            return None
        return _inside(reader, entry, name if step is None else step)


def _inside(read: Read, entry: Any, step: int | str) -> Any:
    try:
        return read(entry)
    except Misread as error:
        raise error.inside(step) from None
    except ValueError as error:
        raise ValueError(f"{step}: {error}") from None


def _check_end(value: list[Any], count: int) -> None:
    if len(value) > count:
        elements = f"{count} element{'s' * (count != 1)}"
        buffered = f"invalid length {len(value)}, expected {elements} in sequence"
        raise Misread(_TRAILING, JsonPosition.FIRST, (count,), buffered)


def _expected(names: Mapping[str, Any]) -> str:
    quoted = [f"`{name}`" for name in names]
    if len(quoted) <= 2:
        return " or ".join(quoted)
    return f"one of {', '.join(quoted)}"


def _reader(owner: str, name: str, variant: Variant) -> Read:
    """Return the reader of a variant's content."""
    if callable(variant):
        return variant
    return _unit if variant is None else SerdeStruct(f"{_VARIANT} {owner}::{name}", variant)


def _unit(value: Any) -> None:
    if value is not None:
        raise invalid_type(value, "unit")


def _known(name: str, variants: Mapping[str, Any], place: JsonPosition, path: tuple[str, ...] = ()) -> str:
    if name not in variants:
        raise Misread(f"unknown variant `{name}`, expected {_expected(variants)}", place, path)
    return name


def enum(owner: str, variants: Mapping[str, Variant]) -> Read:
    """Return the reader of an enum: the name of a variant without a value, else the name and the value."""
    readers = {name: _reader(owner, name, variant) for name, variant in variants.items()}

    def of_object(value: dict[str, Any]) -> Any:
        name, content = next(iter(members(value)))
        _known(name, variants, JsonPosition.NAME, (name,))
        entry = _inside(readers[name], content, name)
        if _has_several(value):
            raise Misread("expected value", JsonPosition.NEXT, (name,))
        return name if variants[name] is None else (name, entry)

    def read(value: Any) -> Any:
        if isinstance(value, str):
            return _alone(_known(value, variants, JsonPosition.AFTER), variants[value])
        if not isinstance(value, dict) or not value:
            raise _no_variant(value)
        try:
            return of_object(value)
        except Misread as error:
            buffered = _buffered_type(value) if _has_several(value) else error.buffered
            raise Misread(error.text, error.place, error.path, buffered) from None

    return read


def _has_several(value: dict[str, Any]) -> bool:
    return len(value) > 1 or isinstance(value, Repeated)


def _alone(name: str, variant: Variant) -> str:
    if variant is None:
        return name
    kind = "newtype" if callable(variant) else "struct"
    raise Misread(f"invalid type: unit variant, expected {kind} variant", JsonPosition.OUTSIDE)


def _no_variant(value: Any) -> Misread:
    place = JsonPosition.SECOND if isinstance(value, dict) else JsonPosition.FIRST
    return Misread("expected value", place, (), _buffered_type(value))


def _buffered_type(value: Any) -> str:
    if isinstance(value, dict):
        return "invalid value: map, expected map with a single key"
    return invalid_type(value, "string or map").text


def tagged(owner: str, tag: str, variants: Mapping[str, Variant]) -> Read:
    """Return the reader of an enum whose variant is named by the member `tag`."""
    readers = {name: _reader(owner, name, variant) for name, variant in variants.items()}

    def read(value: Any) -> tuple[str, Any]:
        step: int | str = tag
        names: list[Any]
        content: Any
        if isinstance(value, list) and value:
            names, content, step = value[:1], value[1:], 0
        elif isinstance(value, dict) and tag in value:
            names = [entry for key, entry in members(value) if key == tag]
            content = object_of([(key, entry) for key, entry in members(value) if key != tag])
        elif isinstance(value, dict | list):
            raise missing_field(tag)
        else:
            raise invalid_type(value, f"internally tagged enum {owner}")
        name = _inside(lambda entry: _tag(entry, variants), names[0], step)
        if len(names) > 1:
            raise duplicate_field(tag, tag, is_same=True)
        return name, _buffered(readers[name], content)

    return read


def _tag(value: Any, variants: Mapping[str, Any]) -> str:
    if not isinstance(value, str):
        raise invalid_type(value, "variant identifier")
    return _known(value, variants, JsonPosition.AFTER)


def _buffered(read: Read, value: Any) -> Any:
    try:
        return read(value)
    except Misread as error:
        raise Misread(error.buffered or error.text, JsonPosition.OUTSIDE) from None


def untagged(refusal: str, *readers: Read) -> Read:
    """Return the reader of a value that one of several readers accepts.

    If none does, the error is `refusal`.
    """

    def read(value: Any) -> Any:
        for reader in readers:
            try:
                return reader(value)
            except Misread:
                continue
        raise Misread(refusal, JsonPosition.OUTSIDE)

    return read


def tuple_of(*readers: Read) -> Read:
    """Return the reader of an array with exactly one value for each reader."""
    count = len(readers)
    expected = f"a tuple of size {count}"

    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise invalid_type(value, expected)
        values = tuple(
            _inside(reader, entry, index)
            for index, (reader, entry) in enumerate(zip(readers, value, strict=False))
        )
        if len(value) < count:
            raise Misread(f"invalid length {len(value)}, expected {expected}")
        _check_end(value, count)
        return values

    return read


def sequence(read_entry: Read, maximum: int) -> Read:
    """Return the reader of a `BoundedVec`: an array of at most `maximum` entries."""

    def read(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise invalid_type(value, "a sequence")
        values = [_inside(read_entry, entry, index) for index, entry in enumerate(value[: maximum + 1])]
        if len(value) > maximum:
            raise Misread("out of bounds", JsonPosition.OUTSIDE, (maximum,))
        return values

    return read
