"""Payments that the recovery finds: of an address in any spelling, of one opening of a channel."""

from __future__ import annotations

import pytest

from cfnode.sdk.recovery.findings import Findings
from cfnode.sdk.recovery.history import History
from cfnode.sdk.recovery.owner import Address, Channel, Owner, read_owner
from cfnode.swaps.identity import ChannelId
from tests.support.sdk.events import SWAPPING, Named, batch, egress, fallback, request, success

RECEIVER = "0xFcd3C82b154CB4717Ac98718D0Fd13EEBA3D2754"
DEPOSIT = "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"


def opening(block: int, number: int, address: str = DEPOSIT) -> Named:
    """Return the opening of a channel."""
    fields = {"source_asset": "Btc", "channel_id": number, "deposit_address": ("Btc", address.encode())}
    return block, SWAPPING, "SwapDepositAddressReady", fields


def from_channel(block: int, swap: int, number: int, address: str = DEPOSIT) -> Named:
    """Return a swap request of a channel's deposit."""
    at, pallet, name, fields = request(block, swap)
    origin = {"channel_id": number, "deposit_address": ("Btc", address.encode())}
    return at, pallet, name, fields | {"origin": ("DepositChannel", origin)}


def failed(block: int, swap: int, call: int) -> tuple[Named, ...]:
    """Return the payout of a swap, which its receiver did not take."""
    amount = 10**18 + swap
    sent = egress(block, swap, swap, amount=amount)
    return sent, batch(block, swap, swap), success(block + 1, swap), fallback(block + 1, call, amount=amount)


def broadcasts_of(events: tuple[Named, ...], owner: Owner, *, backwards: bool) -> list[int | None]:
    """Return the broadcasts of the payments that an owner has."""
    history = History()
    for block, pallet, event, fields in sorted(events, key=lambda entry: entry[0], reverse=backwards):
        history.receive(block, [[(pallet, event, fields)]])
    return [payment.broadcast_id for payment in Findings(history).find(owner).payments]


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("text", [DEPOSIT, DEPOSIT.upper()])
def test_a_deposit_address_is_found_in_any_spelling(text: str, backwards: bool) -> None:
    """Find a deposit address of Bitcoin in either case, however it was stored."""
    events = (opening(1, 7), from_channel(2, 1, 7), *failed(3, 1, 9))
    owner = read_owner(text)
    assert isinstance(owner, Address)
    assert broadcasts_of(events, owner, backwards=backwards) == [9]
    as_given = (opening(1, 7, DEPOSIT.upper()), from_channel(2, 1, 7, DEPOSIT.upper()), *failed(3, 1, 9))
    assert broadcasts_of(as_given, owner, backwards=backwards) == [9]


def test_an_address_is_repeated_with_its_checksum() -> None:
    """The text is what answers about the owner repeat."""
    for text in (RECEIVER, RECEIVER.lower(), RECEIVER.upper()):
        assert read_owner(text).text == RECEIVER


@pytest.mark.parametrize("backwards", [False, True])
def test_each_opening_of_a_number_has_its_own_payments(backwards: bool) -> None:
    """Give payments to the opening before them, of three openings of one number."""
    events = (
        *(opening(1, 7), from_channel(2, 1, 7), *failed(3, 1, 11)),
        *(opening(10, 7), from_channel(12, 2, 7), *failed(13, 2, 12)),
        opening(20, 7),
    )
    for block, calls in ((1, [11]), (10, [12]), (20, [])):
        owner = read_owner(f"{block}-bitcoin-7")
        assert owner == Channel(f"{block}-Bitcoin-7", ChannelId("Bitcoin", 7, block))
        assert broadcasts_of(events, owner, backwards=backwards) == calls


def test_a_liquidity_providers_opening_ends_a_channel() -> None:
    """Give nothing to a channel whose number a provider's channel took over."""
    fields = {"asset": "Btc", "channel_id": 7, "deposit_address": ("Btc", DEPOSIT.encode())}
    events = (
        opening(1, 7),
        (5, "LiquidityProvider", "LiquidityDepositAddressReady", fields),
        from_channel(6, 1, 7),
        *failed(7, 1, 9),
    )
    assert broadcasts_of(events, read_owner("1-Bitcoin-7"), backwards=False) == []
