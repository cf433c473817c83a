"""Codecs of SCALE types with parts: sequences, arrays, tuples, structs and options.

Each shape takes the kinds of its parts and gives a kind. The registry builds them from a type table; a layout
that is fixed by a specification, as the metadata's own, is written down with them directly. Polkadot spec,
"SCALE codec".
"""

from __future__ import annotations

from collections.abc import Callable, KeysView, Sequence
from dataclasses import fields as dataclass_fields
from keyword import iskeyword
from operator import attrgetter
from typing import Any, NamedTuple

from cfnode.core.scale.compact import decode_length, encode_compact, end_of_input
from cfnode.core.scale.errors import ScaleError, describe
from cfnode.core.scale.kind import Decode, Kind, min_size

__all__ = [
    "MAX_EMPTY_ITEMS",
    "Some",
    "array",
    "attribute",
    "instance",
    "named",
    "option",
    "record",
    "sequence",
    "tuple_of",
]

MAX_EMPTY_ITEMS = 1 << 14
"""Maximum items of a list whose items take no bytes: the remaining bytes do not bound these."""


class Some(NamedTuple):
    """A present value of an `Option<T>` whose T may itself be None: `Some(None)` against `None`."""

    value: Any


def sequence(item: Kind, as_tuple: bool = False) -> Kind:
    """Return the kind of a `Vec<T>`: decoded to a list, or to a tuple for frozen tables."""
    encode_item, decode_item, size = item

    def encode(value: Any, out: bytearray, depth: int) -> None:
        out += encode_compact(len(_items(value)))
        _encode_all(encode_item, value, out, depth)

    def decode(data: bytes, offset: int, depth: int) -> tuple[Any, int]:
        length, offset = decode_length(data, offset)
        _check_room(length, size, data, offset)
        items: list[Any] = []
        append = items.append
        try:
            for _ in range(length):
                value, offset = decode_item(data, offset, depth)
                append(value)
        except ScaleError as error:
            error.within(f"[{len(items)}]")
            raise
        return (tuple(items) if as_tuple else items), offset

    return Kind(encode, decode, 1)


def array(length: int, item: Kind) -> Kind:
    """Return the kind of a `[T; N]`."""
    encode_item, decode_item, size = item

    def encode(value: Any, out: bytearray, depth: int) -> None:
        if len(_items(value)) != length:
            raise ScaleError(f"expected {length} items, not {len(value)}")
        _encode_all(encode_item, value, out, depth)

    def decode(data: bytes, offset: int, depth: int) -> tuple[Any, int]:
        _check_room(length, size, data, offset)
        items: list[Any] = []
        try:
            for _ in range(length):
                value, offset = decode_item(data, offset, depth)
                items.append(value)
        except ScaleError as error:
            error.within(f"[{len(items)}]")
            raise
        return items, offset

    return _settled(Kind(encode, decode, min_size([length * size])))


def _items(value: Any) -> list[Any] | tuple[Any, ...]:
    if isinstance(value, (list, tuple)):
        return value
    raise ScaleError(f"expected a list, not {describe(value)}")


def _encode_all(encode_item: Any, value: Sequence[Any], out: bytearray, depth: int) -> None:
    index = 0
    try:
        for index, item in enumerate(value):  # noqa: B007  (the error names it)
            encode_item(item, out, depth)
    except ScaleError as error:
        error.within(f"[{index}]")
        raise


def _check_room(length: int, item_size: int, data: bytes, offset: int) -> None:
    if item_size:
        if length * item_size > len(data) - offset:
            raise end_of_input(offset, length * item_size, data)
    elif length > MAX_EMPTY_ITEMS:
        raise ScaleError(f"{length} items without content: at most {MAX_EMPTY_ITEMS} are read")


def _settled(kind: Kind) -> Kind:
    """Return a kind that, if its type takes no bytes, makes the type's only value once.

    Otherwise a type table of nested empty tuples costs 2^n steps for n rows without reading a byte.
    """
    if kind.size:
        return kind
    try:
        value, _ = kind.decode(b"", 0, 0)
    except ScaleError:
        return kind
    return kind._replace(decode=lambda _data, offset, _depth: (value, offset))


def tuple_of(parts: Sequence[Kind]) -> Kind:
    """Return the kind of a tuple, or of a struct whose fields have no names."""
    encoders = tuple(part.encode for part in parts)
    decoders = tuple(part.decode for part in parts)

    def encode(value: Any, out: bytearray, depth: int) -> None:
        if len(_items(value)) != len(encoders):
            raise ScaleError(f"expected {len(encoders)} values, not {len(value)}")
        for index, encode_part in enumerate(encoders):
            try:
                encode_part(value[index], out, depth)
            except ScaleError as error:
                error.within(f".{index}")
                raise

    def decode(data: bytes, offset: int, depth: int) -> tuple[Any, int]:
        values: list[Any] = []
        try:
            for decode_part in decoders:
                value, offset = decode_part(data, offset, depth)
                values.append(value)
        except ScaleError as error:
            error.within(f".{len(values)}")
            raise
        return tuple(values), offset

    return _settled(Kind(encode, decode, min_size(part.size for part in parts)))


