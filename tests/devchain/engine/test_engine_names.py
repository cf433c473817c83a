"""Names and fields of all that the engine reads and calls, against the metadata of the chain's releases.

Each is in the metadata under today's name, or under an earlier one that the tables of `names` give.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cfnode.core.scale import NotInMetadataError
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.devchain.engine import names
from tests.conftest import shared

RELEASES = ("20203", "20209", "20300")


@pytest.fixture(scope="module", params=RELEASES)
def metadata(request: pytest.FixtureRequest) -> Metadata:
    """Return the metadata of a release."""
    return decode_metadata(shared("vectors", "chainflip", f"metadata-v15-{request.param}.scale").read_bytes())


def lacking_storage(metadata: Metadata) -> Iterator[names.Name]:
    """Yield the storage items that the engine reads and this metadata lacks."""
    for name in names.STORAGE:
        try:
            names.storage_of(metadata, *name)
        except NotInMetadataError:
            yield name


def lacking_calls(metadata: Metadata) -> Iterator[names.Name]:
    """Yield the calls that the engine makes and this metadata lacks."""
    for name in names.CALLS:
        try:
            names.call_of(metadata, *name)
        except NotInMetadataError:
            yield name


def test_each_name_is_there(metadata: Metadata) -> None:
    """Find each storage item and call in each release: a name that is missing would stop the engine there."""
    assert [*lacking_storage(metadata), *lacking_calls(metadata)] == []


def test_each_field_is_there_or_renamed(metadata: Metadata) -> None:
    """Find each field of a call under today's name or under its older one: no other field can be filled."""
    unknown = []
    for name, fields in names.FIELDS.items():
        if name in set(lacking_calls(metadata)):
            continue
        call = names.call_of(metadata, *name)
        present = {field.name for field in metadata.call_fields(*call) or ()}
        older = names.OLDER_FIELDS.get(call[1], {})
        unknown += [(call, field) for field in fields if {field, older.get(field)}.isdisjoint(present)]
    assert unknown == []
