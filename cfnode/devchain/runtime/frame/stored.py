"""Storage items bound to a pallet: the reads and writes of values, maps and double maps.

Keys are FRAME's: twox128(pallet) ‖ twox128(item) ‖ hashed map keys (Polkadot spec, "Storage map keys"). The
declaration of an item is in `storage`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Generic, TypeVar

from cfnode.core.bounded import BoundedDict
from cfnode.core.hashing import STORAGE_HASHERS, StorageHasher, twox_128
from cfnode.core.scale import Codec

from .item import UNSET, Decoder, Item, Owner, Unset

__all__ = ["Stored", "StoredDoubleMap", "StoredMap", "StoredValue"]

K = TypeVar("K")
K2 = TypeVar("K2")
V = TypeVar("V")
T = TypeVar("T")
G = TypeVar("G")  # the type that a read returns: the value, or None too if the item is optional

_NAMES_BYTES = 32  # bytes of the two names at the head of a storage key
_PLAIN = frozenset({bytes, str, int})  # classes of map keys of which equal ones have the same encoding
_MAX_KEYS = 256  # storage keys that one map keeps


class Stored:
    """A storage item of one pallet of one runtime: keys, codec, and the raw bytes."""

    def __init__(self, pallet: Owner, name: str, item: Item) -> None:
        self._pallet = pallet
        self._runtime = pallet.runtime
        self.item = item
        self.name = name
        self.prefix = twox_128(pallet.name.encode()) + twox_128(name.encode())
        self._keys = BoundedDict[tuple[object, ...], bytes](_MAX_KEYS)
        self._kept = pallet.runtime.kept

    @cached_property
    def codec(self) -> Codec:
        """The codec of the values."""
        return self._pallet.codec(self.item.value)

    @cached_property
    def default_bytes(self) -> bytes:
        """The encoded value of an item that is not stored; one zero byte (None) for an optional item."""
        if self.item.optional:
            return b"\0"
        default = self.item.default
        if default is not UNSET:
            return self.codec.encode(default(self._runtime) if callable(default) else default)
        return self._runtime.types.zero(self._pallet.type_id(self.item.value))

    def _delete(self, key: bytes) -> None:
        """Delete the value under `key`. Without a value there is no write, which costs the trie nothing."""
        if self._runtime.host.get(key) is not None:
            self._runtime.host.delete(key)

    def _walk(self, prefix: bytes) -> Iterator[bytes]:
        """Yield the storage keys under a prefix, in storage order. The caller may delete a yielded key."""
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

    def _key(self, *keys: object) -> bytes:
        """Return the storage key of some map keys; it is kept if they are plain bytes, text or numbers."""
        for key in keys:
            if type(key) not in _PLAIN:
                return self._hashed(keys)
        hashed = self._keys.get(keys)
        if hashed is None:
            hashed = self._keys[keys] = self._hashed(keys)
        return hashed

    def _hashed(self, keys: tuple[object, ...]) -> bytes:
        hashed = self.prefix
        for (hasher, codec), key in zip(self._hashers, keys, strict=False):
            hashed += hasher.hash(codec.encode(key))
        return hashed

    # All hashers of the chain append the key to its hash.

    def _first_key(self, decoder: Decoder[T], key: bytes) -> tuple[T, int]:
        """Decode the first map key inside a storage key, and return it and the offset after it."""
        return decoder.decode_from(key, _NAMES_BYTES + self._hashers[0][0].length)

    def _second_key(self, decoder: Decoder[T], key: bytes, offset: int) -> T:
        """Decode the second map key inside a storage key; `offset` is the end of the first."""
        return decoder.decode_from(key, offset + self._hashers[1][0].length)[0]

    def take_over(self, pallet: str, item: str, skipped: int = 0) -> None:
        """Move the entries of an item of another pallet here; its keys begin with `skipped` bytes more."""
        old, host = twox_128(pallet.encode()) + twox_128(item.encode()), self._runtime.host
        for key in list(self._walk(old)):
            host.set(self.prefix + key[_NAMES_BYTES + skipped :], host.get(key) or b"")
            host.delete(key)


class _Typed(Stored, Generic[V, G]):
    """The reads and writes of values.

    `absent` is the value of an optional item where nothing is stored.
    """

    def __init__(self, pallet: Owner, name: str, item: Item, absent: G | Unset = UNSET) -> None:
        super().__init__(pallet, name, item)
        self._absent = absent

    @cached_property
    def _reads_back(self) -> bool:
        """Whether a decoded value is the same as the one that was encoded, so that a write keeps it."""
        return self._runtime.types.reads_back(self._pallet.type_id(self.item.value))

    def _get(self, key: bytes) -> G:
        raw = self._runtime.host.get(key)
        if raw is None:
            if not isinstance(self._absent, Unset):
                return self._absent
            key, raw = self.prefix, self.default_bytes  # kept once for all keys of a map
        decoder: Decoder[G] = self.codec
        return self._kept.decoded(key, raw, decoder.decode)

    def _known(self, key: bytes, *keys: object) -> V:
        raw = self._runtime.host.get(key)
        if raw is None:
            if self.item.optional:
                raise KeyError(self.name, *keys)
            key, raw = self.prefix, self.default_bytes
        decoder: Decoder[V] = self.codec
        return self._kept.decoded(key, raw, decoder.decode)

    def _take(self, key: bytes) -> G:
        value = self._get(key)
        self._delete(key)
        return value

    def _put(self, key: bytes, value: V) -> None:
        encoded = self.codec.encode(value)
        self._runtime.host.set(key, encoded)
        if self._reads_back:
            self._kept.keep(key, encoded, value)

    def _mutate(self, key: bytes, change: Callable[[G], V]) -> V:
        value = change(self._get(key))
        self._put(key, value)
        return value


class StoredValue(_Typed[V, G], Generic[V, G]):
    """A `Value` on its pallet."""

    def get(self) -> G:
        """Return the value, or the default, or None if optional and absent."""
        return self._get(self.prefix)

    def known(self) -> V:
        """Return the value, or the default. Raises KeyError if optional and absent."""
        return self._known(self.prefix)

    def put(self, value: V) -> None:
        """Store a value."""
        self._put(self.prefix, value)

    def exists(self) -> bool:
        """Return whether a value is stored, be it the default."""
        return self._runtime.host.get(self.prefix) is not None

    def kill(self) -> None:
        """Delete the value."""
        self._delete(self.prefix)

    def take(self) -> G:
        """Delete the value, and return what `get` returned before."""
        return self._take(self.prefix)

    def mutate(self, change: Callable[[G], V]) -> V:
        """Store what `change` returns for the present value, and return this new value."""
        return self._mutate(self.prefix, change)


class StoredMap(_Typed[V, G], Generic[K, V, G]):
    """A `Map` on its pallet."""

    def _read_key(self, key: bytes) -> K:
        decoder: Decoder[K] = self._hashers[0][1]
        return self._first_key(decoder, key)[0]

    def get(self, key: K) -> G:
        """Return the value under `key`, or the default, or None if optional and absent."""
        return self._get(self._key(key))

    def known(self, key: K) -> V:
        """Return the value under `key`, or the default. Raises KeyError if optional and absent."""
        return self._known(self._key(key), key)

    def put(self, key: K, value: V) -> None:
        """Store a value under `key`."""
        self._put(self._key(key), value)

    def contains(self, key: K) -> bool:
        """Return whether a value is stored under `key`, be it the default."""
        return self._runtime.host.get(self._key(key)) is not None

    def remove(self, key: K) -> None:
        """Delete the value under `key`."""
        self._delete(self._key(key))

    def take(self, key: K) -> G:
        """Delete the value, and return what `get` returned before."""
        return self._take(self._key(key))

    def mutate(self, key: K, change: Callable[[G], V]) -> V:
        """Store what `change` returns for the present value, and return this new value."""
        return self._mutate(self._key(key), change)

    def keys(self) -> Iterator[K]:
        """Iterate over all keys, in storage order (the order of their hashes)."""
        return (self._read_key(key) for key in self._walk(self.prefix))

    def items(self) -> Iterator[tuple[K, V]]:
        """Iterate over all (key, value), in storage order."""
        return ((self._read_key(key), self._known(key)) for key in self._walk(self.prefix))

    def raw_items(self) -> Iterator[tuple[K, bytes]]:
        """Iterate over all (key, encoded value), in storage order, to read only a part of large values."""
        for key in self._walk(self.prefix):
            yield self._read_key(key), self._runtime.host.get(key) or b""

    def keys_where(self, test: Callable[[bytes], bool]) -> Iterator[K]:
        """Iterate over the keys whose encoded value passes a test, in storage order.

        The answer is kept with the encoded value: one map has one test.
        """
        for key in self._walk(self.prefix):
            encoded = self._runtime.host.get(key) or b""
            if self._kept.decoded((key, "test"), encoded, test):
                yield self._read_key(key)

    def clear(self) -> int:
        """Remove every entry, and return how many there were."""
        return self._clear(self.prefix)


class StoredDoubleMap(_Typed[V, G], Generic[K, K2, V, G]):
    """A `DoubleMap` on its pallet."""

    def _read_keys(self, key: bytes) -> tuple[K, K2]:
        (_, codec1), (_, codec2) = self._hashers
        first: Decoder[K] = codec1
        second: Decoder[K2] = codec2
        key1, offset = self._first_key(first, key)
        return key1, self._second_key(second, key, offset)

    def get(self, key1: K, key2: K2) -> G:
        """Return the value under both keys, or the default, or None if optional and absent."""
        return self._get(self._key(key1, key2))

    def known(self, key1: K, key2: K2) -> V:
        """Return the value under both keys, or the default. Raises KeyError if optional and absent."""
        return self._known(self._key(key1, key2), key1, key2)

    def put(self, key1: K, key2: K2, value: V) -> None:
        """Store a value under both keys."""
        self._put(self._key(key1, key2), value)

    def contains(self, key1: K, key2: K2) -> bool:
        """Return whether a value is stored under both keys, be it the default."""
        return self._runtime.host.get(self._key(key1, key2)) is not None

    def remove(self, key1: K, key2: K2) -> None:
        """Delete the value under both keys."""
        self._delete(self._key(key1, key2))

    def take(self, key1: K, key2: K2) -> G:
        """Delete the value, and return what `get` returned before."""
        return self._take(self._key(key1, key2))

    def mutate(self, key1: K, key2: K2, change: Callable[[G], V]) -> V:
        """Store what `change` returns for the present value, and return this new value."""
        return self._mutate(self._key(key1, key2), change)

    def items(self, key1: K) -> Iterator[tuple[K2, V]]:
        """Iterate over all (second key, value) of one first key, in storage order."""
        return ((self._read_keys(key)[1], self._known(key)) for key in self._walk(self._key(key1)))

    def all(self) -> Iterator[tuple[K, K2, V]]:
        """Iterate over all (first key, second key, value), in storage order."""
        return ((*self._read_keys(key), self._known(key)) for key in self._walk(self.prefix))

    def clear(self, key1: K) -> int:
        """Remove every entry of one first key, and return how many there were."""
        return self._clear(self._key(key1))
