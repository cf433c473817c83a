"""Votes, commits, justifications and announcements as bytes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core import ed25519
from cfnode.core.grandpa import (
    Commit,
    CommitMessage,
    Justification,
    NeighborPacket,
    Precommit,
    ScheduledChange,
    WarpProof,
    forced_change,
    scheduled_change,
    sign_payload,
)
from cfnode.core.header import DigestItem, DigestKind, Header
from cfnode.core.scale import ScaleError
from tests.conftest import shared
from tests.support.core.headers import HASHES, HEADERS, read


def vector(name: str) -> tuple[bytes, Any]:
    """Return a recorded message of another chain and what smoldot's tests say it holds."""
    expected = json.loads(shared("vectors", "smoldot", "expected.json").read_text())[name]
    return bytes.fromhex(shared("vectors", "smoldot", name).read_text()), expected


def check_signatures(commit: Commit, round_number: int, set_id: int) -> None:
    """Check that every vote of a commit is signed for its round and set, over 53 bytes."""
    for vote in commit.precommits:
        payload = sign_payload(vote.target_hash, vote.target_number, round_number, set_id)
        assert len(payload) == 53
        assert ed25519.verify(vote.authority, payload, vote.signature)


def test_a_justification_seen_on_chain() -> None:
    """Read a recorded justification, write it back to the byte, and verify its five signatures."""
    data, expected = vector("grandpa-justification.hex")
    justification = Justification.decode(data)
    commit = justification.commit
    assert justification.round == expected["round"]
    assert commit.target_hash.hex() == expected["target_hash"]
    assert commit.target_number == expected["target_number"]
    assert (len(commit.precommits), len(justification.ancestries)) == (5, 0)
    assert justification.encode() == data
    check_signatures(commit, justification.round, expected["set_id"])


def test_a_commit_seen_in_gossip() -> None:
    """Read a recorded gossip commit, write it back to the byte, and verify its signatures."""
    data, expected = vector("grandpa-commit.hex")
    message = CommitMessage.decode(data)
    assert (message.round, message.set_id) == (expected["round"], expected["set_id"])
    assert message.commit.target_hash.hex() == expected["target_hash"]
    assert message.commit.target_number == expected["target_number"]
    assert len(message.commit.precommits) == expected["precommits"]
    assert message.encode() == data
    check_signatures(message.commit, message.round, message.set_id)


def test_a_neighbour_packet_seen_in_gossip() -> None:
    """Read a recorded neighbor packet, and refuse one cut short, too long, or of another kind."""
    data, expected = vector("grandpa-neighbor.hex")
    packet = NeighborPacket.decode(data)
    assert packet == NeighborPacket(expected["round"], expected["set_id"], expected["finalized"])
    assert packet.encode() == data
    for broken in (data[:-1], data + b"\0", b"\x02\x02" + data[2:], b"\x01" + data[1:]):
        with pytest.raises(ScaleError):
            NeighborPacket.decode(broken)


def test_a_commit_needs_as_many_signatures_as_votes() -> None:
    """Refuse a commit whose votes and signatures differ in number: a vote would go unsigned."""
    message = CommitMessage(1, 2, Commit(bytes(32), 3, (Precommit(bytes(32), 3, bytes(64), bytes(32)),)))
    data = message.encode()
    with pytest.raises(ScaleError, match="1 votes but 0 signatures"):
        CommitMessage.decode(data[:-97] + b"\0")


def test_a_scheduled_change_of_197_authorities_is_read_from_a_header() -> None:
    """Read a scheduled change of 197 authorities from a Polkadot header, and write the same digest item."""
    header = Header.decode(read("polkadot-512271"))
    change = scheduled_change(header)
    assert change is not None
    assert len(change.authorities) == 197
    assert len(change.item().data) == 7887
    assert change.item() in header.digest
    assert forced_change(header) is None


def test_other_items_announce_nothing() -> None:
    """Read a change from GRANDPA's own announcement alone, not from its other items or another engine's."""
    changed = Header.decode(read("kusama-7472481"))
    change = scheduled_change(changed)
    assert change is not None
    disabled = DigestItem(DigestKind.CONSENSUS, b"FRNK", b"\x03" + bytes(8))
    of_another_engine = DigestItem(DigestKind.CONSENSUS, b"BABE", change.item().data)
    for header in (
        Header.decode(read("polkadot-1.hex")),
        replace(changed, digest=(disabled,)),
        replace(changed, digest=(of_another_engine,)),
    ):
        assert (scheduled_change(header), forced_change(header)) == (None, None)


def test_a_forced_change_and_a_broken_one() -> None:
    """Read a forced change with its median block, and refuse one with a byte too many or too few."""
    body = b"\x02" + (5).to_bytes(4, "little") + b"\x04" + bytes(32) + (9).to_bytes(8, "little") + bytes(4)
    header = Header(bytes(32), 1, bytes(32), bytes(32), (DigestItem(DigestKind.CONSENSUS, b"FRNK", body),))
    change = forced_change(header)
    assert change is not None
    assert (change.median, change.authorities, change.delay) == (5, ((bytes(32), 9),), 0)
    for data in (body + b"\0", body[:-1]):
        broken = Header(
            bytes(32), 1, bytes(32), bytes(32), (DigestItem(DigestKind.CONSENSUS, b"FRNK", data),)
        )
        with pytest.raises(ScaleError):
            forced_change(broken)


PRECOMMITS = st.builds(
    Precommit, HASHES, st.integers(0, 2**32 - 1), st.binary(min_size=64, max_size=64), HASHES
)
COMMITS = st.builds(Commit, HASHES, st.integers(0, 2**32 - 1), st.lists(PRECOMMITS, max_size=4).map(tuple))
U64 = st.integers(0, 2**64 - 1)


@given(U64, COMMITS, st.lists(HEADERS, max_size=3))
def test_any_justification_survives(round_number: int, commit: Commit, headers: list[Header]) -> None:
    """Write any justification and read it back."""
    justification = Justification(round_number, commit, tuple(headers))
    assert Justification.decode(justification.encode()) == justification


@given(U64, U64, COMMITS)
def test_any_commit_survives(round_number: int, set_id: int, commit: Commit) -> None:
    """Write any commit message and read it back."""
    message = CommitMessage(round_number, set_id, commit)
    assert CommitMessage.decode(message.encode()) == message


@given(st.lists(st.tuples(HASHES, U64), max_size=4), st.integers(0, 2**32 - 1))
def test_any_change_survives(authorities: list[tuple[bytes, int]], delay: int) -> None:
    """Write any scheduled change into a header and read it back."""
    change = ScheduledChange(tuple(authorities), delay)
    header = Header(bytes(32), 1, bytes(32), bytes(32), (change.item(),))
    assert scheduled_change(header) == change


@given(st.binary(max_size=300))
def test_any_bytes_are_a_message_or_a_scale_error(data: bytes) -> None:
    """Answer any bytes with a message that encodes to them, or with a ScaleError."""
    for decode in (Justification.decode, CommitMessage.decode, NeighborPacket.decode, WarpProof.decode):
        try:
            assert decode(data).encode() == data
        except ScaleError:
            continue
