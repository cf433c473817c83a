"""The messages between nodes: their exact bytes, what comes back, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.grandpa import Commit, CommitMessage, NeighborPacket, Precommit, WarpProof
from cfnode.core.header import DigestItem, DigestKind, Header
from cfnode.core.wire import WireError, announces, grandpa_gossip, light, state, transactions, warp
from cfnode.core.wire.blocks import Attributes, BlockData, BlockRequest, BlockResponse
from tests.conftest import shared
from tests.lengths import examples

GENESIS = bytes.fromhex("8b8c140b0af9db70686583e3f6bf2a59052bfe9584b97d20c45068281e976eb9")

hashes = st.binary(min_size=32, max_size=32)
extrinsics = st.binary(max_size=80).map(lambda body: bytes((len(body) << 2 & 0xFF,)) + body)
headers = st.builds(
    Header,
    hashes,
    st.integers(0, (1 << 32) - 1),
    hashes,
    hashes,
    st.lists(
        st.builds(DigestItem, st.just(DigestKind.SEAL), st.just(b"aura"), st.binary(max_size=64)), max_size=2
    ).map(tuple),
)
requests = st.builds(
    BlockRequest,
    hashes | st.integers(0, (1 << 32) - 1),
    st.sampled_from([Attributes.HEADER, Attributes.JUSTIFICATION, Attributes.whole()]),
    st.integers(0, 1000),
    st.booleans(),
    st.booleans(),
)
block_data = st.builds(
    BlockData,
    hashes,
    st.none() | headers,
    st.lists(st.binary(max_size=40), max_size=3).map(tuple),
    st.lists(st.tuples(st.binary(min_size=4, max_size=4), st.binary(max_size=40)), max_size=3).map(tuple),
)
entries = st.builds(
    state.StateEntries,
    st.binary(max_size=32),
    st.lists(st.tuples(st.binary(max_size=20), st.binary(max_size=20)), max_size=4).map(tuple),
    st.booleans(),
)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (BlockRequest(GENESIS, Attributes.whole(), 64), "08 8080809801 1220" + GENESIS.hex() + "3040 3801"),
        (
            BlockRequest(GENESIS, Attributes.JUSTIFICATION, 1),
            "08 8080808001 1220" + GENESIS.hex() + "3001 3801",
        ),
        (state.StateRequest(GENESIS), "0a20" + GENESIS.hex()),
        (state.StateRequest(GENESIS, (b":code",)), "0a20" + GENESIS.hex() + "1205 3a636f6465"),
        (
            light.RemoteRead(GENESIS, (b":code", b":heappages")),
            "1235 1220" + GENESIS.hex() + "1a05 3a636f6465 1a0a 3a686561707061676573",
        ),
        (
            light.RemoteCall(GENESIS, "GrandpaApi_current_set_id"),
            "0a3f 1220" + GENESIS.hex() + "1a19 4772616e6470614170695f63757272656e745f7365745f6964 2200",
        ),
        (
            announces.AnnounceHandshake(announces.Roles.FULL, 0, GENESIS, GENESIS),
            "0100000000" + 2 * GENESIS.hex(),
        ),
        (NeighborPacket(1, 0, 0), "0201 0100000000000000 0000000000000000 00000000"),
    ],
)
def test_messages_encode_to_the_bytes_of_the_chain(message: Any, expected: str) -> None:
    """Encode each message in the bytes that the chain's nodes exchange."""
    assert message.encode().hex() == expected.replace(" ", "")


def test_a_request_that_once_broke_a_decoder_is_read() -> None:
    """Read a block request that once broke a decoder, and encode it to the same bytes."""
    data = bytes.fromhex(
        shared("vectors", "smoldot", "block-request-regression-2833.hex").read_text().strip()
    )
    request = BlockRequest.decode(data)
    assert request == BlockRequest(2_186_221, Attributes.HEADER | Attributes.JUSTIFICATION, 1)
    assert request.encode() == data


def test_a_real_commit_and_a_real_neighbour_packet_are_read() -> None:
    """Read a recorded commit and neighbor packet."""
    packet = bytes.fromhex(shared("vectors", "smoldot", "grandpa-neighbor.hex").read_text().strip())
    assert grandpa_gossip.decode_gossip(packet) == NeighborPacket(3671, 3490, 5_105_457)
    body = bytes.fromhex(shared("vectors", "smoldot", "grandpa-commit.hex").read_text().strip())
    commit = grandpa_gossip.decode_gossip(b"\x01" + body)
    assert isinstance(commit, CommitMessage)
    assert (commit.round, commit.set_id, commit.commit.target_number) == (3669, 3490, 5_105_457)
    assert grandpa_gossip.encode_commit(commit) == b"\x01" + body


