"""Declarations of storage items: values, maps and double maps of a pallet.

    class FundingStorage(PalletStorage):
        MinimumFunding = Value[int]("u128")                                     # absent reads as zero
        BoundExecutorAddress = OptionalMap[bytes, bytes]("Blake2_128Concat", "AccountId32", "H160")
        AuthorityIndex = DoubleMap[int, bytes, int](
            "Twox64Concat", "u32", "Blake2_128Concat", "AccountId32", "u32"
        )

A pallet reads its items by `self.MinimumFunding.get()`, and writes them by
`self.BoundExecutorAddress.put(who, address)`.

An item that is not `Optional…` reads as its default where nothing is stored: the type's zero, or `default`
(which may be a function of the runtime). The types in brackets are the Python types of keys and values, which
scripts/chain_values.py writes from the expressions.
"""

from __future__ import annotations

from typing import Generic, TypeVar, overload

from .item import UNSET, Default, Item, ItemOwner
from .span import ALWAYS, Span
from .stored import Stored, StoredDoubleMap, StoredMap, StoredValue

__all__ = [
    "DeclaredStorage",
    "DoubleMap",
    "Map",
    "OptionalDoubleMap",
    "OptionalMap",
    "OptionalValue",
    "Value",
]

K = TypeVar("K")
K2 = TypeVar("K2")
V = TypeVar("V")


