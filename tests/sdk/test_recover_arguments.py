"""Malformed arguments of the recovery's calls are refused before any exchange."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cfnode.sdk.errors import ValidationError
from cfnode.sdk.recovery import (
    FailedCall,
    FindCallsOfBatch,
    FindCandidates,
    FindFailedCalls,
    NoSuchCall,
    PrepareTransaction,
    SendTransaction,
    Wallet,
)
from tests.sdk.anvil import USER, require_eth_account
from tests.sdk.scripted import session
from tests.support.sdk.payloads import NAMES, entries, node, payload_of, raw, vector

EVM = "http://evm.test"


def prepared(sender: Any = b"\x11" * 20, **options: Any) -> PrepareTransaction:
    """Return the preparation of a transaction."""
    test_vector = vector(NAMES[0])
    manager, key = raw(test_vector["inputs"]["key_manager"]), raw(test_vector["agg_key"]["compressed"])
    failed = FailedCall(payload_of(test_vector), key, manager, 6, 6, None)
    return PrepareTransaction(failed, EVM, sender, **options)


@pytest.mark.parametrize(
    "made",
    [
        lambda: FindFailedCalls("ethereum", USER),  # type: ignore[arg-type]
        lambda: FindFailedCalls("ethereum", b"\x11" * 19),
        lambda: prepared(USER),
        lambda: prepared(b""),
        lambda: prepared(None),
        lambda: prepared(max_fee=-1),
        lambda: prepared(max_fee=1.5),
        lambda: prepared(max_fee=True),
        lambda: SendTransaction("0x02", EVM),  # type: ignore[arg-type]
    ],
)
def test_a_malformed_argument_is_refused(made: Callable[[], object]) -> None:
    """Refuse a text in place of bytes, a wrong length and a fee that is no whole number."""
    with pytest.raises(ValidationError, match="expected"):
        made()


def test_a_key_in_place_of_an_account_is_not_repeated() -> None:
    """Say that 32 bytes are no account without printing them: they may be a key."""
    secret = b"\x5e\xc7" * 16
    with pytest.raises(ValidationError, match="expected the 20 bytes of an account, not 32 bytes") as caught:
        prepared(secret)
    assert not any(form in str(caught.value) for form in (secret.hex(), repr(secret)))


def test_a_key_that_is_none_is_malformed() -> None:
    """Refuse a private key that is None."""
    require_eth_account()
    with pytest.raises(ValidationError, match="the private key is malformed"):
        Wallet.from_secret(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [0, -1, 2**40])
def test_a_number_that_no_broadcast_or_swap_has(number: int) -> None:
    """Raise NoSuchCall for a broadcast or swap number that the chain has not reached."""
    script = node(vector(NAMES[0]), offered=True, now=entries((7, 6)))
    with pytest.raises(NoSuchCall, match="the State Chain's last number is 10"):
        script.run(FindCallsOfBatch("ethereum", number), session())
    if number >= 0:
        with pytest.raises(NoSuchCall, match=f"there is no swap {number}"):
            script.run(FindCandidates(number), session())
