"""The runtime's metadata (V14 and V15), derived from its declarations.

Everything is read off the declarations: pallets, types, runtime APIs, and the transaction extensions that
the runtime checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cfnode.core.scale.metadata import (
    ApiMethod,
    ExtrinsicFormat,
    MapKind,
    Metadata,
    MethodInput,
    OuterEnums,
    PalletConstant,
    PlainKind,
    RuntimeApiMetadata,
    StorageEntry,
    StoragePallet,
    TransactionExtension,
)
from cfnode.core.scale.metadata import PalletMetadata as PalletMetadata

from .composition import Composition
from .pallet import Pallet
from .stored import Stored
from .types import struct

EXTRINSIC_VERSION = 4
RUNTIME = struct("state_chain_runtime::Runtime")


@dataclass(frozen=True, slots=True)
class ExtrinsicShape:
    """Expressions of the parts; an extension is (identifier, what it sends, what only the payload has)."""

    address: str
    signature: str
    extensions: Sequence[tuple[str, str, str]]

    @property
    def extra(self) -> str:
        """The tuple of the extensions' parts of the extrinsic."""
        return f"({', '.join(explicit for _, explicit, _ in self.extensions)})"

    @property
    def whole(self) -> str:
        """The extrinsic as a type."""
        return f"UncheckedExtrinsic<{self.address}, RuntimeCall, {self.signature}, {self.extra}>"


def derive(runtime: Composition, shape: ExtrinsicShape, version: int) -> Metadata:
    """Derive the metadata of a runtime: `version` 14 or 15 (V14 has no runtime APIs and no outer enums)."""
    pallets = tuple(_pallet(pallet) for pallet in sorted(runtime.pallets, key=lambda pallet: pallet.index))
    extrinsic = _extrinsic(runtime, shape)
    apis = _apis(runtime) if version >= 15 else ()
    call, event, error = (runtime.types.id(f"Runtime{part}") for part in ("Call", "Event", "Error"))
    runtime_type = runtime.types.id(RUNTIME)
    return Metadata(
        version=version,
        registry=runtime.types.described,
        pallets=pallets,
        extrinsic=extrinsic,
        runtime_type=runtime_type,
        apis=apis,
        outer_enums=OuterEnums(call, event, error),
    )


def _pallet(pallet: Pallet) -> PalletMetadata:
    ids = {
        part: pallet.runtime.types.id(f"{pallet.name}::{part}") if pallet.declarations.has(part) else None
        for part in ("Call", "Event", "Error")
    }
    entries = tuple(_entry(pallet, name, stored) for name, stored in pallet.stored().items())
    return PalletMetadata(
        name=pallet.name,
        storage=StoragePallet(pallet.name, entries) if entries else None,
        calls=ids["Call"],
        events=ids["Event"],
        constants=_constants(pallet),
        errors=ids["Error"],
        index=pallet.index,
        docs=_docs(pallet),
    )


def _entry(pallet: Pallet, name: str, stored: Stored) -> StorageEntry:
    item = stored.item
    value = pallet.type_id(item.value)
    kind = MapKind(item.hashers, pallet.type_id(item.key), value) if item.hashers else PlainKind(value)
    return StorageEntry(name, "Optional" if item.optional else "Default", kind, stored.default_bytes)


def _constants(pallet: Pallet) -> tuple[PalletConstant, ...]:
    release = pallet.runtime.release
    return tuple(
        PalletConstant(
            name,
            pallet.type_id(constant.expression),
            pallet.codec(constant.expression).encode(constant.value_in(release)),
        )
        for name, constant in pallet.Constant.declared.items()
    )


def _extrinsic(runtime: Composition, shape: ExtrinsicShape) -> ExtrinsicFormat:
    type_id = runtime.types.id
    return ExtrinsicFormat(
        version=EXTRINSIC_VERSION,
        address=type_id(shape.address),
        call=type_id("RuntimeCall"),
        signature=type_id(shape.signature),
        extra=type_id(shape.extra),
        extensions=tuple(
            TransactionExtension(identifier, type_id(explicit), type_id(implicit))
            for identifier, explicit, implicit in shape.extensions
        ),
        type=type_id(shape.whole),
    )


def _apis(runtime: Composition) -> tuple[RuntimeApiMetadata, ...]:
    methods: dict[str, list[ApiMethod]] = {}
    docs: dict[str, tuple[str, ...]] = {}
    for api in runtime.apis:
        docs.setdefault(api.api, _docs(api))
        methods.setdefault(api.api, []).extend(
            ApiMethod(
                method.name,
                tuple(
                    MethodInput(name.removesuffix("_"), runtime.types.id(text))
                    for name, text in method.arguments.items()
                ),
                runtime.types.id(method.output),
                method.docs,
            )
            for method in api.offered.values()
        )
    return tuple(
        RuntimeApiMetadata(name, tuple(api_methods), docs[name]) for name, api_methods in methods.items()
    )


def _docs(declared: object) -> tuple[str, ...]:
    return tuple(line.strip() for line in (type(declared).__doc__ or "").strip().splitlines())
