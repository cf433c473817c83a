"""Tables of runtime metadata: pallets, storage, extrinsics and runtime APIs.

They are the tables of V14 and V15 as frozen values (frame-metadata, `v14.rs` and `v15.rs`). Every `type`,
`key`, `calls` … is a type id. Parts that V14 lacks are empty, or derived from its types.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "ApiMethod",
    "CustomValue",
    "ExtrinsicFormat",
    "MapKind",
    "MethodInput",
    "OuterEnums",
    "PalletConstant",
    "PalletMetadata",
    "PlainKind",
    "RuntimeApiMetadata",
    "StorageEntry",
    "StoragePallet",
    "TransactionExtension",
]


@dataclass(frozen=True, slots=True)
class PlainKind:
    """A single value."""

    value: int


@dataclass(frozen=True, slots=True)
class MapKind:
    """A map; with several hashers `key` is a tuple, one part for each. `STORAGE_HASHERS` has their names."""

    hashers: tuple[str, ...]
    key: int
    value: int


@dataclass(frozen=True, slots=True)
class StorageEntry:
    """A storage item. `modifier` is Optional, Default or Required; `default` is SCALE."""

    name: str
    modifier: str
    kind: PlainKind | MapKind
    default: bytes
    docs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoragePallet:
    """The storage of a pallet; its keys begin with twox_128(prefix)."""

    prefix: str
    entries: tuple[StorageEntry, ...]


@dataclass(frozen=True, slots=True)
class PalletConstant:
    """A constant; `value` is SCALE."""

    name: str
    type: int
    value: bytes
    docs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PalletMetadata:
    """A pallet; `calls`, `events` and `errors` are the ids of its enums, None where it has none."""

    name: str
    storage: StoragePallet | None
    calls: int | None
    events: int | None
    constants: tuple[PalletConstant, ...]
    errors: int | None
    index: int
    docs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TransactionExtension:
    """A signed extension: `type` is part of the extrinsic, `additional` only of the signed payload."""

    identifier: str
    type: int
    additional: int


@dataclass(frozen=True, slots=True)
class ExtrinsicFormat:
    """The parts of an extrinsic.

    `type` is the whole UncheckedExtrinsic; V15 has it only if another type uses it.
    """

    version: int
    address: int
    call: int
    signature: int
    extra: int
    extensions: tuple[TransactionExtension, ...]
    type: int | None = None


@dataclass(frozen=True, slots=True)
class MethodInput:
    """A parameter of a runtime API method."""

    name: str
    type: int


@dataclass(frozen=True, slots=True)
class ApiMethod:
    """A method of a runtime API."""

    name: str
    inputs: tuple[MethodInput, ...]
    output: int
    docs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuntimeApiMetadata:
    """A runtime API; its methods are entry points named `Api_method`."""

    name: str
    methods: tuple[ApiMethod, ...]
    docs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OuterEnums:
    """The types RuntimeCall, RuntimeEvent and RuntimeError."""

    call: int
    event: int
    error: int


@dataclass(frozen=True, slots=True)
class CustomValue:
    """A value that the runtime adds under a name of its own; `value` is SCALE."""

    name: str
    type: int
    value: bytes
