"""Refusals of the State Chain in words."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.refusals import NOT_REGISTERED, ModuleRefusal, read_refusal, refusal_text

NO_FUNDS = (
    'KnownModuleError { pallet: "Swapping", name: "NoFundsAvailable", '
    'error: "The withdrawal is not possible because not enough funds are available." }'
)


@pytest.mark.parametrize(
    ("message", "method", "text"),
    [
        (
            NO_FUNDS,
            "broker_withdraw_fees",
            "The withdrawal is not possible because not enough funds are available "
            "(Swapping.NoFundsAvailable); wait for the first fee; `cfnode status` prints what was earned",
        ),
        (
            "Module error ‘InvalidTick‘ from pallet ‘LiquidityPools‘: ‘The tick is invalid.‘",
            "lp_set_limit_order",
            "The tick is invalid (LiquidityPools.InvalidTick)",
        ),
        (
            "DispatchError(BadOrigin)",
            "broker_withdraw_fees",
            f"this account may not make this call (BadOrigin); {NOT_REGISTERED['broker_']}",
        ),
        ("DispatchError: BadOrigin", "cf_x", "this account may not make this call (BadOrigin)"),
        (
            "Invalid(Payment)",
            "",
            "the account cannot pay the transaction's fee (Payment); fund the account with FLIP",
        ),
        (
            "DispatchError(Token(FundsUnavailable))",
            "",
            "the account has too little FLIP (Token(FundsUnavailable)); fund the account with FLIP",
        ),
        ("DispatchError(PoolDoesNotExist)", "", "PoolDoesNotExist"),
        (
            "DispatchError(NoPrivateChannelExistsForBroker)",
            "broker_request_swap_parameter_encoding",
            "the broker has no open private channel for vault swaps of Bitcoin "
            "(Swapping.NoPrivateChannelExistsForBroker); "
            "open one with `cfnode rpc broker_open_private_btc_channel`",
        ),
    ],
)
def test_a_refusal_is_the_pallets_own_sentence_and_what_to_do(message: str, method: str, text: str) -> None:
    """Print the pallet's own sentence, its error's name and what to do about it."""
    refusal = read_refusal(message)
    assert refusal is not None
    assert refusal_text(refusal, method) == text


@pytest.mark.parametrize("message", ["", "Invalid hex", "KnownModuleError { }", NO_FUNDS[:-1], "x" * 20_000])
def test_another_text_is_no_refusal(message: str) -> None:
    """Read no refusal from another text, or from one cut short."""
    assert read_refusal(message) is None


@given(st.text(max_size=40), st.text(min_size=1, max_size=20), st.text(max_size=80))
def test_what_the_node_quotes_is_read_back(pallet: str, name: str, words: str) -> None:
    """Read back every sentence as the node quotes it, escapes included."""
    quoted = (json.dumps(text, ensure_ascii=False) for text in (pallet, name, words))
    message = "KnownModuleError {{ pallet: {}, name: {}, error: {} }}".format(*quoted)
    refusal = read_refusal(message)
    is_plain = not any(ord(letter) < 32 and letter not in "\n\t" for letter in pallet + name + words)
    if is_plain:
        assert refusal == ModuleRefusal(pallet, name, words)


@given(st.text(max_size=200))
def test_no_text_breaks_the_reader(message: str) -> None:
    """Survive any text: it comes from a node that may be anyone's."""
    if (refusal := read_refusal(message)) is not None:
        refusal_text(refusal)