@given(requests)
@settings(max_examples=examples(60))
def test_block_requests_come_back(request: BlockRequest) -> None:
    """Encode any block request and decode it."""
    assert BlockRequest.decode(request.encode()) == request


@given(st.lists(block_data, max_size=4).map(tuple).map(BlockResponse))
@settings(max_examples=examples(60))
def test_block_answers_come_back(answer: BlockResponse) -> None:
    """Encode any block response and decode it."""
    assert BlockResponse.decode(answer.encode()) == answer


def test_an_announcement_over_its_limit_is_refused_before_it_is_read() -> None:
    """Refuse an announcement over its limit before its header is decoded."""
    header = Header(bytes(32), 1, bytes(32), bytes(32))
    assert announces.BlockAnnounce.decode(header.encode() + b"\1\0").header == header
    with pytest.raises(WireError, match=f"{announces.MAX_ANNOUNCEMENT} are allowed"):
        announces.BlockAnnounce.decode(header.encode() + bytes(announces.MAX_ANNOUNCEMENT))


def test_a_peer_without_several_justifications_gets_the_one_of_grandpa() -> None:
    """Send the GRANDPA justification alone to a peer that does not know several."""
    block = BlockData(bytes(32), justifications=((b"FRNK", b"votes"),))
    assert BlockData.decode(block.encode(multiple_justifications=False)) == block


def test_a_justification_may_be_present_and_empty() -> None:
    """Read a justification that is present and empty, which is not the same as none."""
    assert BlockData.decode(b"\x0a\x20" + bytes(32) + b"\x38\x01").justifications == ((b"FRNK", b""),)


@given(hashes, st.lists(st.binary(max_size=40), max_size=2).map(tuple), st.booleans())
@settings(max_examples=examples(40))
def test_state_requests_come_back(block: bytes, start: tuple[bytes, ...], no_proof: bool) -> None:
    """Encode any state request and decode it."""
    request = state.StateRequest(block, start, no_proof)
    assert state.StateRequest.decode(request.encode()) == request


@given(st.lists(entries, max_size=3).map(tuple), st.lists(st.binary(max_size=40), max_size=4).map(tuple))
@settings(max_examples=examples(40))
def test_state_answers_come_back(parts: tuple[state.StateEntries, ...], proof: tuple[bytes, ...]) -> None:
    """Encode any state response and decode it."""
    answer = state.StateResponse(parts, proof)
    assert state.StateResponse.decode(answer.encode()) == answer


@given(hashes, st.lists(st.binary(max_size=40), min_size=1, max_size=4).map(tuple), st.binary(max_size=9))
@settings(max_examples=examples(40))
def test_reads_come_back(block: bytes, keys: tuple[bytes, ...], child: bytes) -> None:
    """Encode any request for a read and decode it."""
    request = light.RemoteRead(block, keys, child)
    assert light.decode_request(request.encode()) == request


@given(hashes, st.text("abcXYZ_", min_size=1, max_size=30), st.binary(max_size=40), st.booleans())
@settings(max_examples=examples(40))
def test_calls_and_their_proofs_come_back(block: bytes, method: str, data: bytes, call: bool) -> None:
    """Encode any request for a call, and its response, and decode them."""
    request = light.RemoteCall(block, method, data)
    assert light.decode_request(request.encode()) == request
    for answer in (light.LightResponse(None), light.LightResponse((data, block))):
        assert light.LightResponse.decode(answer.encode(call=call)) == answer


@given(headers, st.booleans())
@settings(max_examples=examples(40))
def test_announcements_come_back_whole_or_as_older_nodes_send_them(header: Header, best: bool) -> None:
    """Read announcements whole, and in the shorter forms of older nodes."""
    announce = announces.BlockAnnounce(header, best)
    assert announces.BlockAnnounce.decode(announce.encode()) == announce
    assert announces.BlockAnnounce.decode(announce.encode()[:-1]) == announce
    assert announces.BlockAnnounce.decode(header.encode()) == replace(announce, best=False)


@given(st.lists(extrinsics, max_size=4))
@settings(max_examples=examples(40))
def test_transactions_come_back(extrinsics: list[bytes]) -> None:
    """Encode any list of transactions and decode it."""
    assert transactions.decode_transactions(transactions.encode_transactions(extrinsics)) == extrinsics


@given(st.integers(0, 9), st.integers(0, 9), hashes)
@settings(max_examples=examples(20))
def test_commits_come_back(round_number: int, set_id: int, target: bytes) -> None:
    """Encode any commit as gossip and decode it."""
    vote = Precommit(target, 7, bytes(64), target)
    message = CommitMessage(round_number, set_id, Commit(target, 7, (vote,)))
    assert grandpa_gossip.decode_gossip(grandpa_gossip.encode_commit(message)) == message


