"""Fees of a transaction by its chain's base fee, and of one that replaces a pending one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.sdk.recovery.gas import DEFAULT_TIP, MAX_TIP, TIP_HISTORY_BLOCKS, Fees, current_fees, raised
from cfnode.sdk.recovery.transaction import PendingTransaction
from tests.sdk.scripted import Script, session

fees = st.integers(1, 10**12)


def pending(most: int, tip: int) -> PendingTransaction:
    """Return a pending transaction with these fees."""
    return PendingTransaction("0x" + "11" * 32, 7, bytes(20), b"", most, tip)


@given(fees, fees, fees, fees)
def test_both_fees_are_a_tenth_higher(most: int, tip: int, old_most: int, old_tip: int) -> None:
    """Raise both fees by a tenth at least, which nodes demand, and above the present ones."""
    after = raised(Fees(most, tip), pending(old_most, old_tip))
    assert after.most * 10 >= old_most * 11
    assert after.tip * 10 >= old_tip * 11
    assert after.most >= max(most, after.tip)
    assert after.tip >= tip


@given(fees, fees)
def test_the_gas_price_of_the_older_form_is_a_tenth_higher(price: int, old_price: int) -> None:
    """Raise the gas price of a legacy transaction by a tenth at least."""
    after = raised(Fees(price, price, is_legacy=True), pending(old_price, old_price))
    assert after.is_legacy
    assert after.most == after.tip >= price
    assert after.most * 10 >= old_price * 11


@pytest.mark.parametrize(("old", "new"), [(0, 1), (1, 2), (10, 11), (100, 110), (101, 112)])
def test_a_fee_rises_by_no_more_than_it_has_to(old: int, new: int) -> None:
    """Raise a fee by a tenth and, for the rounding, by one wei at most."""
    assert raised(Fees(0, 0), pending(old, old)) == Fees(new, new)


def proposed(tip: int, paid: Any) -> dict[str, Any]:
    """Return the answers of a provider that proposes a tip, and those that the last blocks took."""
    return {"eth_maxPriorityFeePerGas": hex(tip), "eth_feeHistory": {"reward": paid}}


@pytest.mark.parametrize(
    ("chain", "base", "answers", "tip"),
    [
        ("Ethereum", 10**9, {"eth_maxPriorityFeePerGas": "0x5"}, 5),
        ("Ethereum", 10**9, {"eth_maxPriorityFeePerGas": hex(10**18)}, MAX_TIP),
        ("Ethereum", 10**10, {"eth_maxPriorityFeePerGas": hex(10**18)}, 10**10),
        ("Ethereum", 10**9, {"eth_gasPrice": hex(10**9 + 7)}, 7),
        ("Ethereum", 10**9, {"eth_gasPrice": "0x1"}, 1),
        ("Ethereum", 0, {}, DEFAULT_TIP),
        ("Arbitrum", 10**8, {"eth_maxPriorityFeePerGas": "0x5"}, 0),
        ("Ethereum", 10**9, proposed(10**9, [[hex(3)], [hex(70)], [hex(8)]]), 70),
        ("Ethereum", 10**9, proposed(5, [[hex(70)]]), 5),
        ("Ethereum", 10**9, proposed(5, [["0x0"], ["0x0"]]), 5),
        ("Ethereum", 10**9, proposed(10**9, [["0x1"]] * TIP_HISTORY_BLOCKS + [[hex(10**9)]]), 1),
        ("Ethereum", 10**9, proposed(5, None), 5),
    ],
)
def test_a_tip_is_at_most_the_base_fee_or_the_maximum_and_what_the_last_blocks_took(
    chain: str, base: int, answers: dict[str, Any], tip: int
) -> None:
    """Bound a proposed tip by the base fee, the maximum, and what the last blocks paid."""
    steps = current_fees(session(), "http://evm.test", chain, {"baseFeePerGas": hex(base)})
    assert Script(answers).follow(steps) == Fees(2 * base + tip, tip)
