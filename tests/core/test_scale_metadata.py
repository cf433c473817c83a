"""The metadata of the runtime 2.2.3: read to the last byte, written back, looked up by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cfnode.core.hashing import twox_64, twox_128
from cfnode.core.scale import NotInMetadataError, ScaleError
from cfnode.core.scale.metadata import Metadata, decode_metadata, encode_metadata
from tests.conftest import shared
from tests.core.scale_tables import hand_made_metadata


@pytest.fixture(scope="module")
def metadata(metadata_v15: bytes) -> Metadata:
    """Decode the metadata of runtime 2.2.3."""
    return decode_metadata(metadata_v15)


def test_the_whole_of_it_decodes_and_encodes_to_the_same_bytes(metadata, metadata_v15):
    """Read the whole metadata and write it back to the byte."""
    assert metadata.version == 15
    assert len(metadata.registry.types) == 2312
    assert len(metadata.pallets) == 62
    assert len(metadata.apis) == 15
    assert encode_metadata(metadata) == metadata_v15


def test_v14_and_back_keeps_everything_that_v14_has(metadata):
    """Keep everything that version 14 has when metadata is written in it."""
    v14 = decode_metadata(encode_metadata(replace(metadata, version=14)))
    assert v14.version == 14
    assert v14.registry == metadata.registry
    assert v14.extrinsic == metadata.extrinsic
    assert v14.outer_enums == metadata.outer_enums
    assert [replace(pallet, docs=()) for pallet in metadata.pallets] == list(v14.pallets)
    assert encode_metadata(v14) == encode_metadata(replace(metadata, version=14))


NEWER = [(20209, 62, "TronElections"), (20300, 68, "AssethubElections")]


@pytest.mark.parametrize(("spec", "pallets", "last"), NEWER)
def test_newer_runtimes_decode_and_encode_to_the_same_bytes(spec: int, pallets: int, last: str) -> None:
    """Read newer runtimes' metadata, compile every type, and write it back to the byte."""
    encoded = shared("vectors", "chainflip", f"metadata-v15-{spec}.scale").read_bytes()
    newer = decode_metadata(encoded)
    assert encode_metadata(newer) == encoded
    assert (len(newer.pallets), newer.pallets[-1].name) == (pallets, last)
    assert newer.constant("System", "Version")["spec_version"] == spec
    for row in newer.registry.types:
        assert newer.registry.codec(row.id).type_id == row.id


def test_every_type_compiles(metadata):
    """Compile every type of the runtime."""
    for row in metadata.registry.types:
        assert metadata.registry.codec(row.id).type_id == row.id


def test_a_call_in_its_bytes(metadata):
    """Encode a call in its bytes and decode it."""
    call = ("System", ("remark", {"remark": b"hello"}))
    assert metadata.call_codec.encode(call) == bytes.fromhex("00001468656c6c6f")
    assert metadata.call_codec.decode(bytes.fromhex("00001468656c6c6f")) == call


def test_a_storage_key_is_two_hashed_names_and_the_hashed_key(metadata):
    """Build a storage key of two hashed names and the hashed key, and read the key out of it."""
    account = bytes(range(32))
    key = metadata.storage_key("System", "Account", account)
    prefix = "26aa394eea5630e07c48ae0c9558cef7b99d880ec681799c0cf30e8886371da9"
    assert key.hex().startswith(prefix)
    assert len(key) == 32 + 16 + 32
    assert metadata.storage_key("System", "Account").hex() == prefix
    assert metadata.storage("System", "Account").decode_key(key) == (account,)


def test_an_absent_value_is_the_default_or_none(metadata):
    """Give an absent storage value its default, or None where it has none."""
    assert metadata.storage("System", "Number").decode(None) == 0
    assert metadata.storage("System", "ExtrinsicCount").decode(None) is None
    assert metadata.storage("System", "Account").decode(None)["nonce"] == 0


def test_constants_are_values(metadata):
    """Decode constants to values."""
    assert metadata.constant("System", "SS58Prefix") == 2112
    assert metadata.constant("System", "Version")["spec_version"] == 20203
    assert metadata.constant("Timestamp", "MinimumPeriod") == 3000


def test_every_constant_and_every_default_of_the_runtime_is_a_value_of_its_type(metadata):
    """Decode every constant and default of the runtime and encode it to the same bytes."""
    stated = [(c.type, c.value) for pallet in metadata.pallets for c in pallet.constants]
    storages = [pallet.storage for pallet in metadata.pallets if pallet.storage]
    stated += [(entry.kind.value, entry.default) for storage in storages for entry in _with_default(storage)]
    assert len(stated) == 498
    for type_id, encoded in stated:
        codec = metadata.registry.codec(type_id)
        assert codec.encode(codec.decode(encoded)) == encoded


def _with_default(storage):
    return [entry for entry in storage.entries if entry.modifier == "Default"]


