"""Where does a pallet keep what it knows?

    class Funding(Pallet):
        MinimumFunding = Value("u128")                                          # absent reads as zero
        BoundExecutorAddress = Map("Blake2_128Concat", "AccountId32", "H160", optional=True)
        AuthorityIndex = DoubleMap("Twox64Concat", "u32", "Blake2_128Concat", "AccountId32", "u32")

Read and written on the pallet: `self.MinimumFunding.get()`, `self.BoundExecutorAddress.put(who, address)`.
An item that is not `optional` reads as its default where nothing is stored: the type's zero, or `default`
(which may be a function of the composition).
Keys are FRAME's: twox128(pallet) ‖ twox128(item) ‖ hashed map keys (Polkadot spec, "Storage map keys").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from cfnode.core.hashing import STORAGE_HASHERS, StorageHasher, twox_128
from cfnode.core.scale import Codec

from .span import ALWAYS, Span

if TYPE_CHECKING:
    from .pallet import Pallet

_UNSET: Any = object()
_NAMES = 32  # bytes of the two names at the head of a storage key


@dataclass(frozen=True, slots=True)
class Item:
    """What a declaration says about one storage item; `hashers` and `keys` are empty for a plain value."""

    hashers: tuple[str, ...]
    keys: tuple[str, ...]
    value: str
    optional: bool
    default: Any
    span: Span

    @property
    def key(self) -> str:
        """The expression of the key: a tuple if there are several hashers."""
        return self.keys[0] if len(self.keys) == 1 else f"({', '.join(self.keys)})"


class Declared:
    """Base of the three declarations: finds its name, and its bound form on a pallet."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.name = ""

    def __set_name__(self, owner: type[Pallet], name: str) -> None:
        self.name = name

    def bind(self, pallet: Pallet) -> Stored:
        """The item as the pallet reads and writes it."""
        raise NotImplementedError

    def absent(self, pallet: Pallet) -> AttributeError:
        """The error of a pallet whose release does not have the item: those it has are bound to it."""
        return AttributeError(f"{pallet.name}.{self.name} is not in release {pallet.runtime.release.name}")


class Value(Declared):
    """One value. `default` is in the value mapping of core.scale; None with `optional` means absent."""

    def __init__(
        self, value: str, *, optional: bool = False, default: Any = _UNSET, span: Span = ALWAYS
    ) -> None:
        super().__init__(Item((), (), value, optional, default, span))

    @overload
    def __get__(self, pallet: None, owner: type[Pallet]) -> Value: ...
    @overload
    def __get__(self, pallet: Pallet, owner: type[Pallet]) -> StoredValue: ...
    def __get__(self, pallet: Pallet | None, owner: type[Pallet]) -> Value | StoredValue:
        if pallet is None:
            return self
        raise self.absent(pallet)

    def bind(self, pallet: Pallet) -> StoredValue:
        return StoredValue(pallet, self)


class Map(Declared):
    """Values by one key."""

    def __init__(
        self,
        hasher: str,
        key: str,
        value: str,
        *,
        optional: bool = False,
        default: Any = _UNSET,
        span: Span = ALWAYS,
    ) -> None:
        super().__init__(Item((hasher,), (key,), value, optional, default, span))

    @overload
    def __get__(self, pallet: None, owner: type[Pallet]) -> Map: ...
    @overload
    def __get__(self, pallet: Pallet, owner: type[Pallet]) -> StoredMap: ...
    def __get__(self, pallet: Pallet | None, owner: type[Pallet]) -> Map | StoredMap:
        if pallet is None:
            return self
        raise self.absent(pallet)

    def bind(self, pallet: Pallet) -> StoredMap:
        return StoredMap(pallet, self)