DECODERS: list[Callable[[bytes], Any]] = [
    BlockRequest.decode,
    BlockResponse.decode,
    state.StateRequest.decode,
    state.StateResponse.decode,
    light.decode_request,
    light.LightResponse.decode,
    announces.AnnounceHandshake.decode,
    announces.BlockAnnounce.decode,
    transactions.decode_transactions,
    grandpa_gossip.decode_gossip,
    warp.read_begin,
    warp.read_proof,
]
SAMPLES = [
    BlockRequest(GENESIS, Attributes.whole(), 64).encode(),
    BlockResponse((BlockData(GENESIS, Header(GENESIS, 1, GENESIS, GENESIS), (b"\x04a",)),)).encode(),
    state.StateRequest(GENESIS, (b":code",)).encode(),
    state.StateResponse((state.StateEntries(b"", ((b"a", b"b"),), True),), (b"\x00",)).encode(),
    light.RemoteRead(GENESIS, (b":code",), b"child").encode(),
    light.RemoteCall(GENESIS, "Core_version").encode(),
    light.LightResponse((b"\x00",)).encode(),
    announces.AnnounceHandshake(announces.Roles.FULL, 0, GENESIS, GENESIS).encode(),
    announces.BlockAnnounce(Header(GENESIS, 1, GENESIS, GENESIS)).encode(),
    NeighborPacket(1, 2, 3).encode(),
    WarpProof((), True).encode(),
]


@given(st.sampled_from(DECODERS), st.binary(max_size=200))
@settings(max_examples=examples(300))
def test_arbitrary_bytes_raise_only_the_decoders_own_error(
    decode: Callable[[bytes], Any], data: bytes
) -> None:
    """Answer any bytes with a message or a WireError."""
    with suppress(WireError):
        decode(data)


@given(st.sampled_from(DECODERS), st.sampled_from(SAMPLES), st.data())
@settings(max_examples=examples(300))
def test_nor_does_a_spoilt_message(
    decode: Callable[[bytes], Any], sample: bytes, data: st.DataObject
) -> None:
    """Answer a spoilt or shortened message with a message or a WireError."""
    spoilt = bytearray(sample)
    spoilt[data.draw(st.integers(0, len(sample) - 1))] ^= data.draw(st.integers(1, 255))
    with suppress(WireError):
        decode(bytes(spoilt[: data.draw(st.integers(0, len(sample)))]))


@pytest.mark.parametrize(
    ("decode", "data", "words"),
    [
        (BlockRequest.decode, b"\x08\x01", "one hash of 32 bytes or one number"),
        (BlockRequest.decode, b"\x12\x01a", "one hash of 32 bytes or one number"),
        (BlockResponse.decode, b"\x0a\x00" * 129, "129 blocks, 128 at most"),
        (BlockResponse.decode, b"\x0a\x00", "without its hash"),
        (state.StateRequest.decode, b"\x0a\x20" + bytes(32) + b"\x12\x00" * 3, "3 start keys"),
        (light.decode_request, light.RemoteRead(GENESIS, ()).encode(), "0 keys"),
        (light.decode_request, b"", "neither a call nor a read"),
        (light.decode_call, light.RemoteRead(GENESIS, (b"key",)).encode(), "a read in place of a call"),
        (light.decode_read, light.RemoteCall(GENESIS, "Core_version", b"").encode(), "a call in place"),
        (announces.AnnounceHandshake.decode, bytes(69), "unknown roles 0b0"),
        (announces.AnnounceHandshake.decode, b"\x01" + bytes(69), "block announces handshake"),
        (transactions.decode_transactions, b"\x02\x00\x01\x00" + bytes(20_000), "16384 at once"),
        (grandpa_gossip.decode_gossip, b"\x09", "unknown kind 9"),
        (grandpa_gossip.decode_commit, NeighborPacket(1, 2, 3).encode(), "kind 2 in place of a commit"),
        (grandpa_gossip.decode_catch_up, NeighborPacket(1, 2, 3).encode(), "kind 2 in place of a catch-up"),
        (grandpa_gossip.decode_gossip, b"", "unknown kind None"),
        (warp.read_begin, bytes(31), "31 bytes"),
        (warp.read_proof, b"\x04", "warp proof"),
    ],
)
def test_what_breaks_the_bounds_is_named(decode: Callable[[bytes], Any], data: bytes, words: str) -> None:
    """Name the bound that a message breaks."""
    with pytest.raises(WireError, match=words):
        decode(data)


@pytest.mark.parametrize("kind", [0, 3, 4])
def test_votes_and_catch_up_that_end_too_early_are_malformed(kind: int) -> None:
    """Refuse a vote or catch-up that ends too early."""
    with pytest.raises(WireError, match="ends too early"):
        grandpa_gossip.decode_gossip(bytes((kind, 1, 2, 3)))
