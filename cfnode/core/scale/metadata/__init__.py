"""Runtime metadata (V14, V15): decoded to frozen tables, encoded from them, looked up by name."""

from __future__ import annotations

from cfnode.core.scale.metadata.bound import ApiFunction, StorageItem
from cfnode.core.scale.metadata.coding import decode_metadata, encode_metadata
from cfnode.core.scale.metadata.model import Metadata
from cfnode.core.scale.metadata.tables import (
    ApiMethod,
    CustomValue,
    ExtrinsicFormat,
    MapKind,
    MethodInput,
    OuterEnums,
    PalletConstant,
    PalletMetadata,
    PlainKind,
    RuntimeApiMetadata,
    StorageEntry,
    StoragePallet,
    TransactionExtension,
)

__all__ = [
    "ApiFunction",
    "ApiMethod",
    "CustomValue",
    "ExtrinsicFormat",
    "MapKind",
    "Metadata",
    "MethodInput",
    "OuterEnums",
    "PalletConstant",
    "PalletMetadata",
    "PlainKind",
    "RuntimeApiMetadata",
    "StorageEntry",
    "StorageItem",
    "StoragePallet",
    "TransactionExtension",
    "decode_metadata",
    "encode_metadata",
]
