"""How is a pallet made of parts?

    class Swapping(Pallet):
        index = 30
        crate = "pallet_cf_swapping"

        storage = part(SwappingStorage)                  # what it keeps: items, events, errors
        governance = part(SwappingGovernance, storage)   # calls on that

A part is made with its pallet and is read on it: `self.storage`. What holds storage (`PalletStorage`) is made
from the pallet, any other class from the parts that are named behind it. Storage items and calls of the parts
are the pallet's: those of the first part first, its own last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from .declarations import CALL_MARK, CallDef

__all__ = ["Held", "calls_of", "part"]

A = TypeVar("A")
B = TypeVar("B")
K = TypeVar("K")


class Held(Generic[K]):
    """A part as its pallet declares it: the class, and the parts that it needs."""

    def __init__(self, kind: Callable[..., K], needed: tuple[Held[Any], ...]) -> None:
        self.kind = kind
        self.needed = needed
        self.name = ""

    def __set_name__(self, owner: type[object], name: str) -> None:
        self.name = name

    @overload
    def __get__(self, pallet: None, owner: type[object]) -> Held[K]: ...
    @overload
    def __get__(self, pallet: object, owner: type[object]) -> K: ...
    def __get__(self, pallet: object | None, owner: type[object]) -> Held[K] | K:
        if pallet is None:
            return self
        raise AttributeError(f"{owner.__name__}.{self.name} is not made yet")

    def made_for(self, pallet: object) -> K:
        """The part of this pallet, which has those that it needs."""
        needed = [getattr(pallet, each.name) for each in self.needed]
        return self.kind(*(needed or [pallet]))


@overload
def part(kind: type[K], /) -> Held[K]: ...
@overload
def part(kind: Callable[[A], K], first: Held[A], /) -> Held[K]: ...
@overload
def part(kind: Callable[[A, B], K], first: Held[A], second: Held[B], /) -> Held[K]: ...
def part(kind: Callable[..., K], /, *needed: Held[Any]) -> Held[K]:
    """Declare a part of a pallet, and which parts declared before it are handed to it."""
    return Held(kind, needed)


def calls_of(kind: object) -> dict[str, CallDef]:
    """The calls that a class declares, by name: those of its bases first."""
    bases = reversed(kind.__mro__) if isinstance(kind, type) else ()
    marked = (getattr(each, CALL_MARK, None) for base in bases for each in vars(base).values())
    return {each.name: each for each in marked if isinstance(each, CallDef)}