def test_runtime_apis_are_called_by_name(metadata):
    """Encode arguments and decode results of runtime APIs by their name, and refuse a missing argument."""
    version = metadata.api_method("Core_version")
    assert version.encode_args() == b""
    raw = metadata.pallet("System").constants
    encoded = next(constant.value for constant in raw if constant.name == "Version")
    assert version.decode(encoded)["spec_name"] == "chainflip-node"
    nonce = metadata.api_method("AccountNonceApi_account_nonce")
    assert nonce.encode_args(bytes(32)) == bytes(32)
    assert nonce.decode_args(bytes(32)) == (bytes(32),)
    assert nonce.decode(b"\x05\0\0\0") == 5
    with pytest.raises(ScaleError, match="takes 1 values"):
        nonce.encode_args()


def test_a_module_error_has_pallet_name_and_docs(metadata):
    """Find a module error's pallet, name and sentence by its index."""
    pallet, name, docs = metadata.error(0, b"\x05\0\0\0")
    assert (pallet, name) == ("System", "CallFiltered")
    assert docs == "The origin filter prevent the call to be dispatched."
    assert metadata.error(0, 5) == (pallet, name, docs)


@pytest.mark.parametrize(
    "look_up",
    [
        lambda m: m.pallet("Sistem"),
        lambda m: m.pallet_by_index(255),
        lambda m: m.storage_key("System", "Acount"),
        lambda m: m.storage_key("Sistem", "Account"),
        lambda m: m.api_method("Core_versio"),
        lambda m: m.constant("System", "None"),
        lambda m: m.error(0, 99),
        lambda m: m.registry.find("no", "Such"),
    ],
)
def test_the_error_names_a_missing_name(metadata, look_up):
    """Name what the metadata does not have, for each kind of name."""
    with pytest.raises(NotInMetadataError, match="has no"):
        look_up(metadata)


def test_the_events_of_a_block(metadata):
    """Encode and decode a block's events."""
    record = {
        "phase": ("ApplyExtrinsic", 1),
        "event": ("System", ("Remarked", {"sender": bytes(32), "hash": bytes(32)})),
        "topics": [],
    }
    assert metadata.event_codec.decode(metadata.event_codec.encode([record])) == [record]


@pytest.mark.parametrize("data", [b"", b"meta", b"mata\x0f", b"meta\x0d", b"meta\x0f", b"meta\x0e\x04"])
def test_malformed_metadata_is_refused(data):
    """Refuse malformed metadata and other versions."""
    with pytest.raises(ScaleError):
        decode_metadata(data)


def test_bytes_behind_the_metadata_are_refused(metadata_v15):
    """Refuse bytes behind the metadata."""
    with pytest.raises(ScaleError, match="1 bytes follow"):
        decode_metadata(metadata_v15 + b"\0")


def test_a_map_with_two_hashers_has_two_hashed_keys_and_their_prefixes():
    """Hash both keys of a map by their own hashers, and read keys back, whole and of this item only."""
    item = hand_made_metadata().storage("Only", "Map")
    prefix = twox_128(b"Only") + twox_128(b"Map")
    first, second = b"\1\0\0\0", b"\2" + bytes(7)
    whole = prefix + twox_64(first) + first + second
    assert item.key() == prefix
    assert item.key(1) == prefix + twox_64(first) + first
    assert item.key(1, 2) == whole
    assert item.decode_key(whole) == (1, 2)
    with pytest.raises(ScaleError, match="has 2 keys, not 3"):
        item.key(1, 2, 3)
    with pytest.raises(ScaleError, match="wrong length"):
        item.decode_key(whole + b"\0")
    with pytest.raises(ScaleError, match="not one of"):
        item.decode_key(first)


def test_hand_written_metadata_is_looked_up_like_any_other():
    """Look up constants, pallets, storage and APIs in metadata that was written by hand."""
    metadata = hand_made_metadata()
    assert decode_metadata(encode_metadata(metadata)) == metadata
    assert metadata.constant("Only", "Answer") == 42
    assert metadata.pallet_by_index(3) is metadata.pallet("Only")
    assert metadata.storage("Only", "Plain").decode(None) == 7
    assert metadata.storage("Only", "Map").decode(None) is None
    assert metadata.api_method("Sum_add").encode_args(1, 2) == b"\1\0\0\0\2\0\0\0"
    assert metadata.has_api("Sum_add")
    assert not metadata.has_api("Sum_subtract")


def test_a_metadata_version_that_cannot_encode_a_value_raises_an_error():
    """Refuse to write metadata in a version that cannot hold it."""
    metadata = hand_made_metadata()
    with pytest.raises(ScaleError, match="version 16 is not known"):
        encode_metadata(replace(metadata, version=16))
    with pytest.raises(ScaleError, match="needs the outer enums"):
        encode_metadata(replace(metadata, outer_enums=None))
    with pytest.raises(ScaleError, match="needs the type of the whole extrinsic"):
        encode_metadata(replace(metadata, version=14, extrinsic=replace(metadata.extrinsic, type=None)))
