"""Release 2.2.3 describes itself as runtime 2.2.3 does: one comparison over all of it."""

from __future__ import annotations

import json
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from cfnode.core.scale import Variants, encode_compact
from cfnode.core.scale.metadata import Metadata, decode_metadata, encode_metadata
from cfnode.devchain.runtime.executive import Executive
from cfnode.devchain.runtime.releases import RELEASES
from cfnode.devchain.runtime.runtime import DevRuntime
from tests.devchain.runtime.shapes import Comparison

DESIGN = Path(__file__).parents[3] / "docs" / "design" / "development-runtime.md"
EXCEPTIONS = {
    "Dev: not one of theirs": "the pallet of test-only calls, index 250, which no runtime of theirs uses",
    "Environment.calls.non_native_signed_call.chainflip_extrinsic.call.Dev: no variant of theirs": (
        "the same pallet inside RuntimeCall"
    ),
    "System.Version: value": "impl_name is our own, and we have no GenesisBuilder and no elections",
}


@pytest.fixture(scope="module")
def ours() -> Metadata:
    """Return the metadata of the development runtime's release 2.2.3."""
    return DevRuntime(RELEASES["2.2.3"]).composition.service(Executive).metadata(15)


@pytest.fixture(scope="module")
def comparison(ours: Metadata, metadata_v15: bytes) -> Comparison:
    """Return the comparison of both runtimes' metadata."""
    return Comparison(ours, decode_metadata(metadata_v15))


def test_every_call_event_error_storage_item_constant_and_api_is_theirs(
    comparison: Comparison,
) -> None:
    """Declare each pallet, extension and API as the official 2.2.3 does; each exception has its reason."""
    differences = [*comparison.pallets(), *comparison.extrinsic(), *comparison.apis()]
    unexplained = [line for line in differences if not line.startswith(tuple(EXCEPTIONS))]
    assert unexplained == []
    assert all(any(line.startswith(exception) for line in differences) for exception in EXCEPTIONS)


def test_no_question_has_two_answers(ours: Metadata) -> None:
    """Name each method of a runtime API once: a call by name would be ambiguous."""
    names = [f"{api.name}_{method.name}" for api in ours.apis for method in api.methods]
    assert sorted(names) == sorted(set(names))


def test_the_comparison_sees_a_difference(ours: Metadata, metadata_v15: bytes) -> None:
    """Find no difference of a runtime from itself, and many where both sides are swapped."""
    theirs = decode_metadata(metadata_v15)
    assert list(Comparison(theirs, theirs).pallets()) == []
    backwards = list(Comparison(theirs, ours).pallets())
    assert "Witnesser: not one of theirs" in backwards
    assert len(backwards) > 50


def absent(rows: list[tuple[list[str], list[str]]], pallet: str, name: str) -> list[int]:
    """Return the rows that a call is in."""
    return [
        at
        for at, (pallets, calls) in enumerate(rows)
        if any(fnmatchcase(pallet, pattern) for pattern in pallets)
        and any(fnmatchcase(name, call) for call in calls)
    ]


def test_each_call_that_is_not_there_is_in_the_list_of_those(ours: Metadata, metadata_v15: bytes) -> None:
    """List every missing call once in the design page, and no call there that exists."""
    table = DESIGN.read_text().partition("### Calls that are not there")[2].partition("\n\n| pallet |")[2]
    lines = [line.split("|") for line in table.partition("\n\n")[0].splitlines()[2:]]
    rows = [tuple([word.strip() for word in cell.split(",")] for cell in line[1:3]) for line in lines]
    there = {(pallet, name) for pallet, name in calls_of(ours)}
    missing = [call for call in calls_of(decode_metadata(metadata_v15)) if call not in there]
    rows_by_name = {call: absent(rows, *call) for call in missing}
    assert {call: at for call, at in rows_by_name.items() if len(at) != 1} == {}
    assert {at for places in rows_by_name.values() for at in places} == set(range(len(rows)))


def calls_of(metadata: Metadata) -> list[tuple[str, str]]:
    """Return pallet and name of each call."""
    types = metadata.registry.type
    return [
        (pallet.name, call.name)
        for pallet in metadata.pallets
        if pallet.calls is not None and isinstance(calls := types(pallet.calls).definition, Variants)
        for call in calls.variants
    ]


@pytest.mark.parametrize("version", [14, 15])
def test_the_metadata_reads_back_as_it_was_written(version: int) -> None:
    """Decode the metadata that was encoded, in both versions, to equal types, APIs and pallets."""
    made = DevRuntime().composition.service(Executive).metadata(version)
    read = decode_metadata(encode_metadata(made))
    assert (read.version, read.apis, read.registry) == (version, made.apis, made.registry)
    assert read.extrinsic.extensions == made.extrinsic.extensions
    without_docs = [[replace(pallet, docs=()) for pallet in side.pallets] for side in (made, read)]
    assert without_docs[0] == without_docs[1]


def test_another_implementation_reads_it_too(ours: Metadata) -> None:
    """Encode metadata that another implementation decodes to the same types and pallets."""
    bt_decode = pytest.importorskip("bt_decode")
    encoded = encode_metadata(ours)
    option = b"\1" + encode_compact(len(encoded)) + encoded
    read = json.loads(bt_decode.MetadataV15.decode_from_metadata_option(option).to_json())
    assert len(read["types"]["types"]) == len(ours.registry.types)
    assert [pallet["name"] for pallet in read["pallets"]] == [pallet.name for pallet in ours.pallets]
