"""Comparison of two runtimes' metadata by shape, recursive types included."""

from __future__ import annotations

from collections.abc import Iterator

from cfnode.core.scale import (
    Array,
    BitSequence,
    Compact,
    Composite,
    Field,
    Primitive,
    Sequence,
    Tuple,
    Variant,
    Variants,
)
from cfnode.core.scale.metadata import MapKind, Metadata, PalletMetadata, StorageEntry

OUTER = ("RuntimeCall", "RuntimeEvent", "RuntimeError")
OF_PALLETS = ("Call", "Event", "Error")


class Comparison:
    """Differences of `ours` from `theirs`, as lines that name the place.

    Enums of calls, events and errors may have fewer variants than theirs; every one that is there must be
    theirs. All else is equal: names, indices, paths, fields, hashers, defaults.
    """

    def __init__(self, ours: Metadata, theirs: Metadata) -> None:
        self.ours = ours
        self.theirs = theirs
        self._seen: set[tuple[int, int]] = set()

    def pallets(self) -> Iterator[str]:
        """Yield the differences of all pallets."""
        known = {pallet.name: pallet for pallet in self.theirs.pallets}
        for pallet in self.ours.pallets:
            if pallet.name not in known:
                yield f"{pallet.name}: not one of theirs"
            else:
                yield from self.pallet(pallet, known[pallet.name])

    def pallet(self, ours: PalletMetadata, theirs: PalletMetadata) -> Iterator[str]:
        """Yield the differences of a pallet."""
        name = ours.name
        if ours.index != theirs.index:
            yield f"{name}: index {ours.index}, theirs {theirs.index}"
        for part in ("calls", "events", "errors"):
            mine, other = getattr(ours, part), getattr(theirs, part)
            if mine is not None:
                yield from self.types(mine, other, f"{name}.{part}")
        known = {entry.name: entry for entry in (theirs.storage.entries if theirs.storage else ())}
        for entry in ours.storage.entries if ours.storage else ():
            yield from self.storage(entry, known.get(entry.name), f"{name}.{entry.name}")
        constants = {constant.name: constant for constant in theirs.constants}
        for constant in ours.constants:
            place = f"{name}.{constant.name}"
            if (other := constants.get(constant.name)) is None:
                yield f"{place}: no constant of theirs"
                continue
            yield from self.types(constant.type, other.type, place)
            if constant.value != other.value:
                yield f"{place}: value 0x{constant.value.hex()}, theirs 0x{other.value.hex()}"

    def storage(self, ours: StorageEntry, theirs: StorageEntry | None, place: str) -> Iterator[str]:
        """Yield the differences of a storage item."""
        if theirs is None:
            yield f"{place}: no storage item of theirs"
            return
        if ours.modifier != theirs.modifier:
            yield f"{place}: {ours.modifier}, theirs {theirs.modifier}"
        if ours.default != theirs.default:
            yield f"{place}: default 0x{ours.default.hex()}, theirs 0x{theirs.default.hex()}"
        if isinstance(ours.kind, MapKind) and isinstance(theirs.kind, MapKind):
            if ours.kind.hashers != theirs.kind.hashers:
                yield f"{place}: {ours.kind.hashers}, theirs {theirs.kind.hashers}"
            yield from self.types(ours.kind.key, theirs.kind.key, f"{place}[key]")
        elif type(ours.kind) is not type(theirs.kind):
            yield f"{place}: {ours.kind}, theirs {theirs.kind}"
        yield from self.types(ours.kind.value, theirs.kind.value, place)

    def apis(self) -> Iterator[str]:
        """Yield the differences of the runtime APIs."""
        known = {f"{api.name}_{method.name}": method for api in self.theirs.apis for method in api.methods}
        for api in self.ours.apis:
            for method in api.methods:
                place = f"{api.name}_{method.name}"
                other = known.get(place)
                if other is None:
                    yield f"{place}: no method of theirs"
                    continue
                names = (
                    [argument.name for argument in method.inputs],
                    [argument.name for argument in other.inputs],
                )
                if names[0] != names[1]:
                    yield f"{place}: takes {names[0]}, theirs {names[1]}"
                    continue
                for mine, their in zip(method.inputs, other.inputs, strict=True):
                    yield from self.types(mine.type, their.type, f"{place}({mine.name})")
                yield from self.types(method.output, other.output, f"{place} ->")

    def extrinsic(self) -> Iterator[str]:
        """Yield the differences of the extrinsic format."""
        ours, theirs = self.ours.extrinsic, self.theirs.extrinsic
        if ours.version != theirs.version:
            yield f"extrinsic version {ours.version}, theirs {theirs.version}"
        for part in ("address", "call", "signature", "extra"):
            yield from self.types(getattr(ours, part), getattr(theirs, part), f"extrinsic.{part}")
        names = tuple([extension.identifier for extension in side.extensions] for side in (ours, theirs))
        if names[0] != names[1]:
            yield f"extensions {names[0]}, theirs {names[1]}"
        for mine, other in zip(ours.extensions, theirs.extensions, strict=False):
            yield from self.types(mine.type, other.type, mine.identifier)
            yield from self.types(mine.additional, other.additional, f"{mine.identifier}(implicit)")

    def types(self, ours: int, theirs: int | None, place: str) -> Iterator[str]:
        """Yield the differences of two types, once for each pair."""
        if theirs is None:
            yield f"{place}: they have none"
            return
        if (ours, theirs) in self._seen:
            return
        self._seen.add((ours, theirs))
        mine, other = self.ours.registry.type(ours), self.theirs.registry.type(theirs)
        if mine.path != other.path:
            yield f"{place}: is {'::'.join(mine.path)}, theirs {'::'.join(other.path)}"
        match mine.definition, other.definition:
            case Composite(a), Composite(b):
                yield from self.fields(a, b, place)
            case Variants(a), Variants(b):
                partial = bool(mine.path) and mine.path[-1] in (*OUTER, *OF_PALLETS)
                yield from self.variants(a, b, place, partial=partial)
            case (Sequence(a), Sequence(b)) | (Compact(a), Compact(b)):
                yield from self.types(a, b, f"{place}[]")
            case Array(n, a), Array(m, b) if n == m:
                yield from self.types(a, b, f"{place}[]")
            case Tuple(a), Tuple(b) if len(a) == len(b):
                for at, (left, right) in enumerate(zip(a, b, strict=True)):
                    yield from self.types(left, right, f"{place}.{at}")
            case Primitive(a), Primitive(b) if a == b:
                return
            case BitSequence(store, order), BitSequence(their_store, their_order):
                yield from self.types(store, their_store, f"{place}.store")
                yield from self.types(order, their_order, f"{place}.order")
            case a, b:
                yield f"{place}: {a}, theirs {b}"

    def fields(self, ours: tuple[Field, ...], theirs: tuple[Field, ...], place: str) -> Iterator[str]:
        """Yield the differences of fields."""
        names = [field.name for field in ours], [field.name for field in theirs]
        if names[0] != names[1]:
            yield f"{place}: fields {names[0]}, theirs {names[1]}"
            return
        for at, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from self.types(mine.type, other.type, f"{place}.{mine.name or at}")

    def variants(
        self, ours: tuple[Variant, ...], theirs: tuple[Variant, ...], place: str, *, partial: bool
    ) -> Iterator[str]:
        """Yield the differences of variants; `partial`: ours may lack some."""
        known = {variant.name: variant for variant in theirs}
        if not partial and (missing := set(known) - {variant.name for variant in ours}):
            yield f"{place}: lacks {sorted(missing)}"
        for variant in ours:
            other = known.get(variant.name)
            if other is None:
                yield f"{place}.{variant.name}: no variant of theirs"
            elif other.index != variant.index:
                yield f"{place}.{variant.name}: index {variant.index}, theirs {other.index}"
            else:
                yield from self.fields(variant.fields, other.fields, f"{place}.{variant.name}")
                own_text, other_text = " ".join(variant.docs), " ".join(other.docs)
                if place.endswith(".errors") and own_text != other_text:
                    yield f"{place}.{variant.name}: is {own_text!r}, theirs {other_text!r}"
