"""The base class of pallets: declarations, storage, calls and hooks.

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

A pallet of several files is made of parts (`part`): one `PalletStorage` with the declarations, calls on it.
Names that mean something else in each instance of a pallet (`Account` of the ingress-egress pallet of one
chain) are given by `names: ClassVar = {"Account": "H160"}`; all type expressions of the pallet know them.
The metadata, the codecs and the dispatch of calls are derived from this, never written again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NoReturn, Protocol, TypeVar

from cfnode.core.scale import Codec
from cfnode.devchain.runtime.release import Release

from .calls import Arguments, EventFields, PalletCall, RuntimeCall
from .declarations import (
    CallDef,
    ConstantSet,
    Declarations,
    ErrorSet,
    EventDef,
    EventSet,
)
from .errors import DispatchError
from .host import Host
from .kept import KeptValues
from .origin import Origin
from .part import HeldPart, calls_of, migrations_of
from .storage import DeclaredStorage
from .stored import Stored
from .table import TypeTable
from .weights import Cost

if TYPE_CHECKING:
    from cfnode.devchain.runtime.config import DevGenesis
    from cfnode.devchain.runtime.values import ValidTransaction

__all__ = ["Pallet", "PalletRuntime", "PalletStorage"]

P = TypeVar("P")
T = TypeVar("T")


class PalletRuntime(Protocol):
    """The runtime of a pallet, as pallets and runtime APIs know it: `composition` is one."""

    @property
    def release(self) -> Release:
        """The release, with all that differs from other releases."""

    @property
    def types(self) -> TypeTable:
        """The types of the release."""

    @property
    def host(self) -> Host:
        """The storage of the call that is running."""

    @property
    def kept(self) -> KeptValues:
        """The decoded storage values that are kept."""

    @property
    def declarations(self) -> Mapping[type[Pallet], Declarations]:
        """The declarations of each pallet in the release."""

    @property
    def pallets(self) -> Sequence[Pallet]:
        """All pallets, in the order of their hooks."""

    @property
    def by_name(self) -> Mapping[str, Pallet]:
        """The pallets by name."""

    @property
    def call_codec(self) -> Codec:
        """The codec of `RuntimeCall`."""

    @property
    def deposit_event(self) -> Callable[[PalletStorage, EventDef, EventFields], None]:
        """The function that records an event of a pallet."""

    def pallet(self, kind: type[P]) -> P:
        """Return the pallet of this class, or the part of a pallet."""

    def codec(self, type_id: int) -> Codec:
        """Return the codec of a type id."""

    def codec_of(self, text: str) -> Codec:
        """Return the codec of a type expression in names that all pallets know."""

    def cost(self, call: RuntimeCall) -> Cost:
        """Return the cost of a call, with the calls inside it."""

    def check_bounds(self, call: RuntimeCall) -> None:
        """Raise ScaleError if part of a call is longer than its bounded type allows."""

    def dispatch(self, call: RuntimeCall, origin: Origin) -> None:
        """Do a call. Raises DispatchError; all writes are undone then."""


class PalletStorage:
    """What a pallet keeps, and the events and errors that it has.

    Base of pallets, and of the part that holds these for a pallet of several files.
    """

    index: int
    name: str = ""
    names: Mapping[str, str] = {}
    items: ClassVar[dict[str, DeclaredStorage]] = {}
    runtime: PalletRuntime
    declarations: Declarations

    class Event(EventSet):
        """No events unless the pallet declares them."""

    class Error(ErrorSet):
        """No errors unless the pallet declares them."""

    class Constant(ConstantSet):
        """No constants unless the pallet declares them."""

    def __init_subclass__(cls) -> None:
        """Add the declared storage items of the subclass to the inherited ones."""
        attributes: Mapping[str, object] = vars(cls)
        cls.items = cls.items | {
            name: attribute
            for name, attribute in attributes.items()
            if isinstance(attribute, DeclaredStorage)
        }

    def __init__(self, pallet: Pallet) -> None:
        self.index, self.name = pallet.index, pallet.name
        self._bind(pallet.runtime, pallet.declarations)

    def _bind(self, runtime: PalletRuntime, declarations: Declarations) -> None:
        self.runtime, self.declarations = runtime, declarations
        self.__dict__["Constant"] = self.Constant.of(runtime.release)
        self.names = declarations.names
        for name, declared in self.items.items():
            if name in declarations.storage:
                self.__dict__[name] = declared.bind(self)

    # For the methods of pallets

    def deposit(self, event: EventDef, /, *unnamed: object, **named_fields: object) -> None:
        """Record an event of this block, with the present phase."""
        if event.later is not None:
            named_fields = {name: named_fields[name] for name in self.declarations.events[event.name].fields}
        self.runtime.deposit_event(self, event, named_fields or unnamed)

    def ensure(self, condition: object, error: ErrorSet) -> None:
        """Fail with one of this pallet's errors unless the condition holds."""
        if not condition:
            self.fail(error)

    def require(self, value: T | None, error: ErrorSet) -> T:
        """Return the value, or fail with one of this pallet's errors if it is None."""
        if value is None:
            self.fail(error)
        return value

    def fail(self, error: ErrorSet) -> NoReturn:
        """End the call with one of this pallet's errors."""
        raise self.error(error)

    def error(self, error: ErrorSet) -> DispatchError:
        """Create one of this pallet's errors, to be raised or put into an event."""
        return DispatchError.module(
            self.index, self.declarations.errors[error], error.doc or error.name, error.name
        )

    def other(self, kind: type[P]) -> P:
        """Return another pallet of the same runtime."""
        return self.runtime.pallet(kind)

    def codec(self, text: str) -> Codec:
        """Return the codec of a type expression, in this pallet's names."""
        return self.runtime.codec(self.type_id(text))

    def type_id(self, text: str) -> int:
        """Return the id of a type expression, in this pallet's names."""
        return self.runtime.types.id(text, self.names)


