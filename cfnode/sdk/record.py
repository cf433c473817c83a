"""Typed, frozen dataclasses that read and write Chainflip's JSON.

Python names are snake_case, JSON names camelCase. A `Record` reads and writes by its own type annotations:

    Amount   a number of base units: int here, a decimal string in JSON (a number or 0x… is read too)
    Decimal  a price: a decimal string in JSON, with all its digits
    X | None absent in JSON when None, unless the field is marked `NULLABLE`
    SECRET   read, but never written, and in no error

An `OpenRecord` is part of an answer. Members that a newer service adds are kept in `extra` and written back,
so a quote can be returned to the service complete.

A `GivenRecord` is written by a caller, as a record or as a mapping with JSON or Python names. Its errors have
Python names, and an unknown member is an error: otherwise a mistyped commission would count as none.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from decimal import Decimal
from enum import Enum, StrEnum
from functools import partial
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from cfnode.core.foreign import ForeignError, decimal_number, whole_number
from cfnode.sdk.choices import unknown_value
from cfnode.sdk.errors import ValidationError

__all__ = [
    "NULLABLE",
    "SECRET",
    "Amount",
    "GivenRecord",
    "Number",
    "OpenRecord",
    "Record",
    "alias",
    "camel",
    "number_text",
    "read_amount",
    "read_int",
    "settle",
]

Amount = Annotated[int, "decimal string"]
"""Base units of an asset: an int here, a decimal string in JSON."""

Number: TypeAlias = int | float | str | Decimal
"""A number in any notation; echoed unchanged."""

NULLABLE = {"nullable": True}
"""Field metadata: None is written as `null` instead of being left out."""
SECRET = {"secret": True}
"""Field metadata of a text that `to_json` leaves out and that errors do not repeat."""

_MAX_EXPONENT = 100  # far above any u256; bounds the cost of a hostile answer
R = TypeVar("R", bound="Record")


def alias(*names: str, default: Any = None) -> Any:
    """Return an optional field that is also read under other JSON names."""
    return field(default=default, metadata={"aliases": names})


def camel(name: str) -> str:
    """Return a Python name as a JSON name: `retry_duration_blocks` → `retryDurationBlocks`."""
    head, *words = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in words)


class _Style(Enum):
    """The source of a value, and how strictly it is read."""

    ANSWER = "from a service: errors have JSON names, unknown members are ignored"
    GIVEN = "from a caller: errors have Python names, unknown members are refused"
    HANDED_ON = "from a service by way of a caller: errors have Python names, unknown members are ignored"


@dataclass(frozen=True)
class Record:
    """A frozen dataclass that reads and writes JSON."""

    @classmethod
    def from_json(cls: type[R], document: Mapping[str, Any]) -> R:
        """Return the record of a JSON object; raise ValidationError, which names the malformed member."""
        return _read_record(cls, _Style.ANSWER, document, "")

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object, ready for `json.dumps`."""
        document: dict[str, Any] = {}
        for plan in _plans(type(self), _Style.ANSWER):
            value = getattr(self, plan.name)
            if not plan.secret and (value is not None or plan.nullable):
                document[plan.key] = _write(value, plan.amount)
        return document | dict(getattr(self, "extra", {}))


@dataclass(frozen=True)
class OpenRecord(Record):
    """A record of an answer; `extra` holds members unknown to this version."""

    extra: Mapping[str, Any] = field(default_factory=dict, kw_only=True, repr=False, hash=False)


@dataclass(frozen=True)
class GivenRecord(Record):
    """A record that a caller writes; `from_json` also accepts Python names."""

    member_kind: ClassVar[str] = "member"
    """The word for its members in errors."""

    @classmethod
    def from_json(cls: type[R], document: Mapping[str, Any]) -> R:
        """Return the record of an object; raise ValidationError for an unknown or malformed member."""
        return _read_record(cls, _Style.GIVEN, document, "")


@dataclass(frozen=True, slots=True)
class _Plan:
    name: str
    key: str
    keys: tuple[str, ...]
    read: Callable[[Any, str], Any]
    required: bool
    nullable: bool
    amount: bool
    secret: bool


_PLANS: dict[tuple[type[Record], _Style], tuple[_Plan, ...]] = {}


def _plans(cls: type[Record], style: _Style) -> tuple[_Plan, ...]:
    if plans_kept := _PLANS.get((cls, style)):
        return plans_kept
    inner = _Style.HANDED_ON if style is _Style.GIVEN and issubclass(cls, OpenRecord) else style
    hints = get_type_hints(cls, include_extras=True)
    plans = tuple(_plan(item, hints[item.name], inner) for item in fields(cls) if item.name != "extra")
    _PLANS[cls, style] = plans
    return plans


def _plan(item: Field[Any], hint: Any, style: _Style) -> _Plan:
    key = camel(item.name)
    keys = (key, *item.metadata.get("aliases", ()), *([item.name] if style is _Style.GIVEN else []))
    required = item.default is MISSING and item.default_factory is MISSING
    nullable, secret = bool(item.metadata.get("nullable")), bool(item.metadata.get("secret"))
    reader = _read_secret if secret else _reader(hint, style)
    return _Plan(item.name, key, keys, reader, required, nullable, _is_amount(hint), secret)


