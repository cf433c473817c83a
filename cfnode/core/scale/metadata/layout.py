"""SCALE layouts of metadata V14 and V15.

They are those of frame-metadata's `RuntimeMetadataPrefixed` and of scale-info's portable registry, written
down once: reading and writing both come from these tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cfnode.core.hashing import STORAGE_HASHERS
from cfnode.core.scale import types as scale_types
from cfnode.core.scale.enums import names, union
from cfnode.core.scale.kind import Kind
from cfnode.core.scale.metadata import tables
from cfnode.core.scale.primitives import BYTES, TEXT, compact, integer
from cfnode.core.scale.shapes import option, record, sequence

__all__ = ["V14", "V15", "RawExtrinsicV14", "RawExtrinsicV15", "RawV14", "RawV15"]

_U8 = integer(8, signed=False)
_U32 = integer(32, signed=False)
_TYPE = compact(32)


def _list(item: Kind) -> Kind:
    return sequence(item, as_tuple=True)


_DOCS = _list(TEXT)
_FIELD = record(scale_types.Field, name=option(TEXT), type=_TYPE, type_name=option(TEXT), docs=_DOCS)
_VARIANT = record(scale_types.Variant, name=TEXT, fields=_list(_FIELD), index=_U8, docs=_DOCS)
_DEFINITION = union(
    [
        (0, scale_types.Composite, record(scale_types.Composite, fields=_list(_FIELD))),
        (1, scale_types.Variants, record(scale_types.Variants, variants=_list(_VARIANT))),
        (2, scale_types.Sequence, record(scale_types.Sequence, type=_TYPE)),
        (3, scale_types.Array, record(scale_types.Array, length=_U32, type=_TYPE)),
        (4, scale_types.Tuple, record(scale_types.Tuple, types=_list(_TYPE))),
        (5, scale_types.Primitive, record(scale_types.Primitive, name=names(scale_types.PRIMITIVES))),
        (6, scale_types.Compact, record(scale_types.Compact, type=_TYPE)),
        (7, scale_types.BitSequence, record(scale_types.BitSequence, store=_TYPE, order=_TYPE)),
    ]
)
_PARAM = record(scale_types.TypeParam, name=TEXT, type=option(_TYPE))
_PORTABLE_TYPE = record(
    scale_types.PortableType,
    id=_TYPE,
    path=_list(TEXT),
    params=_list(_PARAM),
    definition=_DEFINITION,
    docs=_DOCS,
)
_TYPES = _list(_PORTABLE_TYPE)

_STORAGE_KIND = union(
    [
        (0, tables.PlainKind, record(tables.PlainKind, value=_TYPE)),
        (
            1,
            tables.MapKind,
            record(tables.MapKind, hashers=_list(names(tuple(STORAGE_HASHERS))), key=_TYPE, value=_TYPE),
        ),
    ]
)
_STORAGE_ENTRY = record(
    tables.StorageEntry,
    name=TEXT,
    modifier=names(("Optional", "Default", "Required")),
    kind=_STORAGE_KIND,
    default=BYTES,
    docs=_DOCS,
)
_STORAGE = record(tables.StoragePallet, prefix=TEXT, entries=_list(_STORAGE_ENTRY))
_CONSTANT = record(tables.PalletConstant, name=TEXT, type=_TYPE, value=BYTES, docs=_DOCS)
_PALLET_FIELDS = {
    "name": TEXT,
    "storage": option(_STORAGE),
    "calls": option(_TYPE),
    "events": option(_TYPE),
    "constants": _list(_CONSTANT),
    "errors": option(_TYPE),
    "index": _U8,
}
_EXTENSION = record(tables.TransactionExtension, identifier=TEXT, type=_TYPE, additional=_TYPE)
_METHOD = record(
    tables.ApiMethod,
    name=TEXT,
    inputs=_list(record(tables.MethodInput, name=TEXT, type=_TYPE)),
    output=_TYPE,
    docs=_DOCS,
)
_API = record(tables.RuntimeApiMetadata, name=TEXT, methods=_list(_METHOD), docs=_DOCS)
_OUTER_ENUMS = record(tables.OuterEnums, call=_TYPE, event=_TYPE, error=_TYPE)
_CUSTOM = record(tables.CustomValue, name=TEXT, type=_TYPE, value=BYTES)


@dataclass(frozen=True, slots=True)
class RawExtrinsicV14:
    """The extrinsic in V14: its parts are the parameters of its type."""

    type: int
    version: int
    extensions: tuple[tables.TransactionExtension, ...]


@dataclass(frozen=True, slots=True)
class RawExtrinsicV15:
    """The extrinsic in V15: its parts, without the whole type."""

    version: int
    address: int
    call: int
    signature: int
    extra: int
    extensions: tuple[tables.TransactionExtension, ...]


@dataclass(frozen=True, slots=True)
class RawV14:
    """The content of metadata V14 after the version byte."""

    types: tuple[scale_types.PortableType, ...]
    pallets: tuple[tables.PalletMetadata, ...]
    extrinsic: RawExtrinsicV14
    runtime_type: int


@dataclass(frozen=True, slots=True)
class RawV15:
    """The content of metadata V15 after the version byte."""

    types: tuple[scale_types.PortableType, ...]
    pallets: tuple[tables.PalletMetadata, ...]
    extrinsic: RawExtrinsicV15
    runtime_type: int
    apis: tuple[tables.RuntimeApiMetadata, ...]
    outer_enums: tables.OuterEnums
    custom: tuple[tables.CustomValue, ...]


def _extrinsic(make: Any, *parts: str) -> Kind:
    return record(
        make, **{part: _U8 if part == "version" else _TYPE for part in parts}, extensions=_list(_EXTENSION)
    )


V14 = record(
    RawV14,
    types=_TYPES,
    pallets=_list(record(tables.PalletMetadata, **_PALLET_FIELDS)),
    extrinsic=_extrinsic(RawExtrinsicV14, "type", "version"),
    runtime_type=_TYPE,
)
V15 = record(
    RawV15,
    types=_TYPES,
    pallets=_list(record(tables.PalletMetadata, **_PALLET_FIELDS, docs=_DOCS)),
    extrinsic=_extrinsic(RawExtrinsicV15, "version", "address", "call", "signature", "extra"),
    runtime_type=_TYPE,
    apis=_list(_API),
    outer_enums=_OUTER_ENUMS,
    custom=_list(_CUSTOM),
)
