"""One check of an address, one comparison, one text."""

from __future__ import annotations

import pytest

from cfnode.core.addresses import AddressError, parse_address
from cfnode.core.assets import CHAINS
from cfnode.swaps.addresses import address_text, is_same_address, read_address, repeated_address
from cfnode.swaps.checksums import checksum_text
from cfnode.swaps.limits import boost_fee_bps
from cfnode.swaps.timing import BLOCK_TIMES, blocks_ms, lifetime_blocks, lifetime_ms

EVM = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
BITCOIN = "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"


@pytest.mark.parametrize("chain", ["Ethereum", "Arbitrum", "Bsc"])
def test_one_letter_in_the_wrong_case_is_refused(chain: str) -> None:
    """Accept lower, upper and checksum case, and refuse a mixture that the checksum contradicts."""
    for good in (EVM, EVM.lower(), "0x" + EVM[2:].upper()):
        assert address_text(read_address(chain, good)) == EVM
    with pytest.raises(AddressError, match=f"is wrong .* {EVM} if the letters are right"):
        read_address(chain, EVM.replace("F6F4", "f6F4"))


def test_bitcoin_is_spelled_in_one_way() -> None:
    """Compare Bitcoin addresses without regard to case, and write them in lower case."""
    assert (
        read_address("Bitcoin", BITCOIN.upper())
        == read_address("Bitcoin", BITCOIN)
        == ("Btc", BITCOIN.encode())
    )
    as_given = parse_address("Bitcoin", BITCOIN.upper())
    assert is_same_address(as_given, parse_address("Bitcoin", BITCOIN))
    assert address_text(as_given) == BITCOIN
    assert not is_same_address(as_given, parse_address("Bitcoin", "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2"))


def test_answers_repeat_an_address_in_one_spelling() -> None:
    """A text that is no address is left to the reader that refuses it."""
    for chain in ("Ethereum", "Arbitrum", "Bsc"):
        for written in (EVM, EVM.lower(), EVM[2:].upper()):
            assert repeated_address(chain, written) == EVM
    assert repeated_address("Bitcoin", BITCOIN.upper()) == BITCOIN
    polkadot = "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5"
    for chain, text in (("Polkadot", polkadot), ("Ethereum", EVM.replace("F6F4", "f6F4")), ("Tron", "T1")):
        assert repeated_address(chain, text) == text


def test_a_stored_text_gets_the_checksum_of_evm_accounts_only() -> None:
    """Leave other texts, and wrong checksums, as they are."""
    assert checksum_text(EVM.lower()) == EVM
    for text in ("", "0x" + "ab" * 32, "ab" * 20, BITCOIN, EVM.replace("F6F4", "f6F4")):
        assert checksum_text(text) == text


def test_other_chains_keep_their_text() -> None:
    """Write a Tron address as it was read; 20 equal bytes on two chains are two addresses."""
    tron = "TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf"
    assert address_text(read_address("Tron", tron)) == tron
    assert not is_same_address(("Eth", bytes(20)), ("Arb", bytes(20)))


def test_a_channels_lifetime_follows_from_the_one_table_of_block_times() -> None:
    """Reckon lifetimes from one table of block times: 24 hours on all chains but four."""
    assert set(BLOCK_TIMES) == set(CHAINS)
    hours = {chain: lifetime_ms(chain) / 3_600_000 for chain in CHAINS}
    assert {chain: round(length, 1) for chain, length in hours.items() if round(length, 1) != 24} == {
        "Ethereum": 20.6,
        "Arbitrum": 25.0,
        "Solana": 48.0,
        "Assethub": 6.0,
    }
    assert lifetime_blocks("Ethereum") == 6_171
    assert blocks_ms("Arbitrum", 100) == 26_000


@pytest.mark.parametrize("amount", [1_000_999, 10_000, 10**8, 123_456_789])
@pytest.mark.parametrize("bps", [1, 5, 10, 30])
def test_the_rate_of_a_boost_is_the_one_that_was_charged(amount: int, bps: int) -> None:
    """Recover the rate from amount and fee, though the chain rounds the fee down."""
    assert boost_fee_bps(amount, amount * bps // 10_000) == bps


def test_nothing_lent_is_no_rate() -> None:
    """Return the rate 0 for a loan of 0 instead of a division by it."""
    assert boost_fee_bps(0, 0) == 0
