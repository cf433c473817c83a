"""How does a typed, frozen dataclass become the JSON that Chainflip's documents show, and come back?

Python names are snake_case, JSON names camelCase. A `Record` reads and writes by its own type annotations:

    Amount   a number of base units: int here, a decimal string in JSON (a number or 0x… is read too)
    Decimal  a price: a decimal string in JSON, digits kept as they came
    X | None absent in JSON when None, unless the field is marked `NULLABLE`

An `OpenRecord` is part of an answer. What a newer service adds to it is kept in `extra` and written back, so
a quote can be handed on to the service whole.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from cfnode.sdk.errors import ValidationError

__all__ = [
    "NULLABLE",
    "Amount",
    "Number",
    "OpenRecord",
    "Record",
    "alias",
    "camel",
    "number_text",
    "read_amount",
    "read_int",
]

Amount = Annotated[int, "decimal string"]
"""Base units of an asset: an int here, a decimal string in JSON."""

Number: TypeAlias = int | float | str | Decimal
"""A number as the caller likes to write it; echoed as it was given."""

NULLABLE = {"nullable": True}
"""Field metadata: None is written as `null` rather than left out."""

_MAX_DIGITS = 100  # far above any u256; keeps a hostile answer from being expensive
R = TypeVar("R", bound="Record")


def alias(*names: str, default: Any = None) -> Any:
    """An optional field that is also read under other JSON names."""
    return field(default=default, metadata={"aliases": names})


def camel(name: str) -> str:
    """`retry_duration_blocks` → `retryDurationBlocks`."""
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


@dataclass(frozen=True)
class Record:
    """A frozen dataclass that reads and writes the documents' JSON."""

    @classmethod
    def from_json(cls: type[R], document: Mapping[str, Any]) -> R:
        """The record of a JSON object; ValidationError names the member that does not fit."""
        return _read_record(cls, document, "")

    def to_json(self) -> dict[str, Any]:
        """The JSON object, ready for `json.dumps`."""
        document: dict[str, Any] = {}
        for plan in _plans(type(self)):
            value = getattr(self, plan.name)
            if value is not None or plan.nullable:
                document[plan.key] = _write(value, plan.amount)
        return document | dict(getattr(self, "extra", {}))


@dataclass(frozen=True)
class OpenRecord(Record):
    """A record of an answer; `extra` holds the members that this version does not know."""

    extra: Mapping[str, Any] = field(default_factory=dict, kw_only=True, repr=False, hash=False)


@dataclass(frozen=True, slots=True)
class _Plan:
    name: str
    key: str
    aliases: tuple[str, ...]
    read: Callable[[Any, str], Any]
    required: bool
    nullable: bool
    amount: bool


_PLANS: dict[type[Record], tuple[_Plan, ...]] = {}


def _plans(cls: type[Record]) -> tuple[_Plan, ...]:
    if found := _PLANS.get(cls):
        return found
    hints = get_type_hints(cls, include_extras=True)
    plans = tuple(_plan(item, hints[item.name]) for item in fields(cls) if item.name != "extra")
    _PLANS[cls] = plans
    return plans


def _plan(item: Field[Any], hint: Any) -> _Plan:
    names = (camel(item.name), *item.metadata.get("aliases", ()))
    required = item.default is MISSING and item.default_factory is MISSING
    nullable = bool(item.metadata.get("nullable"))
    return _Plan(item.name, names[0], names[1:], _reader(hint), required, nullable, _is_amount(hint))


def _read_record(cls: type[R], document: Any, where: str) -> R:
    if isinstance(document, cls):
        return document
    if not isinstance(document, Mapping):
        raise ValidationError(where or cls.__name__, f"{where or cls.__name__}: expected an object")
    values: dict[str, Any] = {}
    seen: set[str] = set()
    for plan in _plans(cls):
        key = next((key for key in (plan.key, *plan.aliases) if document.get(key) is not None), plan.key)
        seen.update((plan.key, *plan.aliases))
        place = f"{where}.{key}" if where else key
        if document.get(key) is not None:
            values[plan.name] = plan.read(document[key], place)
        elif plan.required and not plan.nullable:
            raise ValidationError(place, f"{place}: Required")
        elif plan.required:
            values[plan.name] = None
    if issubclass(cls, OpenRecord):
        values["extra"] = {key: value for key, value in document.items() if key not in seen}
    return cls(**values)


