"""How is a pallet declared?

    class Funding(Pallet):
        '''FLIP on accounts: …'''

        index = 5
        crate = "pallet_cf_funding"                  # first segment of its types' paths in the metadata

        MinimumFunding = Value("u128")               # storage: see frame.storage

        class Event(EventSet):
            Funded = event(0, account_id="AccountId32", source="FundingSource", funds_added="u128", …)

        class Error(ErrorSet):
            NoPendingRedemption = "…doc text, as the clients show it…"   # in index order

        class Constant(ConstantSet):
            SomeLimit = constant("u32", 5)

        @call(8, Cost(25_000_000, reads=1, writes=1), address="H160")
        def bind_redeem_address(self, origin: Origin, address: bytes) -> None:
            who = origin.ensure_signed()
            self.ensure(not self.BoundRedeemAddress.contains(who), self.Error.AccountAlreadyBound)
            self.BoundRedeemAddress.put(who, address)
            self.deposit(self.Event.BoundRedeemAddress, account_id=who, address=address)

Names that mean something else in each instance of a pallet (`Account` of the ingress-egress pallet of one
chain) are given by `names: ClassVar = {"Account": "H160"}`; all type expressions of the pallet know them.
The metadata, the codecs and the dispatch of calls are derived from this, never written again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

from cfnode.core.scale import Codec

from .calls import Arguments, PalletCall, RuntimeCall
from .errors import DispatchError
from .span import ALWAYS, Span
from .storage import Declared
from .stored import Stored
from .weights import Cost

if TYPE_CHECKING:
    from cfnode.devchain.runtime.config import DevGenesis
    from cfnode.devchain.runtime.release import Release
    from cfnode.devchain.runtime.values import ValidTransaction

    from .composition import Composition
    from .parts import Parts

F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M", bound=Callable[[Any], None])
P = TypeVar("P", bound="Pallet")
T = TypeVar("T")
Fields = tuple[str, ...] | Mapping[str, str]
_CALL = "__frame_call__"
_MIGRATION = "__frame_migration__"


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

    The cost is that of a call for which the composition has no measured weight.

    It gets `origin`, then the arguments by name, and may raise DispatchError: all its writes are undone then.
    A trailing `_` of an argument name is dropped on the wire.
    """

    def mark(method: F) -> F:
        docs = tuple(line.strip() for line in (method.__doc__ or "").strip().splitlines())
        cost = next((each for each in options if isinstance(each, Cost)), Cost())
        setattr(method, _CALL, CallDef(index, method.__name__, cost, arguments, docs, _span(options)))
        return method

    return mark


def migration(release: str) -> Callable[[M], M]:
    """Mark a method that brings the pallet's storage to this release, in the first block of the runtime."""

    def mark(method: M) -> M:
        setattr(method, _MIGRATION, release)
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
        self.name = name

    def changed(self, span: Span, /, **fields: str) -> EventDef:
        """The event with other fields in a later span; `deposit` takes all of both and leaves some out."""
        self.later = (span, fields)
        return self

    def fields_in(self, release: Release) -> Fields:
        """The fields that the event has in a release."""
        return self.later[1] if self.later and self.later[0].covers(release) else self.fields


def event(index: int, /, *options: str | Span, **named: str) -> EventDef:
    """Declare an event inside `class Event(EventSet)`: index, span, and the fields' expressions."""
    unnamed = tuple(each for each in options if isinstance(each, str))
    return EventDef(index, named or unnamed, _span(options))


def _span(options: tuple[object, ...]) -> Span:
    return next((each for each in options if isinstance(each, Span)), ALWAYS)


class EventSet:
    """Base of a pallet's `Event` class."""


class ErrorSet(Enum):
    """Base of a pallet's `Error` class: `Name = "doc text"` (or with a span behind it), in index order.

    The value is the position among the errors of all releases.
    """

    doc: str
    span: Span

    def __new__(cls, doc: str, span: Span = ALWAYS) -> ErrorSet:
        made = object.__new__(cls)
        made._value_ = len(cls.__members__)
        made.doc, made.span = doc, span
        return made


@dataclass(frozen=True, slots=True)
class ConstantDef:
    """A constant in the metadata: type expression, and value or function from the release to it."""

    type: str
    value: Any


def constant(type_: str, value: Any) -> Any:
    """Declare a constant inside `class Constant(ConstantSet)`; read on a pallet, it is its value.

    A constant that differs between releases is given as a function from the release to its value.
    """
    return ConstantDef(type_, value)


class ConstantSet:
    """Base of a pallet's `Constant` class: `self.Constant.SomeLimit` is the value."""

    declared: ClassVar[dict[str, ConstantDef]] = {}

    def __init_subclass__(cls) -> None:
        own = {name: each for name, each in vars(cls).items() if isinstance(each, ConstantDef)}
        cls.declared = {**cls.declared, **own}
        for name, each in own.items():
            setattr(cls, name, each.value)

    @classmethod
    def of(cls, release: Release) -> type[ConstantSet]:
        """The constants of a release."""
        by_release = {name: each for name, each in cls.declared.items() if callable(each.value)}
        if not by_release:
            return cls
        return type(
            "Constant",
            (cls,),
            {name: ConstantDef(each.type, each.value(release)) for name, each in by_release.items()},
        )


