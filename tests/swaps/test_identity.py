"""A channel is its chain, its number and its opening; a fact belongs to the newest opening before it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.assets import CHAINS
from cfnode.swaps.identity import ChannelId, UnknownChain, belongs, newest_opening, opened_channel

PLACES = st.tuples(st.integers(0, 50), st.integers(0, 5))


@given(st.sampled_from(sorted(CHAINS)), st.integers(0, 2**64 - 1), st.integers(0, 10**10 - 1))
def test_an_id_is_read_as_it_is_written(chain: str, number: int, block: int) -> None:
    """Read the id that was written, in any case of its letters."""
    channel = ChannelId(chain, number, block)
    assert ChannelId.parse(str(channel)) == channel
    assert ChannelId.parse(str(channel).upper()) == channel


@pytest.mark.parametrize(
    "text", ["", "7", "1-2-3", "1-Bitcoin", "1-Bitcoin-2-3", "١-Bitcoin-1", "12345678901-Tron-1"]
)
def test_another_text_is_no_channel(text: str) -> None:
    """Return None for a text that is no channel id: parts missing, foreign digits, a block too long."""
    assert ChannelId.parse(text) is None


def test_an_unknown_chain_is_named() -> None:
    """Raise an error with the chain's name for an id whose chain is unknown."""
    with pytest.raises(UnknownChain, match="Nowhere"):
        ChannelId.parse("1-Nowhere-1")


@given(st.sets(PLACES, min_size=1), PLACES)
def test_a_fact_belongs_to_one_opening_or_to_none(
    openings: set[tuple[int, int]], fact: tuple[int, int]
) -> None:
    """Give a fact to the newest opening before it, and to none if it is older than all."""
    owners = [opening for opening in openings if belongs(fact, opening, openings)]
    assert len(owners) == (min(openings) <= fact)
    assert not any(owners[0] < opening <= fact for opening in openings if owners)


def test_the_order_in_a_block_decides_about_its_facts() -> None:
    """A number used three times; the second time in the block of the first one's last deposit."""
    openings = [(10, 4), (20, 7), (30, 1)]
    owners = [
        newest_opening(openings, fact) for fact in [(10, 3), (10, 4), (20, 6), (20, 8), (29, 9), (30, 2)]
    ]
    assert owners == [None, (10, 4), (10, 4), (20, 7), (20, 7), (30, 1)]


def test_channels_of_all_kinds_share_their_numbers() -> None:
    """Read a channel's chain and number from swap, liquidity, account and private broker openings alike."""
    assert opened_channel("SwapDepositAddressReady", {"source_asset": "ArbUsdc", "channel_id": 3}) == (
        "Arbitrum",
        3,
    )
    assert opened_channel("LiquidityDepositAddressReady", {"asset": "Eth", "channel_id": 4}) == (
        "Ethereum",
        4,
    )
    assert opened_channel("AccountCreationDepositAddressReady", {"asset": "Btc", "channel_id": 5}) == (
        "Bitcoin",
        5,
    )
    assert opened_channel("PrivateBrokerChannelOpened", {"channel_id": 6}) == ("Bitcoin", 6)
    assert opened_channel("SwapRequested", {"channel_id": 6}) is None