class Pallet(PalletStorage):
    """Base of all pallets: see the module's text for the form, and the hooks below."""

    crate: ClassVar[str] = ""
    held: ClassVar[dict[str, HeldPart[object]]] = {}
    storage_items: ClassVar[dict[str, DeclaredStorage]] = {}
    calls: ClassVar[dict[str, CallDef]] = {}
    migrations: ClassVar[dict[str, str]] = {}

    def __init_subclass__(cls) -> None:
        """Collect the name, parts, items, calls and migrations that the subclass and its parts declare."""
        super().__init_subclass__()
        attributes = vars(cls)
        cls.name = attributes.get("name") or cls.__name__
        cls.held = cls.held | {
            name: attribute for name, attribute in attributes.items() if isinstance(attribute, HeldPart)
        }
        cls.storage_items, cls.calls, cls.migrations = {}, {}, {}
        for kind in (*(part.kind for part in cls.held.values()), cls):
            cls.storage_items |= getattr(kind, "items", {})
            cls.calls |= calls_of(kind)
            cls.migrations |= migrations_of(kind)
            if isinstance(kind, type) and issubclass(kind, PalletStorage):
                cls._take_over(kind)

    @classmethod
    def _take_over(cls, part: type[PalletStorage]) -> None:
        """Take the events, errors and constants of the part that declares them."""
        for name in ("Event", "Error", "Constant"):
            if getattr(part, name) is not getattr(PalletStorage, name):
                setattr(cls, name, getattr(part, name))

    def __init__(self, runtime: PalletRuntime) -> None:
        self._bind(runtime, runtime.declarations[type(self)])
        for name, part in self.held.items():
            self.__dict__[name] = part.made_for(self)
        self._holders = {
            name: holder
            for holder in (*self.parts, self)
            for name in (*calls_of(type(holder)), *migrations_of(type(holder)).values())
        }

    @classmethod
    def names_in(cls, release: Release) -> Mapping[str, str]:
        """Return the names that only this pallet knows, as expressions in a release."""
        return cls.names

    @property
    def parts(self) -> Sequence[object]:
        """The parts, as they are declared."""
        return [self.__dict__[name] for name in self.held]

    def holder(self, method: str) -> object:
        """Return the object that has the method of a call or a migration: a part, or the pallet itself."""
        return self._holders[method]

    def stored(self) -> Mapping[str, Stored]:
        """Return the storage items, bound, by name: those of the parts too."""
        holders = [part for part in (*self.parts, self) if isinstance(part, PalletStorage)]
        bound = {name: value for holder in holders for name, value in vars(holder).items()}
        return {name: bound[name] for name in self.declarations.storage}

    def check_bounds(self, name: str, arguments: Arguments) -> None:
        """Raise ScaleError if an argument of a call is longer than its bounded type allows.

        The metadata does not have such bounds. As on the chain, bytes that exceed one are not an extrinsic.
        """

    def nested_calls(self, name: str, arguments: Arguments) -> Sequence[RuntimeCall]:
        """Return the calls inside a call of this pallet, which count for its cost and its bounds."""
        return ()

    # Hooks, called in the order of the pallets

    def genesis(self, config: DevGenesis) -> None:
        """Write the storage of block 0."""

    def on_runtime_upgrade(self) -> None:
        """Run in the first block of another runtime, before the migrations."""

    def on_initialize(self, number: int) -> None:
        """Run before the first extrinsic of block `number`."""

    def on_idle(self, number: int) -> None:
        """Run after the last extrinsic, before on_finalize."""

    def on_finalize(self, number: int) -> None:
        """Run last in the block."""

    def on_epoch_ending(self, epoch: int) -> None:
        """Run when the epoch has ended, and the next one has not begun (Validator)."""

    def on_new_epoch(self, epoch: int) -> None:
        """Run when another epoch has begun (Validator)."""

    def on_broadcast_aborted(self, chain: str, broadcast_id: int) -> None:
        """Run when no authority could send a transaction to a foreign chain."""

    def on_new_account(self, who: bytes) -> None:
        """Run when an account has been created (System)."""

    def on_killed_account(self, who: bytes) -> None:
        """Delete what the pallet stores about an account that was removed (System)."""

    def create_inherent(self, data: Mapping[bytes, bytes]) -> PalletCall | None:
        """Return a call of this pallet that the author must add, `("set", {"now": …})`, or None."""
        return None

    def create_inherents(self, data: Mapping[bytes, bytes]) -> Sequence[PalletCall]:
        """Return all calls of this pallet that the author must add, in order."""
        call = self.create_inherent(data)
        return [] if call is None else [call]

    def check_inherent(self, call: PalletCall, data: Mapping[bytes, bytes]) -> None:
        """Raise RuntimeTrap if another author's inherent call contradicts what this node knows."""

    def is_inherent(self, call: PalletCall) -> bool:
        """Return whether this call of the pallet is an inherent."""
        return False

    def validate_unsigned(self, source: str, call: PalletCall) -> ValidTransaction | None:
        """Return a `ValidTransaction` for a bare call that may be in a block, None for one that may not.

        `source` is InBlock, Local or External.
        """
        return None

    def prepare_unsigned(self, call: PalletCall) -> None:
        """Make the writes that have to stay even if a valid bare call, which is done next, fails."""