class DoubleMap(Declared):
    """Values by two keys; all values of one first key lie together."""

    def __init__(
        self,
        hasher1: str,
        key1: str,
        hasher2: str,
        key2: str,
        value: str,
        *,
        optional: bool = False,
        default: Any = _UNSET,
        span: Span = ALWAYS,
    ) -> None:
        super().__init__(Item((hasher1, hasher2), (key1, key2), value, optional, default, span))

    @overload
    def __get__(self, pallet: None, owner: type[Pallet]) -> DoubleMap: ...
    @overload
    def __get__(self, pallet: Pallet, owner: type[Pallet]) -> StoredDoubleMap: ...
    def __get__(self, pallet: Pallet | None, owner: type[Pallet]) -> DoubleMap | StoredDoubleMap:
        if pallet is None:
            return self
        raise self.absent(pallet)

    def bind(self, pallet: Pallet) -> StoredDoubleMap:
        return StoredDoubleMap(pallet, self)


class Stored:
    """A storage item of one pallet of one runtime: keys, codec, and the raw reads and writes."""

    def __init__(self, pallet: Pallet, declared: Declared) -> None:
        self._pallet = pallet
        self._runtime = pallet.runtime
        self.item = declared.item
        self.name = declared.name
        self.prefix = twox_128(pallet.name.encode()) + twox_128(declared.name.encode())

    @cached_property
    def codec(self) -> Codec:
        """The codec of the values."""
        return self._pallet.codec(self.item.value)

    @cached_property
    def default_bytes(self) -> bytes:
        """What an absent value reads as, encoded; one zero byte (None) for an optional item."""
        if self.item.optional:
            return b"\0"
        default = self.item.default
        if default is not _UNSET:
            return self.codec.encode(default(self._runtime) if callable(default) else default)
        return self._runtime.types.zero(self._pallet.type_id(self.item.value))

    def _get(self, key: bytes) -> Any:
        raw = self._runtime.host.get(key)
        if raw is not None:
            return self.codec.decode(raw)
        return None if self.item.optional else self.codec.decode(self.default_bytes)

    def _take(self, key: bytes) -> Any:
        value = self._get(key)
        self._delete(key)
        return value

    def _delete(self, key: bytes) -> None:
        """Store nothing under `key`. Where there is nothing, that is no write and costs the trie nothing."""
        if self._runtime.host.get(key) is not None:
            self._runtime.host.delete(key)

    def _put(self, key: bytes, value: Any) -> None:
        self._runtime.host.set(key, self.codec.encode(value))

    def _mutate(self, key: bytes, change: Callable[[Any], Any]) -> Any:
        value = change(self._get(key))
        self._put(key, value)
        return value

    def _walk(self, prefix: bytes) -> Iterator[bytes]:
        """Storage keys under a prefix, in storage order. Deleting what was yielded is allowed."""
        key = self._runtime.host.next_key(prefix)
        while key is not None and key.startswith(prefix):
            yield key
            key = self._runtime.host.next_key(key)

    def _clear(self, prefix: bytes) -> int:
        count = 0
        for key in self._walk(prefix):
            self._runtime.host.delete(key)
            count += 1
        return count

    @cached_property
    def _hashers(self) -> list[tuple[StorageHasher, Codec]]:
        pairs = zip(self.item.hashers, self.item.keys, strict=True)
        return [(STORAGE_HASHERS[hasher], self._pallet.codec(key)) for hasher, key in pairs]

    def _key(self, *keys: Any) -> bytes:
        return self.prefix + b"".join(
            hasher.hash(codec.encode(key)) for (hasher, codec), key in zip(self._hashers, keys, strict=False)
        )

    def _read_keys(self, key: bytes) -> tuple[Any, ...]:
        """The map keys inside a storage key; all hashers used by the chain keep the key they hash."""
        offset, found = _NAMES, []
        for hasher, codec in self._hashers:
            value, offset = codec.decode_from(key, offset + hasher.length)
            found.append(value)
        return tuple(found)

    def take_over(self, pallet: str, item: str, skipped: int = 0) -> None:
        """Move the entries of an item of another pallet here; its keys begin with `skipped` bytes more."""
        old, host = twox_128(pallet.encode()) + twox_128(item.encode()), self._runtime.host
        for key in list(self._walk(old)):
            host.set(self.prefix + key[_NAMES + skipped :], host.get(key) or b"")
            host.delete(key)


