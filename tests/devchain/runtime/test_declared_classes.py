"""A type that is declared as a class is the type that the same declaration in text gives."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import FrozenInstanceError
from typing import Annotated

import pytest

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.apis.environment import SwapLimits
from cfnode.devchain.runtime.frame.classes import declared, expression_of, u8, u16, u32, u64, u128
from cfnode.devchain.runtime.frame.expressions import TypeLanguageError
from cfnode.devchain.runtime.frame.table import TypeTable
from cfnode.devchain.runtime.frame.types import COMMON, Catalog
from tests.documentation import block

CLASSES, TEXTS = Catalog(COMMON), Catalog(COMMON)


@declared("pallet_test::Part", catalog=CLASSES)
class Part:
    """A part of `Whole`."""

    size: u16
    label: str


@declared("pallet_test::Whole", name="test::Whole", catalog=CLASSES)
class Whole:
    """A type with a field of each kind."""

    part: Part
    parts: Sequence[Part]
    least: u128 | None
    is_new: bool
    pair: tuple[u8, u64]
    account: Annotated[bytes, "AccountId32"]


TEXTS.struct("pallet_test::Part", size="u16", label="str")
TEXTS.struct(
    "pallet_test::Whole",
    name="test::Whole",
    part="Part",
    parts="Vec<Part>",
    least="Option<u128>",
    is_new="bool",
    pair="(u8, u64)",
    account="AccountId32",
)


def test_rows_of_the_metadata_are_those_of_the_text() -> None:
    """Compare all rows of the registry that the class gives with those that the text gives."""
    tables = TypeTable(CLASSES), TypeTable(TEXTS)
    assert [table.id("test::Whole") for table in tables] == [0, 0]
    assert tables[0].types == tables[1].types


def test_values_are_of_the_class_and_have_the_bytes_of_the_text() -> None:
    """Encode a value by the class, decode it by the class, and compare its bytes with the text's."""
    whole = Whole(
        part=Part(size=1, label="a"), parts=[Part(size=2, label="b")], least=None, is_new=True, pair=(3, 4),
        account=bytes(32),
    )  # fmt: skip
    table, text = TypeTable(CLASSES), TypeTable(TEXTS)
    type_ids = table.id("test::Whole"), text.id("test::Whole")
    codec = table.registry.codec(type_ids[0])
    fields = {
        "part": {"size": 1, "label": "a"},
        "parts": [{"size": 2, "label": "b"}],
        "least": None,
        "is_new": True,
        "pair": (3, 4),
        "account": bytes(32),
    }
    encoded = codec.encode(whole)
    assert encoded == text.registry.codec(type_ids[1]).encode(fields)
    assert codec.decode(encoded) == whole
    with pytest.raises(FrozenInstanceError):
        whole.is_new = False  # type: ignore[misc]


def test_a_class_that_is_written_from_a_text_is_named_by_its_declaration() -> None:
    """Name a class of the package of values as its declaration does."""
    assert expression_of(values.DcaParameters) == "DcaParameters"
    assert expression_of(Sequence[u32]) == "Vec<u32>"


def test_an_annotation_without_an_expression_is_refused() -> None:
    """Refuse a Python type that has no one type of the chain, and say what to write."""
    with pytest.raises(TypeLanguageError, match="give one with Annotated"):
        expression_of(int)


def test_the_page_shows_a_class_of_the_source() -> None:
    """Compare the excerpt in the design page with the class that it is of."""
    excerpt = block("docs/design/development-runtime.md", "@declared")
    assert excerpt.strip() in inspect.getsource(inspect.getmodule(SwapLimits) or SwapLimits)
