"""Parts of a pallet: classes of storage, calls and migrations from which one pallet is made.

    class Swapping(Pallet):
        index = 30
        crate = "pallet_cf_swapping"

        storage = part(SwappingStorage)                  # items, events, errors
        governance = part(SwappingGovernance, storage)   # calls on that

A part is made with its pallet and is read on it: `self.storage`. A class that holds storage (`PalletStorage`)
is made from the pallet, any other class from the parts that follow it in `part(…)`. Storage items, calls and
migrations of the parts are the pallet's: those of the first part first, its own last. Events, errors and
constants are those of the one part, or of the pallet, that declares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar, overload

from .declarations import CALL_MARK, MIGRATION_MARK, CallDef

__all__ = ["HeldPart", "calls_of", "migrations_of", "part"]

A = TypeVar("A")
B = TypeVar("B")
K = TypeVar("K", covariant=True)


class HeldPart(Generic[K]):
    """A part as its pallet declares it: the class, and the parts that it needs."""

    def __init__(self, kind: Callable[..., K], needed: tuple[HeldPart[object], ...]) -> None:
        self.kind = kind
        self.needed = needed
        self.name = ""

    def __set_name__(self, owner: type[object], name: str) -> None:
        """Name the part after the attribute that declares it."""
        self.name = name

    @overload
    def __get__(self, pallet: None, owner: type[object]) -> HeldPart[K]: ...
    @overload
    def __get__(self, pallet: object, owner: type[object]) -> K: ...
    def __get__(self, pallet: object | None, owner: type[object]) -> HeldPart[K] | K:
        """Return the declaration on the class; raise AttributeError on a pallet that has not created it."""
        if pallet is None:
            return self
        raise AttributeError(f"{owner.__name__}.{self.name} is read before its pallet has created it")

    def made_for(self, pallet: object) -> K:
        """Create the part for a pallet, which already has the parts that this one needs."""
        needed = [getattr(pallet, part.name) for part in self.needed]
        return self.kind(*(needed or [pallet]))


@overload
def part(kind: type[K], /) -> HeldPart[K]: ...
@overload
def part(kind: Callable[[A], K], first: HeldPart[A], /) -> HeldPart[K]: ...
@overload
def part(kind: Callable[[A, B], K], first: HeldPart[A], second: HeldPart[B], /) -> HeldPart[K]: ...
def part(kind: Callable[..., K], /, *needed: HeldPart[object]) -> HeldPart[K]:
    """Declare a part of a pallet, and which parts declared before it are handed to it."""
    return HeldPart(kind, needed)


def calls_of(kind: object) -> dict[str, CallDef]:
    """Return the calls that a class declares, by name: those of its bases first."""
    return {call.name: call for _, call in _marked(kind, CALL_MARK) if isinstance(call, CallDef)}


def migrations_of(kind: object) -> dict[str, str]:
    """Return the names of the methods that a class declares as migrations, by release."""
    return {release: name for name, release in _marked(kind, MIGRATION_MARK) if isinstance(release, str)}


def _marked(kind: object, mark: str) -> Iterator[tuple[str, object]]:
    for base in reversed(kind.__mro__) if isinstance(kind, type) else ():
        yield from (
            (name, getattr(attribute, mark))
            for name, attribute in vars(base).items()
            if hasattr(attribute, mark)
        )
