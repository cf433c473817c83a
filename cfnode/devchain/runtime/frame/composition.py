"""The composition of pallets to one runtime.

It has their order, one type table with the outer enums (`RuntimeCall`, `RuntimeEvent`, `RuntimeError`), the
storage they work on, and the dispatch of calls among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

from cfnode.core.scale import Codec
from cfnode.devchain.runtime.release import Release

from .api import RuntimeApi
from .calls import EventFields, RuntimeCall, split
from .catalogs import catalog_of
from .declarations import Declarations, EventDef, Fields
from .errors import DispatchError
from .expressions import Expression, TypeName, parse, substitute
from .host import Host
from .in_release import declarations_of
from .kept import KeptValues
from .origin import Origin
from .pallet import Pallet, PalletStorage
from .table import TypeTable
from .types import Catalog, Declaration, Enum, declaration
from .weights import CallWeight, Cost

P = TypeVar("P")
S = TypeVar("S", bound="Service")
CallWeights = Mapping[str, Mapping[str, CallWeight]]
"""Weights by crate and call; a call without an entry has the cost of its declaration."""

#: The runtime's own crate: first segment of the outer enums' paths.
CRATE = "state_chain_runtime"
MAX_NESTED_DISPATCH = 16


class Composition:
    """Pallets in hook order, with the types of their release and their storage.

    One composition serves one call of the runtime at a time: `on(host)` lends it the storage.
    """

    def __init__(
        self,
        pallets: Sequence[type[Pallet]],
        apis: Sequence[type[RuntimeApi]],
        release: Release,
        weights: CallWeights = MappingProxyType({}),
        kept: KeptValues | None = None,
    ) -> None:
        self.release = release
        self.kept = KeptValues() if kept is None else kept
        self._weights = weights
        self._host: Host | None = None
        self._depth = 0
        self._codecs: dict[int, Codec] = {}
        self._codecs_by_text: dict[str, Codec] = {}
        self._services: dict[type[Service], Service] = {}
        self.deposit_event: Callable[[PalletStorage, EventDef, EventFields], None] = self._no_events
        self.declarations = {kind: declarations_of(kind, release) for kind in pallets}
        self.types = TypeTable(_with_outer_enums(catalog_of(release), self.declarations))
        self.pallets = tuple(kind(self) for kind in pallets)
        self.by_kind: dict[type[object], object] = {
            type(holder): holder for pallet in self.pallets for holder in (*pallet.parts, pallet)
        }
        self.by_name = {pallet.name: pallet for pallet in self.pallets}
        self._resolve_all()
        self.apis = tuple(kind(self) for kind in apis)
        self.call_codec = self.codec(self.types.id("RuntimeCall"))

    @property
    def host(self) -> Host:
        """The storage of the call that is running."""
        if self._host is None:
            raise RuntimeError("no call of the runtime is running: use `with composition.on(host)`")
        return self._host

    @contextmanager
    def on(self, host: Host) -> Iterator[None]:
        """Lend the pallets this storage."""
        outer_host, self._host = self._host, host
        try:
            yield
        finally:
            self._host = outer_host

    def pallet(self, kind: type[P]) -> P:
        """Return the pallet, or the part of one, of this class. Raises KeyError if the runtime has none."""
        member = self.by_kind.get(kind) or next(
            (holder for holder in self.by_kind.values() if isinstance(holder, kind)), None
        )
        if not isinstance(member, kind):
            raise KeyError(f"this runtime has no {kind.__name__}")
        return member

    def service(self, kind: type[S]) -> S:
        """Return the one object of this class that serves this runtime; the first request creates it."""
        service = self._services.get(kind)
        if not isinstance(service, kind):
            service = self._services[kind] = kind(self)
        return service

    def codec(self, type_id: int) -> Codec:
        """Return the codec of a type id."""
        codec = self._codecs.get(type_id)
        if codec is None:
            codec = self._codecs[type_id] = self.types.registry.codec(type_id)
        return codec

    def codec_of(self, text: str) -> Codec:
        """Return the codec of a type expression in names that all pallets know."""
        codec = self._codecs_by_text.get(text)
        if codec is None:
            codec = self._codecs_by_text[text] = self.codec(self.types.id(text))
        return codec

    def cost(self, call: RuntimeCall) -> Cost:
        """Return the cost of a call `("Pallet", ("name", {…}))`, with the calls inside it."""
        pallet, (name, arguments) = self._split(call)
        measured = self._weights.get(pallet.crate, {}).get(name)
        cost = measured.cost(arguments) if measured else pallet.calls[name].cost
        for nested_cost in map(self.cost, pallet.nested_calls(name, arguments)):
            cost = cost.plus(nested_cost.weight, nested_cost.proof)
            if measured and measured.follows_nested and nested_cost.dispatch_class == "Normal":
                cost = replace(cost, dispatch_class="Normal")
        return cost

    def check_bounds(self, call: RuntimeCall) -> None:
        """Raise ScaleError if part of a call is longer than its bounded type allows."""
        pallet, (name, arguments) = self._split(call)
        pallet.check_bounds(name, arguments)
        for nested_call in pallet.nested_calls(name, arguments):
            self.check_bounds(nested_call)

    def dispatch(self, call: RuntimeCall, origin: Origin) -> None:
        """Dispatch a call, also one inside another. Raises DispatchError; its writes are undone then."""
        pallet, (name, arguments) = self._split(call)
        if self._depth >= MAX_NESTED_DISPATCH:
            raise DispatchError("Exhausted", "calls are nested too deeply")
        self._depth += 1
        self.host.begin()
        try:
            getattr(pallet.holder(name), name)(origin, **arguments)
        except BaseException:
            self.host.rollback()
            raise
        else:
            self.host.commit()
        finally:
            self._depth -= 1

    def _split(self, call: RuntimeCall) -> tuple[Pallet, tuple[str, dict[str, object]]]:
        """Split a call value into pallet, name, and arguments by the method's names."""
        pallet_name, inner = call
        pallet = self.by_name[pallet_name]
        name, values = split(inner)
        names = pallet.calls[name].arguments
        return pallet, (name, {argument: values[argument.removesuffix("_")] for argument in names})

    def _no_events(self, pallet: PalletStorage, event: EventDef, fields: EventFields) -> None:
        """Drop an event: without a System pallet nothing keeps events."""

    def _resolve_all(self) -> None:
        """Give every declared expression its row now, so that there is one registry."""
        self.types.id("RuntimeError")
        for pallet in self.pallets:
            for declared in pallet.declarations.storage.values():
                for text in (*declared.item.keys, declared.item.key, declared.item.value):
                    if text:
                        pallet.type_id(text)
            for constant in pallet.Constant.declared.values():
                pallet.type_id(constant.expression)


