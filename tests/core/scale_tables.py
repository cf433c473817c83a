"""A small metadata made by hand, with every kind of type and of table row."""

from __future__ import annotations

from typing import Any

from cfnode.core.scale import (
    Array,
    BitSequence,
    Codec,
    Compact,
    Composite,
    Definition,
    Field,
    PortableType,
    Primitive,
    Sequence,
    Tuple,
    TypeParam,
    TypeRegistry,
    Variant,
    Variants,
)
from cfnode.core.scale.metadata import (
    ApiMethod,
    CustomValue,
    ExtrinsicFormat,
    MapKind,
    Metadata,
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
from cfnode.core.scale.types import PRIMITIVES


def hand_made() -> TypeRegistry:
    """Return every kind of type, also those that no runtime uses. Types 0 to 14 are the primitives.

    No u256 or i256 inside another type: the oracle does not step over their bytes and goes on reading there.
    """
    number = {name: index for index, name in enumerate(PRIMITIVES)}
    rows: list[tuple[tuple[str, ...], Definition]] = [((), Primitive(name)) for name in PRIMITIVES]

    def add(definition: Definition, *path: str) -> int:
        rows.append((path, definition))
        return len(rows) - 1

    lsb = add(Composite(()), "bitvec", "order", "Lsb0")
    msb = add(Composite(()), "bitvec", "order", "Msb0")
    for store in ("u8", "u16", "u32", "u64"):
        add(BitSequence(number[store], lsb))
        add(BitSequence(number[store], msb))
    for width in (8, 16, 32, 64, 128):
        add(Compact(number[f"u{width}"]))
    wrapped = add(Composite((Field(None, number["u32"]),)), "Perbill")
    add(Compact(wrapped))
    option = _option(add, number["u16"])
    nested = _option(add, option)
    _option(add, add(Composite((Field(None, nested),)), "Newtype"))
    add(Tuple((number["u32"], number["u64"])))
    add(Array(3, nested))
    add(Array(0, number["u64"]))
    add(Tuple((number["bool"], number["char"], number["str"])))
    add(Composite((Field(None, number["u8"]), Field(None, number["i64"]))), "Pair")
    tree = len(rows) + 1
    add(Sequence(tree))
    leaf = Variant("Leaf", (Field("value", number["i128"]),), 3)
    branch = Variant("Branch", (Field(None, tree - 1), Field(None, number["bool"])), 200)
    add(Variants((leaf, branch, Variant("Bud", (), 7))), "Tree")
    parts = enumerate(("Address", "Call", "Signature", "Extra"))
    whole = add(Composite((Field(None, number["u8"]),)), "UncheckedExtrinsic")
    params = {
        whole: tuple(TypeParam(part, type_id) for type_id, part in parts),
        wrapped: (TypeParam("T", None),),
    }
    return TypeRegistry(
        [PortableType(i, path, params.get(i, ()), kind) for i, (path, kind) in enumerate(rows)]
    )


def _option(add: Any, inner: int) -> int:
    none, some = Variant("None", (), 0), Variant("Some", (Field(None, inner),), 1)
    return int(add(Variants((none, some)), "Option"))


def hand_made_metadata() -> Metadata:
    """Return metadata of the hand-made types, with one extension."""
    registry = hand_made()
    pair = next(row.id for row in registry.types if row.definition == Tuple((5, 6)))
    extension = TransactionExtension("CheckNonce", 6, 0)
    extrinsic = ExtrinsicFormat(4, 0, 1, 2, 3, (extension,), registry.find("UncheckedExtrinsic").id)
    default = StorageEntry("Plain", "Default", PlainKind(5), b"\7\0\0\0", ("A number.",))
    doubled = StorageEntry("Map", "Optional", MapKind(("Twox64Concat", "Identity"), pair, 5), b"\0")
    constant = PalletConstant("Answer", 5, b"\x2a\0\0\0", ("What it is.",))
    pallet = PalletMetadata("Only", StoragePallet("Only", (default, doubled)), 0, None, (constant,), 0, 3)
    method = ApiMethod("add", (MethodInput("a", 5), MethodInput("b", 5)), 5, ("The sum.",))
    return Metadata(
        15,
        registry,
        (pallet,),
        extrinsic,
        0,
        (RuntimeApiMetadata("Sum", (method,), ("Sums.",)),),
        OuterEnums(1, 2, 3),
        (CustomValue("made", 0, b"\1"),),
    )


def table(*definitions: Definition | tuple[Definition, str]) -> TypeRegistry:
    """Return a registry of types numbered in order; a pair gives a type a name."""
    rows = [pair if isinstance(pair, tuple) else (pair, "") for pair in definitions]
    return TypeRegistry(
        [PortableType(i, tuple(name.split("::")) if name else (), (), d) for i, (d, name) in enumerate(rows)]
    )


def codec_of(*definitions: Definition | tuple[Definition, str]) -> Codec:
    """Return the codec of the last of these types."""
    return table(*definitions).codec(len(definitions) - 1)


def fields(**types: int) -> tuple[Field, ...]:
    """Return fields by name and type id."""
    return tuple(Field(name, type_id) for name, type_id in types.items())
