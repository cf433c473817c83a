"""Decoding and encoding of runtime metadata, the bytes of `state_getMetadata`.

The bytes begin with `meta` and a version byte; versions 14 and 15 are supported.
"""

from __future__ import annotations

from cfnode.core.scale.errors import NotInMetadataError, ScaleError
from cfnode.core.scale.metadata import layout
from cfnode.core.scale.metadata.model import Metadata
from cfnode.core.scale.metadata.tables import ExtrinsicFormat, OuterEnums
from cfnode.core.scale.registry import TypeRegistry

__all__ = ["decode_metadata", "encode_metadata"]

_MAGIC = b"meta"
_LAYOUTS = {14: layout.V14, 15: layout.V15}


def decode_metadata(data: bytes) -> Metadata:
    """Decode metadata V14 or V15 in exactly these bytes; raise ScaleError.

    650 kB take about 50 ms: do not call it in an event loop.
    """
    data = bytes(data)
    if data[:4] != _MAGIC or len(data) < 5:
        raise ScaleError("metadata begins with the four bytes 'meta' and a version")
    version = data[4]
    if version not in _LAYOUTS:
        raise ScaleError(f"metadata version {version} is not known: 14 and 15 are")
    raw, end = _LAYOUTS[version].decode(data, 5, 0)
    if end != len(data):
        raise ScaleError(f"{len(data) - end} bytes follow the metadata, which ends at offset {end}")
    return _from_v14(raw) if version == 14 else _from_v15(raw)


def encode_metadata(metadata: Metadata) -> bytes:
    """Return the metadata as bytes of `metadata.version`, beginning with `meta`; raise ScaleError."""
    if metadata.version not in _LAYOUTS:
        raise ScaleError(f"metadata version {metadata.version} is not known: 14 and 15 are")
    encoded = bytearray(_MAGIC)
    encoded.append(metadata.version)
    raw = _to_v14(metadata) if metadata.version == 14 else _to_v15(metadata)
    _LAYOUTS[metadata.version].encode(raw, encoded, 0)
    return bytes(encoded)


def _from_v15(raw: layout.RawV15) -> Metadata:
    registry = TypeRegistry(raw.types)
    source = raw.extrinsic
    extrinsic = ExtrinsicFormat(
        source.version,
        source.address,
        source.call,
        source.signature,
        source.extra,
        source.extensions,
        _id_of(registry, "UncheckedExtrinsic"),
    )
    return Metadata(
        15, registry, raw.pallets, extrinsic, raw.runtime_type, raw.apis, raw.outer_enums, raw.custom
    )


def _from_v14(raw: layout.RawV14) -> Metadata:
    registry = TypeRegistry(raw.types)
    source = raw.extrinsic
    parts = {param.name: param.type for param in registry.type(source.type).params}
    try:
        address, call, signature, extra = (parts[name] for name in ("Address", "Call", "Signature", "Extra"))
    except KeyError as missing:
        raise ScaleError(f"the extrinsic type {source.type} has no parameter {missing}") from None
    if None in (address, call, signature, extra):
        raise ScaleError(f"the extrinsic type {source.type} leaves a parameter open")
    extrinsic = ExtrinsicFormat(
        source.version,
        address,  # type: ignore[arg-type]
        call,  # type: ignore[arg-type]
        signature,  # type: ignore[arg-type]
        extra,  # type: ignore[arg-type]
        source.extensions,
        source.type,
    )
    return Metadata(
        14, registry, raw.pallets, extrinsic, raw.runtime_type, outer_enums=_outer_enums(registry, extrinsic)
    )


def _outer_enums(registry: TypeRegistry, extrinsic: ExtrinsicFormat) -> OuterEnums | None:
    event, error = _id_of(registry, "RuntimeEvent"), _id_of(registry, "RuntimeError")
    if event is None or error is None:
        return None
    return OuterEnums(extrinsic.call, event, error)


def _id_of(registry: TypeRegistry, name: str) -> int | None:
    try:
        return registry.find(name).id
    except NotInMetadataError:
        return None


def _to_v14(metadata: Metadata) -> layout.RawV14:
    extrinsic = metadata.extrinsic
    if extrinsic.type is None:
        raise ScaleError("metadata V14 needs the type of the whole extrinsic (extrinsic.type)")
    raw = layout.RawExtrinsicV14(extrinsic.type, extrinsic.version, extrinsic.extensions)
    return layout.RawV14(metadata.registry.types, metadata.pallets, raw, metadata.runtime_type)


def _to_v15(metadata: Metadata) -> layout.RawV15:
    extrinsic = metadata.extrinsic
    if metadata.outer_enums is None:
        raise ScaleError("metadata V15 needs the outer enums")
    raw = layout.RawExtrinsicV15(
        extrinsic.version,
        extrinsic.address,
        extrinsic.call,
        extrinsic.signature,
        extrinsic.extra,
        extrinsic.extensions,
    )
    return layout.RawV15(
        metadata.registry.types,
        metadata.pallets,
        raw,
        metadata.runtime_type,
        metadata.apis,
        metadata.outer_enums,
        metadata.custom,
    )