def _read_record(cls: type[R], style: _Style, document: Any, path: str) -> R:
    if isinstance(document, cls):
        return _settled(document, path) if issubclass(cls, GivenRecord) else document
    if not isinstance(document, Mapping):
        raise ValidationError(path or cls.__name__, f"{path or cls.__name__}: expected an object")
    plans = _plans(cls, style)
    known_keys = {key for plan in plans for key in plan.keys}
    if style is _Style.GIVEN and issubclass(cls, GivenRecord):
        for key in document:
            if key not in known_keys:
                raise _unknown(cls.member_kind, str(key), plans, path)
    values: dict[str, Any] = {}
    for plan in plans:
        key = next((key for key in plan.keys if document.get(key) is not None), plan.key)
        member_path = _place(path, key if style is _Style.ANSWER else plan.name)
        if document.get(key) is not None:
            values[plan.name] = plan.read(document[key], member_path)
        elif plan.required and not plan.nullable:
            raise ValidationError(member_path, f"{member_path}: Required")
        elif plan.required:
            values[plan.name] = None
    if issubclass(cls, OpenRecord):
        values["extra"] = {key: value for key, value in document.items() if key not in known_keys}
    return cls(**values)


def _unknown(kind: str, name: str, plans: Sequence[_Plan], path: str) -> ValidationError:
    text = unknown_value(kind, name, [plan.name for plan in plans])
    return ValidationError(_place(path, name), f"{path}: {text}" if path else text)


def _place(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def settle(record: Record, path: str = "") -> None:
    """Convert the fields of a caller's new record to their declared types."""
    for plan in _plans(type(record), _Style.GIVEN):
        member_path = _place(path, plan.name)
        if (value := getattr(record, plan.name)) is not None:
            object.__setattr__(record, plan.name, plan.read(value, member_path))
        elif plan.required:
            raise ValidationError(member_path, f"{member_path}: Required")


def _settled(record: R, path: str) -> R:
    """Return a copy with converted fields; the caller's own record stays unchanged."""
    copy = replace(record)
    settle(copy, path)
    return copy


def _is_amount(hint: Any) -> bool:
    return any(_is_amount(argument) for argument in get_args(hint)) if hint != Amount else True


def _reader(hint: Any, style: _Style) -> Callable[[Any, str], Any]:
    if hint == Amount:
        return read_amount
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        choices = [argument for argument in parts if argument is not types.NoneType]
        return _reader(choices[0], style) if len(choices) == 1 else _any_of(choices, style)
    if origin in (tuple, Sequence):
        return partial(_read_list, _reader(parts[0], style))
    if origin is not None and origin is not Literal and issubclass(origin, Mapping):
        return partial(_read_map, _reader(parts[1], style))
    if isinstance(hint, type) and issubclass(hint, Record):
        return partial(_read_record, hint, style)
    return _read_str if _is_name(hint) else _SCALARS.get(hint, _as_it_is)


def _is_name(hint: Any) -> bool:
    """Return whether a type has names as its values: an enum of texts, or literal texts."""
    return get_origin(hint) is Literal or (isinstance(hint, type) and issubclass(hint, StrEnum))


def _any_of(choices: list[Any], style: _Style) -> Callable[[Any, str], Any]:
    if all(_is_name(choice) for choice in choices):
        return _read_str
    records = [choice for choice in choices if isinstance(choice, type) and issubclass(choice, Record)]
    if len(records) > 1:
        return partial(_read_instance, tuple(records))
    return partial(_read_record, records[0], style) if records else _as_it_is


def _read_instance(classes: tuple[type[Record], ...], value: Any, path: str) -> Record:
    if not isinstance(value, classes):
        names = " or ".join(choice.__name__ for choice in classes)
        raise ValidationError(path, f"{path}: expected a record, {names}, not {value!r:.80}")
    return value


def _as_it_is(value: Any, path: str) -> Any:
    return value


def _read_list(read_item: Callable[[Any, str], Any], value: Any, path: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise ValidationError(path, f"{path}: expected an array")
    return tuple(read_item(item, f"{path}[{index}]") for index, item in enumerate(value))


def _read_map(read_item: Callable[[Any, str], Any], value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValidationError(path, f"{path}: expected an object")
    return {key: None if item is None else read_item(item, f"{path}.{key}") for key, item in value.items()}


def read_amount(value: Any, path: str) -> int:
    """Read base units from a number, a decimal string or 0x… hex."""
    try:
        return whole_number(value)
    except ForeignError:
        text = f"{path}: expected a whole number of base units, not {value!r:.80}"
        raise ValidationError(path, text) from None


def _read_decimal(value: Any, path: str) -> Decimal:
    refusal = ValidationError(path, f"{path}: expected a number, not {value!r:.80}")
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise refusal
    try:
        number = decimal_number(str(value))
    except ForeignError:
        raise refusal from None
    if abs(number.adjusted()) > _MAX_EXPONENT:
        raise refusal
    return number


def read_int(value: Any, path: str) -> int:
    """Read a JSON integer."""
    if isinstance(value, bool) or not isinstance(value, int):
        if isinstance(value, float) and value.is_integer():
            return int(value)
        raise ValidationError(path, f"{path}: expected a whole number, not {value!r:.80}")
    return value


def _read_float(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValidationError(path, f"{path}: expected a number, not {value!r:.80}")
    return value


def _read_bool(value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise ValidationError(path, f"{path}: expected true or false, not {value!r:.80}")
    return value


def _read_str(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise ValidationError(path, f"{path}: expected a text, not {value!r:.80}")
    return value


def _read_secret(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise ValidationError(path, f"{path}: expected a text")
    return value


_SCALARS: dict[Any, Callable[[Any, str], Any]] = {
    Decimal: _read_decimal,
    bool: _read_bool,
    float: _read_float,
    int: read_int,
    str: _read_str,
}


def number_text(value: Decimal) -> str:
    """Return a decimal as text without an exponent."""
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
