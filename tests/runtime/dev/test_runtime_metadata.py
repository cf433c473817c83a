"""The development runtime says of itself what runtime 2.2.3 says: one comparison over all of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from cfnode.core.scale import encode_compact
from cfnode.core.scale.metadata import Metadata, decode_metadata, encode_metadata
from cfnode.runtime.dev.executive import Executive
from cfnode.runtime.dev.runtime import DevRuntime
from tests.runtime.dev.shapes import Comparison

EXCEPTIONS = {
    "Dev: not one of theirs": "the pallet of test-only calls, index 250, which no runtime of theirs uses",
    "Environment.calls.non_native_signed_call.chainflip_extrinsic.call.Dev: no variant of theirs": (
        "the same pallet inside RuntimeCall"
    ),
    "System.Version: value": "impl_name is our own, and we have no GenesisBuilder and no elections",
}


@pytest.fixture(scope="module")
def ours() -> Metadata:
    return DevRuntime().composition.service(Executive).metadata(15)


@pytest.fixture(scope="module")
def comparison(ours: Metadata, metadata_v15: bytes) -> Comparison:
    return Comparison(ours, decode_metadata(metadata_v15))


def test_every_call_event_error_storage_item_constant_and_api_is_theirs(
    comparison: Comparison,
) -> None:
    found = [*comparison.pallets(), *comparison.extrinsic(), *comparison.apis()]
    unexplained = [line for line in found if not line.startswith(tuple(EXCEPTIONS))]
    assert unexplained == []
    assert all(any(line.startswith(each) for line in found) for each in EXCEPTIONS)


def test_no_question_has_two_answers(ours: Metadata) -> None:
    names = [f"{api.name}_{method.name}" for api in ours.apis for method in api.methods]
    assert sorted(names) == sorted(set(names))


def test_the_comparison_sees_a_difference(ours: Metadata, metadata_v15: bytes) -> None:
    theirs = decode_metadata(metadata_v15)
    assert list(Comparison(theirs, theirs).pallets()) == []
    backwards = list(Comparison(theirs, ours).pallets())
    assert "Witnesser: not one of theirs" in backwards
    assert len(backwards) > 50


@pytest.mark.parametrize("version", [14, 15])
def test_the_metadata_reads_back_as_it_was_written(version: int) -> None:
    made = DevRuntime().composition.service(Executive).metadata(version)
    read = decode_metadata(encode_metadata(made))
    assert (read.version, read.apis, read.registry) == (version, made.apis, made.registry)
    assert read.extrinsic.extensions == made.extrinsic.extensions
    without_docs = [[replace(each, docs=()) for each in side.pallets] for side in (made, read)]
    assert without_docs[0] == without_docs[1]


def test_another_implementation_reads_it_too(ours: Metadata) -> None:
    bt_decode = pytest.importorskip("bt_decode")
    encoded = encode_metadata(ours)
    option = b"\1" + encode_compact(len(encoded)) + encoded
    read = json.loads(bt_decode.MetadataV15.decode_from_metadata_option(option).to_json())
    assert len(read["types"]["types"]) == len(ours.registry.types)
    assert [each["name"] for each in read["pallets"]] == [each.name for each in ours.pallets]
