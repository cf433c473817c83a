"""Generators of Rust code (subxt) can read the metadata of each release.

They write each type as a Rust type: a name that is a keyword is a syntax error, and a call that contains a
call has no size unless the name of its field's type says `Box<…>`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from cfnode.core.scale import Composite, Variants
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.core.scale.types import Array, BitSequence, Compact, Field, Primitive, Sequence, Tuple
from cfnode.devchain.runtime.executive import Executive
from cfnode.devchain.runtime.releases import RELEASES
from cfnode.devchain.runtime.runtime import DevRuntime

_WORDS = """
    abstract as async await become box break const continue crate do dyn else enum extern false final fn
    for gen if impl in let loop macro match mod move mut override priv pub ref return self Self static
    struct super trait true try type typeof unsafe unsized use virtual where while yield
"""
KEYWORDS = frozenset(_WORDS.split())
"""The words that the Rust reference lists as strict and reserved keywords, of all editions."""


@cache
def metadata_of(release: str) -> Metadata:
    """Return the metadata of a release."""
    return DevRuntime(RELEASES[release]).composition.service(Executive).metadata(15)


def fields_of(metadata: Metadata) -> Iterator[tuple[str, tuple[Field, ...]]]:
    """Yield each composite and each variant with its fields."""
    for row in metadata.registry.types:
        name = "::".join(row.path) or f"type {row.id}"
        if isinstance(row.definition, Composite):
            yield name, row.definition.fields
        elif isinstance(row.definition, Variants):
            for variant in row.definition.variants:
                yield f"{name}::{variant.name}", variant.fields


def names_of(metadata: Metadata) -> Iterator[tuple[str, str]]:
    """Yield (where, a name that becomes an identifier of Rust)."""
    for where, fields in fields_of(metadata):
        yield where, where.rpartition("::")[2]
        yield from ((where, field.name) for field in fields if field.name is not None)
    for row in metadata.registry.types:
        yield from (("::".join(row.path), word) for word in row.path)
    for pallet in metadata.pallets:
        yield pallet.name, pallet.name.lower()
    for api in metadata.apis:
        for method in api.methods:
            yield api.name, method.name
            yield from ((f"{api.name}_{method.name}", argument.name) for argument in method.inputs)


@pytest.mark.parametrize("release", RELEASES)
def test_no_name_is_a_keyword_of_rust(release: str) -> None:
    """Use no keyword of Rust as a name: generated code would not compile."""
    names = list(names_of(metadata_of(release)))
    assert len(names) > 5_000
    assert [(where, name) for where, name in names if name in KEYWORDS] == []


def contained(metadata: Metadata, number: int) -> Iterator[int]:
    """Yield the types that a value of this type holds without a heap allocation between."""
    definition = metadata.registry.type(number).definition
    if isinstance(definition, Composite):
        yield from (field.type for field in definition.fields if not is_boxed(field))
    elif isinstance(definition, Variants):
        for variant in definition.variants:
            yield from (field.type for field in variant.fields if not is_boxed(field))
    elif isinstance(definition, Tuple):
        yield from definition.types
    elif isinstance(definition, Array):
        yield definition.type
    else:
        assert isinstance(definition, Sequence | Compact | Primitive | BitSequence)


def is_boxed(field: Field) -> bool:
    """Return whether a field's type stands in a box."""
    return "Box<" in (field.type_name or "")


def unsized_types(metadata: Metadata) -> list[str]:
    """Return the types that contain themselves."""
    done: set[int] = set()
    paths: list[str] = []

    def visit(number: int, path: tuple[int, ...]) -> None:
        if number in path:
            paths.append("::".join(metadata.registry.type(number).path))
        elif number not in done:
            for inner in contained(metadata, number):
                visit(inner, (*path, number))
            done.add(number)

    for row in metadata.registry.types:
        visit(row.id, ())
    return paths


@pytest.mark.parametrize("release", RELEASES)
def test_each_type_has_a_size(release: str) -> None:
    """Give each type a size: one that contains itself without a box would not compile in Rust."""
    assert unsized_types(metadata_of(release)) == []


def boxed_arguments(metadata: Metadata) -> set[str]:
    """Return `Pallet.call.argument` of each argument whose type is in a box."""
    boxed = set()
    for pallet in metadata.pallets:
        if pallet.calls is not None:
            definition = metadata.registry.type(pallet.calls).definition
            assert isinstance(definition, Variants)
            for call in definition.variants:
                boxed |= {
                    f"{pallet.name}.{call.name}.{field.name}" for field in call.fields if is_boxed(field)
                }
    return boxed


def test_the_boxes_are_those_of_the_recorded_runtime(metadata_v15: bytes) -> None:
    """Put in boxes what the official runtime has in boxes, and the calls that contain calls."""
    theirs, ours = boxed_arguments(decode_metadata(metadata_v15)), boxed_arguments(metadata_of("2.2.3"))
    assert {name for name in ours if not name.startswith("Dev.")} <= theirs
    assert {"Environment.non_native_signed_call.chainflip_extrinsic"} <= ours
    assert {"Dev.as_governance.call", "Dev.as_root.call"} <= ours
