"""Declarations of a pallet's calls, events, errors and constants.

The head of `pallet` explains their form. `Declarations` are those of one release, with its indices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Generic, TypeAlias, TypeVar

from cfnode.devchain.runtime.release import Release

from .span import ALWAYS, Span
from .storage import DeclaredStorage
from .weights import Cost

__all__ = [
    "CallDef",
    "ConstantDef",
    "ConstantSet",
    "Declarations",
    "ErrorSet",
    "EventDef",
    "EventSet",
    "Fields",
    "call",
    "call_of",
    "constant",
    "event",
    "migration",
    "migration_of",
    "release_constant",
]

F = TypeVar("F", bound=Callable[..., object])
P = TypeVar("P")
V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)
Fields = tuple[str, ...] | Mapping[str, str]
Migration: TypeAlias = Callable[[P], None]
CALL_MARK = "__frame_call__"
MIGRATION_MARK = "__frame_migration__"


@dataclass(frozen=True, slots=True)
class CallDef:
    """A dispatchable: its index, cost, arguments (name → type expression) and the method that does it."""

    index: int
    name: str
    cost: Cost
    arguments: Mapping[str, str]
    docs: tuple[str, ...]
    span: Span


def call(index: int, /, *options: Cost | Span, **arguments: str) -> Callable[[F], F]:
    """Mark a method as a dispatchable: index, cost and span, and the arguments' expressions in order.

    The cost counts for a call for which the composition has no measured weight.

    The method gets `origin`, then the arguments by name. It may raise DispatchError: its writes are undone
    then. A trailing `_` of an argument name is dropped on the wire.
    """

    def mark(method: F) -> F:
        docs = tuple(line.strip() for line in (method.__doc__ or "").strip().splitlines())
        cost = next((option for option in options if isinstance(option, Cost)), Cost())
        setattr(method, CALL_MARK, CallDef(index, method.__name__, cost, arguments, docs, _span(options)))
        return method

    return mark


def migration(release: str) -> Callable[[Migration[P]], Migration[P]]:
    """Mark a method that brings the pallet's storage to this release, in the first block of the runtime."""

    def mark(method: Migration[P]) -> Migration[P]:
        setattr(method, MIGRATION_MARK, release)
        return method

    return mark


@dataclass(slots=True)
class EventDef:
    """One event; `fields` is a tuple of expressions (unnamed fields) or a mapping of names to expressions.

    `later` are a span and the fields in it.
    """

    index: int
    fields: Fields
    span: Span
    name: str = ""
    later: tuple[Span, Fields] | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        """Name the event after the attribute that declares it."""
        self.name = name

    def changed(self, span: Span, /, **fields: str) -> EventDef:
        """Give the event other fields in a later span, and return it.

        `deposit` takes the fields of both spans, and leaves out those that the release does not have.
        """
        self.later = (span, fields)
        return self

    def fields_in(self, release: Release) -> Fields:
        """Return the fields that the event has in a release."""
        return self.later[1] if self.later and self.later[0].covers(release) else self.fields


def event(index: int, /, *options: str | Span, **named_fields: str) -> EventDef:
    """Declare an event inside `class Event(EventSet)`: index, span, and the fields' expressions."""
    unnamed = tuple(text for text in options if isinstance(text, str))
    return EventDef(index, named_fields or unnamed, _span(options))


def _span(options: tuple[object, ...]) -> Span:
    return next((option for option in options if isinstance(option, Span)), ALWAYS)


def call_of(function: object) -> CallDef | None:
    """Return the declaration of a method that is marked as a dispatchable, None for any other."""
    mark: object = getattr(function, CALL_MARK, None)
    return mark if isinstance(mark, CallDef) else None


def migration_of(function: object) -> str | None:
    """Return the release to which a migration brings the storage, None for a method that is not marked."""
    release: object = getattr(function, MIGRATION_MARK, None)
    return release if isinstance(release, str) else None


class EventSet:
    """Base of a pallet's `Event` class."""


class ErrorSet(Enum):
    """Base of a pallet's `Error` class: `Name = "doc text"` (or with a span behind it), in index order.

    The value is the position among the errors of all releases.
    """

    doc: str
    span: Span

    def __new__(cls, doc: str, span: Span = ALWAYS) -> ErrorSet:
        """Create the next error, with its text and the releases that have it; its value is its position."""
        error = object.__new__(cls)
        error._value_ = len(cls.__members__)
        error.doc, error.span = doc, span
        return error


@dataclass(frozen=True, slots=True)
class ConstantDef(Generic[V_co]):
    """A constant in the metadata: type expression, and function from the release to the value.

    Read on a pallet of a runtime, it is its value.
    """

    expression: str
    value_in: Callable[[Release], V_co]

    def __get__(self, constants: ConstantSet | None, owner: type[ConstantSet]) -> V_co:
        """Raise AttributeError: the declaration has no value, only the pallet of a runtime has one."""
        raise AttributeError("read a constant on a pallet of a runtime: its value depends on the release")


def constant(type_: str, value: V) -> ConstantDef[V]:
    """Declare a constant inside `class Constant(ConstantSet)`; read on a pallet, it is its value."""
    return ConstantDef(type_, lambda release: value)


def release_constant(type_: str, value_in: Callable[[Release], V]) -> ConstantDef[V]:
    """Declare a constant that differs between releases: a function from the release to its value."""
    return ConstantDef(type_, value_in)


class ConstantSet:
    """Base of a pallet's `Constant` class: `self.Constant.SomeLimit` is the value."""

    declared: ClassVar[dict[str, ConstantDef[object]]] = {}

    def __init_subclass__(cls) -> None:
        """Add the declared constants of the subclass to the inherited ones."""
        attributes: Mapping[str, object] = vars(cls)
        constants = {
            name: attribute for name, attribute in attributes.items() if isinstance(attribute, ConstantDef)
        }
        cls.declared = {**cls.declared, **constants}

    @classmethod
    def of(cls, release: Release) -> type[ConstantSet]:
        """Return a class with the values of a release's constants, by name."""
        return type(
            "Constant", (cls,), {name: constant.value_in(release) for name, constant in cls.declared.items()}
        )


@dataclass(frozen=True, slots=True)
class Declarations:
    """Storage, calls and events by name, with the indices and fields of the release; errors by index.

    `names` are those that only this pallet knows, as expressions.
    """

    names: Mapping[str, str]
    storage: Mapping[str, DeclaredStorage]
    calls: Mapping[str, CallDef]
    events: Mapping[str, EventDef]
    errors: Mapping[ErrorSet, int]

    def has(self, part: str) -> bool:
        """Return whether there is any "Call", "Event" or "Error"."""
        return bool({"Call": self.calls, "Event": self.events, "Error": self.errors}[part])