class Pallet:
    """Base of all pallets: see the module's text for the form, and the hooks below."""

    index: ClassVar[int]
    name: ClassVar[str] = ""
    crate: ClassVar[str] = ""
    names: ClassVar[Mapping[str, str]] = {}
    storage: ClassVar[dict[str, Declared]] = {}
    calls: ClassVar[dict[str, CallDef]] = {}
    migrations: ClassVar[dict[str, str]] = {}
    parts: Parts

    class Event(EventSet):
        """No events unless the pallet declares them."""

    class Error(ErrorSet):
        """No errors unless the pallet declares them."""

    class Constant(ConstantSet):
        """No constants unless the pallet declares them."""

    def __init_subclass__(cls) -> None:
        cls.name = vars(cls).get("name") or cls.__name__
        own = vars(cls)
        cls.storage = cls.storage | {name: each for name, each in own.items() if isinstance(each, Declared)}
        marked = [getattr(each, _CALL) for each in own.values() if hasattr(each, _CALL)]
        cls.calls = cls.calls | {each.name: each for each in marked}
        cls.migrations = cls.migrations | {
            getattr(each, _MIGRATION): name for name, each in own.items() if hasattr(each, _MIGRATION)
        }

    def __init__(self, runtime: Composition) -> None:
        self.runtime = runtime
        self.parts = runtime.parts[type(self)]
        self.__dict__["Constant"] = self.Constant.of(runtime.release)
        self.__dict__["names"] = self.parts.names
        for name, declared in self.parts.storage.items():
            self.__dict__[name] = declared.bind(self)

    @classmethod
    def names_in(cls, release: Release) -> Mapping[str, str]:
        """The names that only this pallet knows, as expressions in a release."""
        return cls.names

    # What a pallet's methods use

    def deposit(self, what: EventDef, /, *unnamed: Any, **named: Any) -> None:
        """Record an event of this block, with the present phase."""
        if what.later is not None:
            named = {name: named[name] for name in self.parts.events[what.name].fields}
        self.runtime.deposit_event(self, what, named or unnamed)

    def ensure(self, condition: object, error: ErrorSet) -> None:
        """Fail with one of this pallet's errors unless the condition holds."""
        if not condition:
            self.fail(error)

    def require(self, value: T | None, error: ErrorSet) -> T:
        """The value, or fail with one of this pallet's errors if there is none."""
        if value is None:
            self.fail(error)
        return value

    def fail(self, error: ErrorSet) -> NoReturn:
        """End the call with one of this pallet's errors."""
        raise self.error(error)

    def error(self, error: ErrorSet) -> DispatchError:
        """One of this pallet's errors, to be raised or told."""
        return DispatchError.module(self.index, self.parts.errors[error], error.doc or error.name, error.name)

    def other(self, kind: type[P]) -> P:
        """Another pallet of the same runtime."""
        return self.runtime.pallet(kind)

    def codec(self, text: str) -> Codec:
        """The codec of a type expression, in this pallet's names."""
        return self.runtime.codec(self.type_id(text))

    def type_id(self, text: str) -> int:
        """The id of a type expression, in this pallet's names."""
        return self.runtime.types.id(text, self.names)

    def stored(self) -> Mapping[str, Stored]:
        """The storage items, bound, by name."""
        return {name: self.__dict__[name] for name in self.parts.storage}

    def has(self, item: str) -> bool:
        """Whether the release has this storage item of the pallet."""
        return item in self.parts.storage

    def check_bounds(self, name: str, arguments: Arguments) -> None:
        """Raise ScaleError if an argument of a call is longer than its bounded type allows.

        The metadata does not tell such bounds. What breaks one is no extrinsic at all, as on the chain.
        """

    def nested_calls(self, name: str, arguments: Arguments) -> Sequence[RuntimeCall]:
        """The calls that a call of this pallet would do in turn: they count for its cost and its bounds."""
        return ()

    # Hooks, called in the order of the pallets

    def genesis(self, config: DevGenesis) -> None:
        """Write the storage of block 0."""

    def on_runtime_upgrade(self) -> None:
        """In the first block of another runtime, before the migrations."""

    def on_initialize(self, number: int) -> None:
        """Before the first extrinsic of block `number`."""

    def on_idle(self, number: int) -> None:
        """After the last extrinsic, before on_finalize."""

    def on_finalize(self, number: int) -> None:
        """The last thing in the block."""

    def on_epoch_ending(self, epoch: int) -> None:
        """The epoch is over, and the next one has not begun (Validator)."""

    def on_new_epoch(self, epoch: int) -> None:
        """Another epoch has begun (Validator)."""

    def on_broadcast_aborted(self, chain: str, broadcast_id: int) -> None:
        """Nobody could send a transaction to a foreign chain."""

    def on_new_account(self, who: bytes) -> None:
        """An account came into being (System)."""

    def on_killed_account(self, who: bytes) -> None:
        """An account is gone (System): forget it."""

    def create_inherent(self, data: Mapping[bytes, bytes]) -> PalletCall | None:
        """A call of this pallet that the author must add, or None: `("set", {"now": …})`."""
        return None

    def create_inherents(self, data: Mapping[bytes, bytes]) -> Sequence[PalletCall]:
        """All calls of this pallet that the author must add, in order."""
        made = self.create_inherent(data)
        return [] if made is None else [made]

    def check_inherent(self, call: PalletCall, data: Mapping[bytes, bytes]) -> None:
        """Raise RuntimeTrap if another author's inherent call contradicts what this node knows."""

    def is_inherent(self, call: PalletCall) -> bool:
        """Whether this call of the pallet is an inherent."""
        return False

    def validate_unsigned(self, source: str, call: PalletCall) -> ValidTransaction | None:
        """A `ValidTransaction` for a bare call that may be in a block, None for one that may not.

        `source` is InBlock, Local or External."""
        return None

    def prepare_unsigned(self, call: PalletCall) -> None:
        """A bare call that is valid is about to be done: what has to stay even if it fails."""
