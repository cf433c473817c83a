"""Codecs of SCALE enums: one byte for the case, followed by its fields (Polkadot spec, "SCALE")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cfnode.core.scale.compact import end_of_input
from cfnode.core.scale.errors import ScaleError, describe
from cfnode.core.scale.kind import Decode, Encode, Kind

__all__ = ["Case", "enum", "names", "union"]


class Case(NamedTuple):
    """One case of an enum: its byte, its name, and the kind of its fields.

    `payload` is None for a case without fields: its value is the bare name.
    """

    byte: int
    name: str
    payload: Kind | None


def enum(cases: list[Case]) -> Kind:
    """Return the kind of an enum: the bare name of a case without fields, else `(name, payload)`."""
    return Kind(_encoder(cases), _decoder(cases), _smallest([case.payload for case in cases]))


def _encoder(cases: list[Case]) -> Encode:
    by_name = {name: (index, payload and payload.encode) for index, name, payload in cases}

    def encode(value: Any, out: bytearray, depth: int) -> None:
        name, payload = _split(value)
        index, encode_payload = _case(by_name, name)
        out.append(index)
        if (encode_payload is None) != isinstance(value, str):
            fault = "has no fields" if encode_payload is None else "needs its fields: (name, payload)"
            raise ScaleError(f"the variant {name!r} {fault}")
        if encode_payload is not None:
            try:
                encode_payload(payload, out, depth)
            except ScaleError as error:
                error.within(f".{name}")
                raise

    return encode


def _decoder(cases: list[Case]) -> Decode:
    by_index = {index: (name, payload and payload.decode) for index, name, payload in cases}

    def decode(data: bytes, offset: int, depth: int) -> tuple[Any, int]:
        try:
            name, decode_payload = by_index[data[offset]]
        except IndexError:
            raise end_of_input(offset, 1, data) from None
        except KeyError:
            raise ScaleError(f"there is no variant {data[offset]} (offset {offset})") from None
        if decode_payload is None:
            return name, offset + 1
        try:
            value, offset = decode_payload(data, offset + 1, depth)
        except ScaleError as error:
            error.within(f".{name}")
            raise
        return (name, value), offset

    return decode


def _split(value: Any) -> tuple[str, Any]:
    if isinstance(value, str):
        return value, None
    if isinstance(value, (list, tuple)) and len(value) == 2 and isinstance(value[0], str):
        return value[0], value[1]
    raise ScaleError(f"a variant is its name or (name, payload), not {describe(value)}")


def _case(by_name: Mapping[str, Any], name: str) -> Any:
    try:
        return by_name[name]
    except KeyError:
        raise ScaleError(f"there is no variant {describe(name)}") from None


def _smallest(payloads: list[Kind | None]) -> int:
    return 1 + min((payload.size if payload else 0 for payload in payloads), default=0)


def union(cases: Sequence[tuple[int, type | str, Kind | None]]) -> Kind:
    """Return the kind of an enum whose cases are distinguished by their Python type.

    A case without fields is a name.
    """
    by_type = {
        target: (index, kind.encode) for index, target, kind in cases if kind and isinstance(target, type)
    }
    by_name = {target: index for index, target, _ in cases if isinstance(target, str)}
    by_index = {index: kind.decode if kind else _constant(target) for index, target, kind in cases}

    def encode(value: Any, out: bytearray, depth: int) -> None:
        case = by_type.get(type(value))
        if case is not None:
            out.append(case[0])
            case[1](value, out, depth)
        elif type(value) is str and value in by_name:
            out.append(by_name[value])
        else:
            raise ScaleError(f"{describe(value)} is not one of the cases")

    def decode(data: bytes, offset: int, depth: int) -> tuple[Any, int]:
        try:
            decode_case = by_index[data[offset]]
        except IndexError:
            raise end_of_input(offset, 1, data) from None
        except KeyError:
            raise ScaleError(f"there is no case {data[offset]} (offset {offset})") from None
        return decode_case(data, offset + 1, depth)

    return Kind(encode, decode, _smallest([kind for _, _, kind in cases]))


def _constant(value: Any) -> Decode:
    """Return the decoder of a case without fields: it reads no bytes and returns `value`."""
    return lambda _data, offset, _depth: (value, offset)


def names(cases: tuple[str, ...], make: Any = str) -> Kind:
    """Return the kind of an enum without fields.

    `make` turns a name into the value, which must be found again by equality.
    """
    values = tuple(make(name) for name in cases)

    def encode(value: Any, out: bytearray, _depth: int) -> None:
        try:
            out.append(values.index(value))
        except ValueError:
            raise ScaleError(f"{describe(value)} is none of {', '.join(cases)}") from None

    def decode(data: bytes, offset: int, _depth: int) -> tuple[Any, int]:
        try:
            return values[data[offset]], offset + 1
        except IndexError:
            if offset >= len(data):
                raise end_of_input(offset, 1, data) from None
            raise ScaleError(f"there is no case {data[offset]} (offset {offset})") from None

    return Kind(encode, decode, 1)
