"""Codecs of SCALE, the chain's binary format, by the types in the metadata."""

from __future__ import annotations

from cfnode.core.scale.compact import decode_compact, encode_compact
from cfnode.core.scale.cursor import ByteCursor
from cfnode.core.scale.errors import NotInMetadataError, ScaleError
from cfnode.core.scale.registry import Codec, PythonForm, TypeRegistry
from cfnode.core.scale.shapes import Some
from cfnode.core.scale.types import (
    Array,
    BitSequence,
    Compact,
    Composite,
    Definition,
    Field,
    PortableType,
    Primitive,
    Sequence,
    Tuple,
    TypeParam,
    Variant,
    Variants,
)

__all__ = [
    "Array",
    "BitSequence",
    "ByteCursor",
    "Codec",
    "Compact",
    "Composite",
    "Definition",
    "Field",
    "NotInMetadataError",
    "PortableType",
    "Primitive",
    "PythonForm",
    "ScaleError",
    "Sequence",
    "Some",
    "Tuple",
    "TypeParam",
    "TypeRegistry",
    "Variant",
    "Variants",
    "decode_compact",
    "encode_compact",
]