class DeclaredStorage:
    """Base of the declarations, which have a name and a bound form on a pallet."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.name = ""
        self.owner: type[ItemOwner] | None = None

    def __set_name__(self, owner: type[ItemOwner], name: str) -> None:
        """Name the item after the attribute that declares it, and note the declaring class."""
        self.owner, self.name = owner, name

    def bind(self, pallet: ItemOwner) -> Stored:
        """Return the item bound to a pallet, which reads and writes it."""
        raise NotImplementedError

    def absent(self, pallet: ItemOwner) -> AttributeError:
        """Create the error of a pallet whose release lacks the item: all other items are bound to it."""
        return AttributeError(f"{pallet.name}.{self.name} is not in release {pallet.runtime.release.name}")


class Value(DeclaredStorage, Generic[V]):
    """One value. `default` is in the value mapping of core.scale."""

    def __init__(self, value: str, *, default: Default[V] = UNSET, span: Span = ALWAYS) -> None:
        super().__init__(Item((), (), value, False, default, span))

    @overload
    def __get__(self, pallet: None, owner: type[ItemOwner]) -> Value[V]: ...
    @overload
    def __get__(self, pallet: ItemOwner, owner: type[ItemOwner]) -> StoredValue[V, V]: ...
    def __get__(self, pallet: ItemOwner | None, owner: type[ItemOwner]) -> Value[V] | StoredValue[V, V]:
        """Return the declaration on the class; raise AttributeError on a pallet whose release lacks it."""
        if pallet is None:
            return self
        raise self.absent(pallet)

    def bind(self, pallet: ItemOwner) -> StoredValue[V, V]:
        """Return the item of one pallet; its default stands for a missing value."""
        return StoredValue(pallet, self.name, self.item)


class OptionalValue(DeclaredStorage, Generic[V]):
    """One value, or None if there is nothing."""

    def __init__(self, value: str, *, span: Span = ALWAYS) -> None:
        super().__init__(Item((), (), value, True, UNSET, span))

    @overload
    def __get__(self, pallet: None, owner: type[ItemOwner]) -> OptionalValue[V]: ...
    @overload
    def __get__(self, pallet: ItemOwner, owner: type[ItemOwner]) -> StoredValue[V, V | None]: ...
    def __get__(
        self, pallet: ItemOwner | None, owner: type[ItemOwner]
    ) -> OptionalValue[V] | StoredValue[V, V | None]:
        """Return the declaration on the class; raise AttributeError on a pallet whose release lacks it."""
        if pallet is None:
            return self
        raise self.absent(pallet)

    def bind(self, pallet: ItemOwner) -> StoredValue[V, V | None]:
        """Return the item of one pallet; None stands for a missing value."""
        return StoredValue(pallet, self.name, self.item, None)


class Map(DeclaredStorage, Generic[K, V]):
    """Values by one key."""

    def __init__(
        self, hasher: str, key: str, value: str, *, default: Default[V] = UNSET, span: Span = ALWAYS
    ) -> None:
        super().__init__(Item((hasher,), (key,), value, False, default, span))

    @overload
    def __get__(self, pallet: None, owner: type[ItemOwner]) -> Map[K, V]: ...
    @overload
    def __get__(self, pallet: ItemOwner, owner: type[ItemOwner]) -> StoredMap[K, V, V]: ...
    def __get__(self, pallet: ItemOwner | None, owner: type[ItemOwner]) -> Map[K, V] | StoredMap[K, V, V]:
        """Return the declaration on the class; raise AttributeError on a pallet whose release lacks it."""
        if pallet is None:
            return self
        raise self.absent(pallet)

    def bind(self, pallet: ItemOwner) -> StoredMap[K, V, V]:
        """Return the map of one pallet; its default stands for a missing value."""
        return StoredMap(pallet, self.name, self.item)


class OptionalMap(DeclaredStorage, Generic[K, V]):
    """Values by one key, None where there is nothing."""

    def __init__(self, hasher: str, key: str, value: str, *, span: Span = ALWAYS) -> None:
        super().__init__(Item((hasher,), (key,), value, True, UNSET, span))

    @overload
    def __get__(self, pallet: None, owner: type[ItemOwner]) -> OptionalMap[K, V]: ...
    @overload
    def __get__(self, pallet: ItemOwner, owner: type[ItemOwner]) -> StoredMap[K, V, V | None]: ...
    def __get__(
        self, pallet: ItemOwner | None, owner: type[ItemOwner]
    ) -> OptionalMap[K, V] | StoredMap[K, V, V | None]:
        """Return the declaration on the class; raise AttributeError on a pallet whose release lacks it."""
        if pallet is None:
            return self
        raise self.absent(pallet)

    def bind(self, pallet: ItemOwner) -> StoredMap[K, V, V | None]:
        """Return the map of one pallet; None stands for a missing value."""
        return StoredMap(pallet, self.name, self.item, None)


class DoubleMap(DeclaredStorage, Generic[K, K2, V]):
    """Values by two keys; all values of one first key lie together."""

    def __init__(
        self,
        hasher1: str,
        key1: str,
        hasher2: str,
        key2: str,
        value: str,
        *,
        default: Default[V] = UNSET,
        span: Span = ALWAYS,
    ) -> None:
        super().__init__(Item((hasher1, hasher2), (key1, key2), value, False, default, span))

    @overload
    def __get__(self, pallet: None, owner: type[ItemOwner]) -> DoubleMap[K, K2, V]: ...
    @overload
    def __get__(self, pallet: ItemOwner, owner: type[ItemOwner]) -> StoredDoubleMap[K, K2, V, V]: ...
    def __get__(
        self, pallet: ItemOwner | None, owner: type[ItemOwner]
    ) -> DoubleMap[K, K2, V] | StoredDoubleMap[K, K2, V, V]:
        """Return the declaration on the class; raise AttributeError on a pallet whose release lacks it."""
        if pallet is None:
            return self
        raise self.absent(pallet)

    def bind(self, pallet: ItemOwner) -> StoredDoubleMap[K, K2, V, V]:
        """Return the double map of one pallet; its default stands for a missing value."""
        return StoredDoubleMap(pallet, self.name, self.item)


class OptionalDoubleMap(DeclaredStorage, Generic[K, K2, V]):
    """Values by two keys, None where there is nothing."""

    def __init__(
        self, hasher1: str, key1: str, hasher2: str, key2: str, value: str, *, span: Span = ALWAYS
    ) -> None:
        super().__init__(Item((hasher1, hasher2), (key1, key2), value, True, UNSET, span))

    @overload
    def __get__(self, pallet: None, owner: type[ItemOwner]) -> OptionalDoubleMap[K, K2, V]: ...
    @overload
    def __get__(self, pallet: ItemOwner, owner: type[ItemOwner]) -> StoredDoubleMap[K, K2, V, V | None]: ...
    def __get__(
        self, pallet: ItemOwner | None, owner: type[ItemOwner]
    ) -> OptionalDoubleMap[K, K2, V] | StoredDoubleMap[K, K2, V, V | None]:
        """Return the declaration on the class; raise AttributeError on a pallet whose release lacks it."""
        if pallet is None:
            return self
        raise self.absent(pallet)

    def bind(self, pallet: ItemOwner) -> StoredDoubleMap[K, K2, V, V | None]:
        """Return the double map of one pallet; None stands for a missing value."""
        return StoredDoubleMap(pallet, self.name, self.item, None)
