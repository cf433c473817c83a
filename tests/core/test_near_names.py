"""The known name that a mistyped one means, found without comparing it with each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.suggestions import NearNames, closest

NAMES = ("cf_account_info", "chain_getBlock", "system_health", "state_getStorage")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("cf_accountInfo", "cf_account_info"),
        ("chain_get_block", "chain_getBlock"),
        ("system_helth", "system_health"),
        ("system_heallth", "system_health"),
        ("system_hxalth", "system_health"),
        ("state_getStorag", "state_getStorage"),
        ("nope", None),
        ("", None),
        ("system_health" * 20, None),
    ],
)
def test_one_wrong_letter_is_forgiven(typed: str, meant: str | None) -> None:
    """Find the name that a typo, another spelling or a missing letter means, and none for other words."""
    assert NearNames(NAMES).of(typed) == meant


@given(st.sampled_from(NAMES), st.integers(0, 12))
def test_any_letter_may_be_missing(name: str, place: int) -> None:
    """Find a name in which any one letter is missing."""
    assert NearNames(NAMES).of(name[:place] + name[place + 1 :]) == name


def test_a_beginning_of_three_letters_means_the_whole_name() -> None:
    """Complete a beginning of three letters, in any case; two are too few."""
    chains = ("Ethereum", "Bitcoin", "Arbitrum", "Assethub")
    assert closest("eth", chains) == ["Ethereum"]
    assert closest("ARB", chains) == ["Arbitrum"]
    assert closest("bi", chains) == []