def named(fields: Sequence[tuple[str, Kind]]) -> Kind:
    """Return the kind of a struct whose fields have names: a dict in their order."""
    encoders = tuple((name, kind.encode) for name, kind in fields)
    decoders = tuple((name, kind.decode) for name, kind in fields)
    names = dict(fields).keys()

    def encode(value: Any, out: bytearray, depth: int) -> None:
        if not isinstance(value, dict) or value.keys() != names:
            raise _other_names(value, names)
        for name, encode_field in encoders:
            try:
                encode_field(value[name], out, depth)
            except ScaleError as error:
                error.within(f".{name}")
                raise

    decode = _decode_one(*decoders[0]) if len(decoders) == 1 else _decode_named(decoders)
    return _settled(Kind(encode, decode, min_size(kind.size for _, kind in fields)))


def _decode_named(decoders: tuple[tuple[str, Decode], ...]) -> Decode:
    def decode(data: bytes, offset: int, depth: int) -> tuple[Any, int]:
        value = {}
        name = ""
        try:
            for name, decode_field in decoders:
                value[name], offset = decode_field(data, offset, depth)
        except ScaleError as error:
            error.within(f".{name}")
            raise
        return value, offset

    return decode


def _decode_one(name: str, decode_field: Decode) -> Decode:
    """Return a decoder without a loop, for the many calls and events that have one field."""

    def decode(data: bytes, offset: int, depth: int) -> tuple[Any, int]:
        try:
            value, offset = decode_field(data, offset, depth)
        except ScaleError as error:
            error.within(f".{name}")
            raise
        return {name: value}, offset

    return decode


def _other_names(value: Any, names: KeysView[str]) -> ScaleError:
    if not isinstance(value, dict):
        return ScaleError(f"expected a dict of fields, not {describe(value)}")
    missing = [name for name in names if name not in value]
    if missing:
        return ScaleError(f"the field {missing[0]!r} is missing")
    unknown = next(name for name in value if name not in names)
    return ScaleError(f"there is no field {describe(unknown)}")


def option(inner: Kind, wrap: bool = False) -> Kind:
    """Return the kind of an `Option<T>`: None or the value.

    With `wrap`, where T may be None itself, it is None or `Some(value)`.
    """
    encode_inner, decode_inner, _ = inner

    def encode(value: Any, out: bytearray, depth: int) -> None:
        if value is None:
            out.append(0)
            return
        if wrap and not isinstance(value, Some):
            raise ScaleError(f"expected None or Some(value), not {describe(value)}")
        out.append(1)
        encode_inner(value.value if isinstance(value, Some) else value, out, depth)

    def decode(data: bytes, offset: int, depth: int) -> tuple[Any, int]:
        try:
            tag = data[offset]
        except IndexError:
            raise end_of_input(offset, 1, data) from None
        if tag == 0:
            return None, offset + 1
        if tag != 1:
            raise ScaleError(f"an Option begins with 0 or 1, not {tag} (offset {offset})")
        value, offset = decode_inner(data, offset + 1, depth)
        return (Some(value) if wrap else value), offset

    return Kind(encode, decode, 1)


def record(make: Callable[..., Any], **fields: Kind) -> Kind:
    """Return the kind of a struct as an object with the fields as attributes.

    `make` takes the values in the order of the fields.
    """
    decoders = tuple(kind.decode for kind in fields.values())
    encoders = tuple((kind.encode, attrgetter(name)) for name, kind in fields.items())

    def encode(value: Any, out: bytearray, depth: int) -> None:
        for encode_field, get in encoders:
            encode_field(get(value), out, depth)

    def decode(data: bytes, offset: int, depth: int) -> tuple[Any, int]:
        values = []
        for decode_field in decoders:
            value, offset = decode_field(data, offset, depth)
            values.append(value)
        return make(*values), offset

    return Kind(encode, decode, min_size(kind.size for kind in fields.values()))


def attribute(name: str) -> str:
    """Return the name of the attribute for a field: the field's name, with `_` behind a keyword of Python."""
    plain = name.removeprefix("r#")
    return f"{plain}_" if iskeyword(plain) else plain


def instance(made: type, fields: Sequence[tuple[str, Kind]]) -> Kind:
    """Return the kind of a struct as a value of a slotted dataclass, each field an attribute (`attribute`).

    An attribute that the type lacks is None: one class serves all releases of a type. The values are written
    to the slots directly, past the constructor, which costs a frozen class more than all the rest.
    """
    names = [attribute(name) for name, _ in fields]
    slots: dict[str, Any] = {field.name: getattr(made, field.name) for field in dataclass_fields(made)}
    kinds = tuple((slot_name, kind) for slot_name, (_, kind) in zip(names, fields, strict=True))
    encoders = tuple((kind.encode, attrgetter(slot_name), slot_name) for slot_name, kind in kinds)
    decoders = tuple((kind.decode, slots[slot_name].__set__) for slot_name, kind in kinds)
    missing = tuple(slots[name].__set__ for name in slots if name not in names)
    new = object.__new__

    def encode(value: Any, out: bytearray, depth: int) -> None:
        if type(value) is not made:
            raise ScaleError(f"expected {made.__name__}, not {describe(value)}")
        for encode_field, get, name in encoders:
            try:
                encode_field(get(value), out, depth)
            except ScaleError as error:
                error.within(f".{name}")
                raise

    def decode(data: bytes, offset: int, depth: int) -> tuple[Any, int]:
        value: Any = new(made)
        try:
            for decode_field, put in decoders:
                part, offset = decode_field(data, offset, depth)
                put(value, part)
        except ScaleError as error:
            error.within(f".{next(name for name in names if not hasattr(value, name))}")
            raise
        for put in missing:
            put(value, None)
        return value, offset

    return Kind(encode, decode, min_size(kind.size for _, kind in fields))