class StoredValue(Stored):
    """A `Value` on its pallet."""

    def get(self) -> Any:
        """The value, or the default, or None if optional and absent."""
        return self._get(self.prefix)

    def put(self, value: Any) -> None:
        """Store a value."""
        self._put(self.prefix, value)

    def exists(self) -> bool:
        """Whether anything is stored, be it the default."""
        return self._runtime.host.get(self.prefix) is not None

    def kill(self) -> None:
        """Store nothing any more."""
        self._delete(self.prefix)

    def take(self) -> Any:
        """The value as `get` gives it; afterwards it is gone."""
        return self._take(self.prefix)

    def mutate(self, change: Callable[[Any], Any]) -> Any:
        """Store what `change` returns for the present value; returns the new value."""
        return self._mutate(self.prefix, change)


class StoredMap(Stored):
    """A `Map` on its pallet."""

    def get(self, key: Any) -> Any:
        """The value under `key`, or the default, or None if optional and absent."""
        return self._get(self._key(key))

    def put(self, key: Any, value: Any) -> None:
        """Store a value under `key`."""
        self._put(self._key(key), value)

    def contains(self, key: Any) -> bool:
        """Whether anything is stored under `key`, be it the default."""
        return self._runtime.host.get(self._key(key)) is not None

    def remove(self, key: Any) -> None:
        """Store nothing under `key` any more."""
        self._delete(self._key(key))

    def take(self, key: Any) -> Any:
        """The value as `get` gives it; afterwards it is gone."""
        return self._take(self._key(key))

    def mutate(self, key: Any, change: Callable[[Any], Any]) -> Any:
        """Store what `change` returns for the present value; returns the new value."""
        return self._mutate(self._key(key), change)

    def keys(self) -> Iterator[Any]:
        """All keys, in storage order (the order of their hashes)."""
        return (self._read_keys(key)[0] for key in self._walk(self.prefix))

    def items(self) -> Iterator[tuple[Any, Any]]:
        """All (key, value), in storage order."""
        return ((self._read_keys(key)[0], self._get(key)) for key in self._walk(self.prefix))

    def raw_items(self) -> Iterator[tuple[Any, bytes]]:
        """All (key, encoded value), in storage order; for who looks at a part of large values only."""
        for key in self._walk(self.prefix):
            yield self._read_keys(key)[0], self._runtime.host.get(key) or b""

    def clear(self) -> int:
        """Remove every entry; returns how many there were."""
        return self._clear(self.prefix)


class StoredDoubleMap(Stored):
    """A `DoubleMap` on its pallet."""

    def get(self, key1: Any, key2: Any) -> Any:
        """The value under both keys, or the default, or None if optional and absent."""
        return self._get(self._key(key1, key2))

    def put(self, key1: Any, key2: Any, value: Any) -> None:
        """Store a value under both keys."""
        self._put(self._key(key1, key2), value)

    def contains(self, key1: Any, key2: Any) -> bool:
        """Whether anything is stored under both keys, be it the default."""
        return self._runtime.host.get(self._key(key1, key2)) is not None

    def remove(self, key1: Any, key2: Any) -> None:
        """Store nothing under both keys any more."""
        self._delete(self._key(key1, key2))

    def take(self, key1: Any, key2: Any) -> Any:
        """The value as `get` gives it; afterwards it is gone."""
        return self._take(self._key(key1, key2))

    def mutate(self, key1: Any, key2: Any, change: Callable[[Any], Any]) -> Any:
        """Store what `change` returns for the present value; returns the new value."""
        return self._mutate(self._key(key1, key2), change)

    def items(self, key1: Any) -> Iterator[tuple[Any, Any]]:
        """All (second key, value) of one first key, in storage order."""
        return ((self._read_keys(key)[1], self._get(key)) for key in self._walk(self._key(key1)))

    def all(self) -> Iterator[tuple[Any, Any, Any]]:
        """All (first key, second key, value), in storage order."""
        return ((*self._read_keys(key), self._get(key)) for key in self._walk(self.prefix))

    def clear(self, key1: Any) -> int:
        """Remove every entry of one first key; returns how many there were."""
        return self._clear(self._key(key1))
