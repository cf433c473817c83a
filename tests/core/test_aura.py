"""Slots, authors and seals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cfnode.core.aura import (
    AuraError,
    author_index,
    authorities_change,
    pre_runtime_item,
    seal_item,
    sealed,
    slot_of,
    verify_seal,
    without_seal,
)
from cfnode.core.header import DigestItem, DigestKind, Header
from cfnode.core.keys import Keypair

PAIRS = [Keypair.from_suri(uri, "sr25519") for uri in ("//Alice", "//Bob", "//Charlie")]
KEYS = [pair.public for pair in PAIRS]
UNSEALED = Header(bytes(32), 7, bytes(32), bytes(32), (pre_runtime_item(4),))
SIGNED = sealed(UNSEALED, PAIRS[1].sign(UNSEALED.hash))


def test_items_stand_in_the_header_as_on_the_main_net() -> None:
    """Encode slot and seal as the main net's headers have them."""
    assert pre_runtime_item(258).encode().hex() == "0661757261" + "20" + "0201000000000000"
    assert seal_item(bytes(64)).encode().hex() == "0561757261" + "0101" + "00" * 64


def test_the_authority_whose_turn_it_is_has_sealed_the_block() -> None:
    """Verify the seal of the authority whose slot it is, over the header without its seal."""
    assert slot_of(SIGNED) == 4
    assert verify_seal(SIGNED, KEYS) == 1 == author_index(4, 3)
    assert without_seal(SIGNED)[0] == UNSEALED
    assert UNSEALED.hash != SIGNED.hash


def test_one_authority_has_every_slot() -> None:
    """Give a single authority every slot, and refuse an empty set."""
    assert [author_index(slot, 1) for slot in (0, 1, 7)] == [0, 0, 0]
    with pytest.raises(AuraError):
        author_index(7, 0)


def test_another_authority_another_header_or_another_set_is_refused() -> None:
    """Refuse a seal of another authority, for another header or another set."""
    wrong = sealed(UNSEALED, PAIRS[0].sign(UNSEALED.hash))
    for header, keys in (
        (wrong, KEYS),
        (replace(SIGNED, number=8), KEYS),
        (SIGNED, KEYS[:2]),
        (SIGNED, []),
        (UNSEALED, KEYS),
    ):
        with pytest.raises(AuraError):
            verify_seal(header, keys)


def test_the_seal_is_the_last_item_and_the_only_one() -> None:
    """Accept one seal, of Aura, as the last item of the digest."""
    seal = SIGNED.digest[-1]
    foreign = DigestItem(DigestKind.SEAL, b"BABE", bytes(64))
    for digest in ((), (seal, pre_runtime_item(4)), (pre_runtime_item(4), seal, seal), (foreign,)):
        with pytest.raises(AuraError):
            without_seal(replace(SIGNED, digest=digest))


def test_a_header_names_exactly_one_slot() -> None:
    """Read the slot only where exactly one item states it."""
    short = DigestItem(DigestKind.PRE_RUNTIME, b"aura", bytes(7))
    for digest in ((), (pre_runtime_item(1), pre_runtime_item(1)), (short,)):
        with pytest.raises(AuraError):
            slot_of(replace(UNSEALED, digest=digest))
    other = DigestItem(DigestKind.PRE_RUNTIME, b"BABE", b"x")
    assert slot_of(replace(UNSEALED, digest=(other, pre_runtime_item(9)))) == 9


def test_new_authorities_are_read_from_the_header() -> None:
    """Read new authorities from the digest, skip a disabled one, and refuse a list that is cut short."""
    change = DigestItem(DigestKind.CONSENSUS, b"aura", b"\x01\x08" + KEYS[0] + KEYS[1])
    disabled = DigestItem(DigestKind.CONSENSUS, b"aura", b"\x02\x00\x00\x00\x00")
    assert authorities_change(UNSEALED) is None
    assert authorities_change(replace(UNSEALED, digest=(disabled,))) is None
    assert authorities_change(replace(UNSEALED, digest=(disabled, change))) == (KEYS[0], KEYS[1])
    with pytest.raises(AuraError):
        authorities_change(replace(UNSEALED, digest=(replace(change, data=b"\x01\x08" + KEYS[0]),)))