def settle(given: Record) -> None:
    """Bring the fields of a new record to their declared types, once, before anyone sees it."""
    for plan in _plans(type(given)):
        if (value := getattr(given, plan.name)) is not None:
            object.__setattr__(given, plan.name, plan.read(value, plan.key))
        elif plan.required:
            raise ValidationError(plan.key, f"{plan.key}: Required")


def _is_amount(hint: Any) -> bool:
    return any(_is_amount(part) for part in get_args(hint)) if hint != Amount else True


def _reader(hint: Any) -> Callable[[Any, str], Any]:
    if hint == Amount:
        return read_amount
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        choices = [part for part in parts if part is not types.NoneType]
        return _reader(choices[0]) if len(choices) == 1 else _any_of(choices)
    if origin in (tuple, Sequence):
        return partial(_read_list, _reader(parts[0]))
    if origin is not None and origin is not Literal and issubclass(origin, Mapping):
        return partial(_read_map, _reader(parts[1]))
    if isinstance(hint, type) and issubclass(hint, Record):
        return partial(_read_record, hint)
    return _SCALARS.get(hint, _as_it_is)


def _any_of(choices: list[Any]) -> Callable[[Any, str], Any]:
    records = [choice for choice in choices if isinstance(choice, type) and issubclass(choice, Record)]
    return partial(_read_record, records[0]) if records else _as_it_is


def _as_it_is(value: Any, where: str) -> Any:
    return value


def _read_list(read: Callable[[Any, str], Any], value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise ValidationError(where, f"{where}: expected an array")
    return tuple(read(item, f"{where}[{index}]") for index, item in enumerate(value))


def _read_map(read: Callable[[Any, str], Any], value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValidationError(where, f"{where}: expected an object")
    return {key: None if item is None else read(item, f"{where}.{key}") for key, item in value.items()}


def read_amount(value: Any, where: str) -> int:
    """Base units from a number, a decimal string or 0x… hex."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and value.isascii() and len(value) <= _MAX_DIGITS:
        if value.isdigit():
            return int(value)
        if value[:2] == "0x" and value[2:].isalnum():
            try:
                return int(value, 16)
            except ValueError:
                pass
    raise ValidationError(where, f"{where}: expected a whole number of base units, not {value!r:.80}")


def _read_decimal(value: Any, where: str) -> Decimal:
    try:
        number = Decimal(str(value)) if isinstance(value, int | float | str | Decimal) else Decimal("NaN")
    except InvalidOperation:
        number = Decimal("NaN")
    if isinstance(value, bool) or not number.is_finite() or abs(number.adjusted()) > _MAX_DIGITS:
        raise ValidationError(where, f"{where}: expected a number, not {value!r:.80}")
    return number


def read_int(value: Any, where: str) -> int:
    """A whole number of JSON."""
    if isinstance(value, bool) or not isinstance(value, int):
        if isinstance(value, float) and value.is_integer():
            return int(value)
        raise ValidationError(where, f"{where}: expected a whole number, not {value!r:.80}")
    return value


def _read_float(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValidationError(where, f"{where}: expected a number, not {value!r:.80}")
    return value


def _read_bool(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise ValidationError(where, f"{where}: expected true or false, not {value!r:.80}")
    return value


def _read_str(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise ValidationError(where, f"{where}: expected a text, not {value!r:.80}")
    return value


_SCALARS: dict[Any, Callable[[Any, str], Any]] = {
    Decimal: _read_decimal,
    bool: _read_bool,
    float: _read_float,
    int: read_int,
    str: _read_str,
}


def number_text(value: Decimal) -> str:
    """A decimal without an exponent."""
    return format(value, "f")


def _write(value: Any, amount: bool) -> Any:
    if isinstance(value, Record):
        return value.to_json()
    if isinstance(value, Decimal):
        return number_text(value)
    if isinstance(value, list | tuple):
        return [_write(item, amount) for item in value]
    if isinstance(value, Mapping):
        return {key: _write(item, amount) for key, item in value.items()}
    return str(value) if amount and isinstance(value, int) else value
