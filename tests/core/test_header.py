"""Block headers of three chains, and digests of engines we do not know."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.hashing import blake2_256
from cfnode.core.header import MAX_DIGEST_ITEMS, DigestItem, DigestKind, Header
from cfnode.core.scale import ByteCursor, ScaleError, encode_compact
from cfnode.core.trie import EMPTY_ROOT
from tests.conftest import shared
from tests.support.core.headers import HEADERS, read

HEX = ["polkadot-1.hex", "polkadot-2.hex", "kusama-1.hex", "kusama-2.hex", "rococo.hex"]
BINARY = ["polkadot-512271", "kusama-7472481"]


def known(name: str) -> Any:
    """Return what smoldot's tests say of a header."""
    return json.loads(shared("vectors", "smoldot", "expected.json").read_text())[f"header-{name}"]


@pytest.mark.parametrize("name", HEX + BINARY)
def test_headers_seen_on_chain_decode_and_encode_to_the_same_bytes(name: str) -> None:
    """Decode headers of three chains and encode them to the same bytes, with their known hash."""
    data, expected = read(name), known(name)
    header = Header.decode(data)
    assert header.number == expected["number"]
    assert header.encode() == data
    if "hash" in expected:
        assert header.hash.hex() == expected["hash"]


@pytest.mark.parametrize("chain", ["polkadot", "kusama"])
def test_the_hash_of_a_block_is_the_parent_of_the_next(chain: str) -> None:
    """Compute a block's hash as the next block's parent states it."""
    first, second = Header.decode(read(f"{chain}-1.hex")), Header.decode(read(f"{chain}-2.hex"))
    assert first.parent_hash.hex() == known(f"{chain}-1.hex")["parent"]
    assert second.parent_hash == first.hash


def test_items_of_an_unknown_engine_are_kept() -> None:
    """Keep digest items of an unknown engine: without them the hash would differ."""
    engines = {item.engine for item in Header.decode(read("rococo.hex")).digest}
    assert b"BEEF" in engines


def test_a_malformed_header_is_refused() -> None:
    """Refuse a header that once broke smoldot's decoder."""
    with pytest.raises(ScaleError):
        Header.decode(read("malformed-regression-2336.hex"))


def test_the_main_net_genesis_header_has_the_published_hash() -> None:
    """Compute the published hash of the main net's genesis header."""
    genesis = json.loads(shared("vectors", "chainflip", "genesis-expected.json").read_text())["berghain"]
    header = Header(bytes(32), 0, bytes.fromhex(genesis["state_root"]), EMPTY_ROOT)
    assert header.encode().hex() == genesis["genesis_header_scale"]
    assert header.hash.hex() == genesis["genesis_hash"]


@given(HEADERS)
def test_any_header_survives(header: Header) -> None:
    """Encode any header and read it back."""
    assert Header.decode(header.encode()) == header


@given(st.binary(max_size=200) | st.binary(max_size=60).map(lambda b: bytes(97) + b))
def test_any_bytes_are_a_header_or_a_scale_error(data: bytes) -> None:
    """Answer any bytes with a header that encodes to them, or a ScaleError."""
    try:
        assert Header.decode(data).encode() == data
    except ScaleError:
        return


@pytest.mark.parametrize("tail", ["0107", "0103", "0406616263", "00ff", "04", "fcfc"])
def test_bad_digests_are_refused(tail: str) -> None:
    """Refuse a digest that is malformed."""
    with pytest.raises(ScaleError):
        Header.decode(bytes(97) + bytes.fromhex(tail))


def test_a_number_above_32_bits_is_refused() -> None:
    """Refuse a block number above 32 bits, the width that the chain has."""
    last = bytes(32) + encode_compact(2**32 - 1) + bytes(64) + b"\0"
    assert Header.decode(last).number == 2**32 - 1
    number = bytes([0x07]) + (2**32).to_bytes(5, "little")
    with pytest.raises(ScaleError, match="32 bits"):
        Header.decode(bytes(32) + number + bytes(64) + b"\0")


def test_a_digest_of_a_million_tiny_items_is_refused_before_they_are_decoded() -> None:
    """Refuse a digest of too many items before they are decoded: each costs memory many times its byte."""
    most = bytes(97) + encode_compact(MAX_DIGEST_ITEMS) + b"\x08" * MAX_DIGEST_ITEMS
    assert len(Header.decode(most).digest) == MAX_DIGEST_ITEMS
    for count in (MAX_DIGEST_ITEMS + 1, 1_000_000):
        with pytest.raises(ScaleError, match=r"digest items|more than 131072 bytes"):
            Header.decode(bytes(97) + encode_compact(count) + b"\x08" * count)


def test_a_header_has_room_for_a_change_of_a_thousand_authorities_and_no_more_than_128_kib() -> None:
    """Leave room for a change of a thousand authorities, and refuse more than 128 KiB."""
    change = DigestItem(DigestKind.CONSENSUS, b"FRNK", bytes(1 + 2 + 1_000 * 40 + 4))
    header = Header(bytes(32), 7, bytes(32), bytes(32), (change,))
    assert Header.decode(header.encode()) == header
    large = replace(header, digest=(change,) * 4).encode()
    for decode in (Header.decode, lambda data: Header.read(ByteCursor(data))):
        with pytest.raises(ScaleError, match="more than 131072 bytes"):
            decode(large)


def test_a_hash_is_computed_once_and_of_the_bytes_that_were_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash a header once, over the bytes that were decoded, and anew after a change."""
    data = Header(bytes(32), 7, bytes(32), bytes(32), (DigestItem(DigestKind.SEAL, b"aura", b"x"),)).encode()
    header = Header.read(ByteCursor(b"before" + data + b"behind", 6))
    assert header.encode() == data
    assert header.hash == blake2_256(data)
    monkeypatch.setattr("cfnode.core.header.blake2_256", lambda data: pytest.fail("hashed again"))
    assert header.hash == blake2_256(data)
    monkeypatch.undo()
    other = replace(header, number=8)
    assert other.hash == blake2_256(other.encode()) != header.hash
    assert replace(other, number=7) == header
    assert replace(other, number=7).hash == header.hash


def test_an_engine_stands_only_where_the_kind_has_one() -> None:
    """Require an engine of four bytes where the kind has one, and refuse it elsewhere."""
    for kind, engine in ((DigestKind.OTHER, b"aura"), (DigestKind.SEAL, None), (DigestKind.SEAL, b"aur")):
        with pytest.raises(ValueError, match="engine"):
            DigestItem(kind, engine)
