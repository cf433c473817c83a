"""SS58 addresses against well-known ones, and no other text."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cfnode.core import ss58

ALICE = bytes.fromhex("d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d")


@pytest.mark.parametrize(
    ("prefix", "address"),
    [
        (0, "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5"),
        (2, "HNZata7iMYWmk5RvZRTiAsSDhV8366zq2YGb3tLH5Upf74F"),
        (42, "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"),
        (2112, "cFNfitvPd2acNNFgijVN3Ls4gG112PZPq7sY2FGtPgEk25wV9"),
    ],
)
def test_alice_has_the_address_that_each_network_knows(prefix: int, address: str) -> None:
    """Write and read Alice's address in the form that each network knows."""
    assert ss58.encode(ALICE, prefix) == address
    assert ss58.decode(address) == (prefix, ALICE)


def test_the_prefix_is_chainflips_unless_another_is_asked_for() -> None:
    """Use Chainflip's prefix unless another is asked for."""
    assert ss58.encode(ALICE).startswith("cF")


@given(st.binary(min_size=32, max_size=33), st.integers(0, 16383))
@example(ALICE, 63)  # the last prefix of one byte
@example(ALICE, 64)
@example(ALICE, 256)  # its first byte is the lowest that begins a pair
@example(ALICE, 16383)
def test_what_is_encoded_can_be_decoded(account: bytes, prefix: int) -> None:
    """Encode any account under any prefix and decode it."""
    assert ss58.decode(ss58.encode(account, prefix), len(account)) == (prefix, account)


@given(st.binary(min_size=32, max_size=32), st.integers(0, 48), st.integers(1, 57))
def test_one_wrong_character_is_noticed(account: bytes, position: int, shift: int) -> None:
    """Notice one wrong character: money would go to another account."""
    address = ss58.encode(account)
    alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    wrong = alphabet[(alphabet.index(address[position]) + shift) % 58]
    try:
        decoded = ss58.decode(address[:position] + wrong + address[position + 1 :])
    except ss58.Ss58Error:
        return
    assert decoded[1] != account  # two bytes of checksum let one in 65,536 through; never the same account


@given(st.one_of(st.text(max_size=70), st.text("123ABCabc", max_size=64)))
def test_any_other_text_is_refused_with_its_own_error(text: str) -> None:
    """Refuse any other text with an error of its own kind."""
    with pytest.raises(ss58.Ss58Error):
        ss58.decode(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "base58"),
        ("5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY ", "base58"),
        ("5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQZ", "checksum"),
        ("5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKut", "32 bytes"),
        ("1" * 4096, "base58"),
    ],
)
def test_the_error_names_the_fault(text: str, words: str) -> None:
    """Name the fault of a malformed address: base58, checksum or length."""
    with pytest.raises(ss58.Ss58Error, match=words):
        ss58.decode(text)


@pytest.mark.parametrize(
    ("account", "prefix"), [(bytes(31), 42), (bytes(34), 42), (ALICE, -1), (ALICE, 16384)]
)
def test_what_cannot_be_an_address_is_not_written_as_one(account: bytes, prefix: int) -> None:
    """Refuse to write an account of another length or a prefix out of range."""
    with pytest.raises(ss58.Ss58Error):
        ss58.encode(account, prefix)
