"""Storage items and runtime API methods with the codecs of their keys, values, arguments and results."""

from __future__ import annotations

from typing import Any

from cfnode.core.hashing import STORAGE_HASHERS, twox_128
from cfnode.core.scale.errors import ScaleError
from cfnode.core.scale.metadata.tables import ApiMethod, MapKind, StorageEntry
from cfnode.core.scale.registry import Codec, TypeRegistry
from cfnode.core.scale.types import Tuple

__all__ = ["ApiFunction", "StorageItem"]


class StorageItem:
    """A storage item of a pallet.

    `prefix` are the 32 bytes with which all its keys begin; `keys` the codecs of the parts of a map's key,
    none for a plain value; `value` the codec of what is stored.
    """

    __slots__ = ("_hashers", "entry", "keys", "pallet", "prefix", "value")

    def __init__(self, registry: TypeRegistry, pallet: str, storage_prefix: str, entry: StorageEntry) -> None:
        self.pallet = pallet
        self.entry = entry
        self.prefix = twox_128(storage_prefix.encode()) + twox_128(entry.name.encode())
        self.value = registry.codec(entry.kind.value)
        names = entry.kind.hashers if isinstance(entry.kind, MapKind) else ()
        self._hashers = tuple(STORAGE_HASHERS[name] for name in names)
        self.keys = tuple(registry.codec(part) for part in _key_parts(registry, entry))

    def __repr__(self) -> str:
        """Return the item's pallet and name, without its codecs."""
        return f"StorageItem({self.pallet}.{self.entry.name})"

    def key(self, *keys: Any) -> bytes:
        """Return the storage key of these map keys; raise ScaleError.

        With fewer keys than the map has, it is the common prefix of all matching keys.
        """
        if len(keys) > len(self.keys):
            raise ScaleError(f"{self!r} has {len(self.keys)} keys, not {len(keys)}")
        parts = zip(self._hashers, self.keys, keys, strict=False)
        return self.prefix + b"".join(hasher.hash(codec.encode(key)) for hasher, codec, key in parts)

    def decode_key(self, storage_key: bytes) -> tuple[Any, ...]:
        """Return the map keys in a complete storage key; None for a key of which it has only the hash.

        Raises ScaleError.
        """
        if not storage_key.startswith(self.prefix):
            raise ScaleError(f"the storage key is not one of {self!r}")
        offset = len(self.prefix)
        keys = []
        for hasher, codec in zip(self._hashers, self.keys, strict=True):
            offset += hasher.length
            key = None
            if hasher.concat:
                key, offset = codec.decode_from(storage_key, offset)
            keys.append(key)
        if offset != len(storage_key):
            raise ScaleError(f"the storage key has the wrong length for {self!r}")
        return tuple(keys)

    def decode(self, stored: bytes | None) -> Any:
        """Return the value in storage; for an absent one the default, or None if the item is optional."""
        if stored is not None:
            return self.value.decode(stored)
        return None if self.entry.modifier == "Optional" else self.value.decode(self.entry.default)


def _key_parts(registry: TypeRegistry, entry: StorageEntry) -> tuple[int, ...]:
    if not isinstance(entry.kind, MapKind):
        return ()
    if len(entry.kind.hashers) == 1:
        return (entry.kind.key,)
    match registry.type(entry.kind.key).definition:
        case Tuple(parts) if len(parts) == len(entry.kind.hashers):
            return parts
    raise ScaleError(f"the key of {entry.name} is not a tuple of {len(entry.kind.hashers)} parts")


class ApiFunction:
    """A runtime API method in the form in which it is called: `function` is the entry point's name."""

    __slots__ = ("_inputs", "function", "method", "output")

    def __init__(self, registry: TypeRegistry, function: str, method: ApiMethod) -> None:
        self.function = function
        self.method = method
        self._inputs = tuple((parameter.name, registry.codec(parameter.type)) for parameter in method.inputs)
        self.output: Codec = registry.codec(method.output)

    def __repr__(self) -> str:
        """Return the name of the entry point, without its codecs."""
        return f"ApiFunction({self.function})"

    @property
    def inputs(self) -> tuple[tuple[str, Codec], ...]:
        """Names and codecs of the parameters."""
        return self._inputs

    def encode_args(self, *values: Any) -> bytes:
        """Return the SCALE arguments, in the order of the parameters; raise ScaleError."""
        if len(values) != len(self._inputs):
            names = ", ".join(name for name, _ in self._inputs)
            raise ScaleError(f"{self.function} takes {len(self._inputs)} values ({names}), not {len(values)}")
        return b"".join(codec.encode(value) for (_, codec), value in zip(self._inputs, values, strict=True))

    def decode_args(self, data: bytes) -> tuple[Any, ...]:
        """Return the values of SCALE arguments, decoded as by the runtime; raise ScaleError."""
        values = []
        offset = 0
        for _, codec in self._inputs:
            value, offset = codec.decode_from(data, offset)
            values.append(value)
        if offset != len(data):
            raise ScaleError(f"{len(data) - offset} bytes follow the arguments of {self.function}")
        return tuple(values)

    def decode(self, output: bytes) -> Any:
        """Return the value of a call's SCALE result."""
        return self.output.decode(output)
