"""Codecs of SCALE, the chain's binary format, by the types in the metadata."""

from __future__ import annotations

from cfnode.core.scale.compact import decode_compact, encode_compact
from cfnode.core.scale.cursor import Cursor
from cfnode.core.scale.errors import NotInMetadataError, ScaleError
from cfnode.core.scale.registry import Codec, PythonForm, Registry
from cfnode.core.scale.shapes import Some
from cfnode.core.scale.types import (
    Array,
    BitSequence,
    Compact,
    Composite,
    Definition,
    Field,
    Param,
    PortableType,
    Primitive,
    Sequence,
    Tuple,
    Variant,
    Variants,
)

__all__ = [
    "Array",
    "BitSequence",
    "Codec",
    "Compact",
    "Composite",
    "Cursor",
    "Definition",
    "Field",
    "NotInMetadataError",
    "Param",
    "PortableType",
    "Primitive",
    "PythonForm",
    "Registry",
    "ScaleError",
    "Sequence",
    "Some",
    "Tuple",
    "Variant",
    "Variants",
    "decode_compact",
    "encode_compact",
]