class Service:
    """Base of classes of which a runtime has one object (`Composition.service`)."""

    def __init__(self, runtime: Composition) -> None:
        self.runtime = runtime


def _with_outer_enums(base: Catalog, pallets: Mapping[type[Pallet], Declarations]) -> Catalog:
    catalog = Catalog(base)
    for part in ("Call", "Event", "Error"):
        for kind, declared in pallets.items():
            catalog.add(_pallet_enum(kind, declared, part))
        catalog.add(_outer_enum(part, [kind for kind, declared in pallets.items() if declared.has(part)]))
    return catalog


def _pallet_enum(kind: type[Pallet], declared: Declarations, part: str) -> Declaration:
    def make() -> Enum:
        scope = {name: parse(target) for name, target in declared.names.items()}
        return Enum(
            tuple(
                (index, name, _fields(fields, scope), docs)
                for index, name, fields, docs in sorted(_rows(declared, part), key=lambda row: row[0])
            )
        )

    crate = kind.crate or kind.name
    return declaration(f"{crate}::pallet::{part}", f"{kind.name}::{part}", make)


def _rows(declared: Declarations, part: str) -> list[tuple[int, str, Fields, tuple[str, ...]]]:
    """Return the calls, events or errors of a pallet as (index, name, fields, docs)."""
    if part == "Call":
        return [(call.index, call.name, call.arguments, call.docs) for call in declared.calls.values()]
    if part == "Event":
        return [(event.index, event.name, event.fields, ()) for event in declared.events.values()]
    return [(index, error.name, (), tuple(error.doc.split("\n"))) for error, index in declared.errors.items()]


def _outer_enum(part: str, kinds: Sequence[type[Pallet]]) -> Declaration:
    rows = tuple((kind.index, kind.name, ((None, TypeName(f"{kind.name}::{part}")),), ()) for kind in kinds)
    return declaration(f"{CRATE}::Runtime{part}", None, lambda: Enum(rows))


def _fields(fields: Fields, scope: Mapping[str, Expression]) -> tuple[tuple[str | None, Expression], ...]:
    if isinstance(fields, tuple):
        return tuple((None, substitute(parse(text), scope)) for text in fields)
    return tuple((name.removesuffix("_"), substitute(parse(text), scope)) for name, text in fields.items())


__all__ = ["CRATE", "Composition", "Service"]
