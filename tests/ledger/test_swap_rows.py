"""Rows of swaps, from events alone: whose a swap is, what each chunk did, who got which part of a fee."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from cfnode.core import ss58
from cfnode.core.addresses import NETWORKS
from cfnode.ledger.decoding import DecodedBlock, DecodedEvent
from cfnode.ledger.rows import Known, Rows, rows_of

BROKER, AFFILIATE, SECOND, OTHER = (bytes([number]) * 32 for number in (1, 2, 3, 4))
DESTINATION, REFUND = ("Arb", b"\xaa" * 20), ("Eth", b"\xbb" * 20)


def account(public: bytes) -> str:
    """Return an account's text."""
    return ss58.encode(public, 2112)


def of(*accounts: bytes) -> Known:
    """Return what books of these accounts know at first; of all accounts without any."""
    return Known(NETWORKS["Development"], frozenset(accounts) or None)


def rows(known: Known, *events: tuple[str, Mapping[str, Any]], number: int = 5) -> Rows:
    """Return the rows of a block with these events, each a pallet and a name with fields."""
    listed = tuple(
        DecodedEvent(index, *name.split("."), fields=dict(fields))
        for index, (name, fields) in enumerate(events)
    )
    return rows_of(DecodedBlock(number, "0x05", "0x04", 30_000, 1, listed), known)


def requested(*shares: tuple[bytes, int], number: int = 12, **changes: Any) -> tuple[str, dict[str, Any]]:
    """Return the request of a swap with shares of its broker fee."""
    expiry = ("RefundIfExpires", {"refund_address": ("ExternalAddress", REFUND)})
    usual: dict[str, Any] = {
        "swap_request_id": number,
        "input_asset": "Eth",
        "input_amount": 1_000,
        "output_asset": "ArbUsdc",
        "broker_fees": [{"account": shareholder, "bps": bps} for shareholder, bps in shares],
        "request_type": ("Regular", {"output_action": ("Egress", {"output_address": DESTINATION})}),
        "origin": ("DepositChannel", {"channel_id": 7, "broker_id": BROKER}),
        "dca_parameters": None,
        "price_limits_and_expiry": {"expiry_behaviour": expiry},
    }
    return "Swapping.SwapRequested", usual | changes


def scheduled(swap: int = 20, number: int = 12) -> tuple[str, dict[str, Any]]:
    """Return the schedule of a chunk."""
    fields = {"swap_request_id": number, "swap_id": swap, "input_amount": 997, "execute_at": 7}
    return "Swapping.SwapScheduled", fields


def executed(fee: int, swap: int = 20, number: int = 12) -> tuple[str, dict[str, Any]]:
    """Return the execution of a chunk with its broker fee."""
    return "Swapping.SwapExecuted", {
        "swap_request_id": number, "swap_id": swap, "input_asset": "Eth", "output_asset": "ArbUsdc",
        "input_amount": 997, "intermediate_amount": None, "output_amount": 906, "network_fee": 2,
        "broker_fee": fee,
    }  # fmt: skip


def credited(to: bytes, amount: int, asset: str = "Usdc") -> tuple[str, dict[str, Any]]:
    """Return a credit to an account."""
    fields = {"account_id": to, "asset": asset, "amount_credited": amount, "new_balance": amount}
    return "AssetBalances.AccountCredited", fields


# Requests


def test_a_request_is_its_brokers_and_names_where_money_goes() -> None:
    """Write one row of a request with its broker, channel, addresses and chunks, and a row for each share."""
    chunks = {"number_of_chunks": 3, "chunk_interval": 2}
    tables = rows(of(), requested((BROKER, 15), (AFFILIATE, 5), dca_parameters=chunks))
    (request,) = tables["requests"]
    assert (request["request"], request["kind"], request["account"]) == (12, "Regular", account(BROKER))
    assert (request["origin"], request["chain"], request["channel"]) == ("DepositChannel", "Ethereum", 7)
    assert (request["source"], request["target"], request["amount"]) == ("Eth", "ArbUsdc", 1_000)
    assert request["destination"] == "0x" + "aa" * 20
    assert request["refund_address"] == "0x" + "bb" * 20
    assert (request["chunks"], request["chunk_interval"]) == (3, 2)
    shares = [(row["account"], row["bps"], row["place"]) for row in tables["shares"]]
    assert shares == [(account(BROKER), 15, 0), (account(AFFILIATE), 5, 1)]


@pytest.mark.parametrize(
    ("origin", "owner"),
    [
        (("OnChainAccount", OTHER), OTHER),
        (("Vault", {"tx_id": ("Evm", b"\x07" * 32), "broker_id": AFFILIATE}), AFFILIATE),
        (("Vault", {"tx_id": ("Evm", b"\x07" * 32), "broker_id": None}), BROKER),
        ("Internal", BROKER),
    ],
)
def test_a_request_is_of_who_began_it_or_else_of_the_first_share(origin: Any, owner: bytes) -> None:
    """Attribute a request to its account or broker, and else to the first share."""
    (request,) = rows(of(), requested((BROKER, 15), origin=origin))["requests"]
    assert request["account"] == account(owner)


def test_a_request_without_broker_limits_and_address() -> None:
    """Leave account and addresses empty where the request states none."""
    tables = rows(of(), requested(origin="Internal", price_limits_and_expiry=None, request_type="NetworkFee"))
    (request,) = tables["requests"]
    assert (request["account"], request["destination"], request["refund_address"]) == (None, None, None)
    assert request["kind"] == "NetworkFee"


def test_a_swap_on_the_chain_pays_and_refunds_an_account() -> None:
    """Write accounts as destination and refund of a swap on chain."""
    kind = ("Regular", {"output_action": ("CreditOnChain", {"account_id": OTHER})})
    expiry = {"expiry_behaviour": ("RefundIfExpires", {"refund_address": ("InternalAccount", OTHER)})}
    about = {"origin": ("OnChainAccount", OTHER), "request_type": kind, "price_limits_and_expiry": expiry}
    (request,) = rows(of(), requested(**about))["requests"]
    assert (request["destination"], request["refund_address"]) == (account(OTHER), account(OTHER))


def test_books_of_an_account_leave_out_the_swaps_of_others() -> None:
    """Skip requests and chunks of other accounts, also in later blocks."""
    known = of(OTHER)
    assert not rows(known, requested((BROKER, 15)), scheduled(), executed(0))
    mine = rows(known, requested((OTHER, 15), number=13), scheduled(21, 13), executed(0, 21, 13), number=6)
    assert [row["request"] for row in mine["requests"]] == [13]
    assert [(row["swap"], row["state"]) for row in mine["swaps"]] == [(21, "scheduled"), (21, "executed")]


# Chunks


def test_each_step_of_a_chunk_is_a_row_of_its_request() -> None:
    """Write a row for each step of a chunk, with reason or amounts, and none for a fee of zero."""
    known = of()
    reason = {"swap_id": 20, "reason": "PriceImpactLimit"}
    first = rows(known, requested(), scheduled())
    later = rows(
        known,
        ("Swapping.SwapRescheduled", reason | {"execute_at": 9}),
        executed(0),
        ("Swapping.SwapAborted", {"swap_id": 21, "reason": "MinPriceViolation"}),
        ("Swapping.SwapRequestCompleted", {"swap_request_id": 12, "reason": "Executed"}),
        number=6,
    )
    steps = [(row["state"], row["request"], row["execute_at"], row["reason"])
             for row in (*first["swaps"], *later["swaps"])]  # fmt: skip
    assert steps == [
        ("scheduled", 12, 7, None),
        ("rescheduled", 12, 9, "PriceImpactLimit"),
        ("executed", 12, None, None),
        ("aborted", None, None, "MinPriceViolation"),  # a chunk that the books have not seen before
    ]
    assert (later["swaps"][1]["input"], later["swaps"][1]["output"]) == (997, 906)
    assert [(row["request"], row["reason"]) for row in later["completions"]] == [(12, "Executed")]
    assert [(row["kind"], row["amount"]) for row in later["fees"]] == [("network", 2)], (
        "a fee of 0 has no row"
    )


# Commissions


def commissions(tables: Rows) -> list[tuple[str, int]]:
    """Return account and amount of the commissions."""
    return [(row["account"], row["amount"]) for row in tables["commissions"]]


def test_a_broker_fee_is_shared_out_as_the_credits_before_it() -> None:
    """Take the commissions from the credits that precede the execution and add up to its fee."""
    begun = requested((BROKER, 15), (AFFILIATE, 5))
    tables = rows(of(), begun, scheduled(), credited(BROKER, 6), credited(AFFILIATE, 2), executed(8))
    assert commissions(tables) == [(account(BROKER), 6), (account(AFFILIATE), 2)]
    assert {row["broker"] for row in tables["commissions"]} == {account(BROKER)}
    assert [(row["kind"], row["amount"]) for row in tables["fees"]] == [("network", 2), ("broker", 8)]


def test_credits_of_another_kind_are_no_commission() -> None:
    """Skip credits of another asset, account or amount."""
    begun = requested((BROKER, 15))
    other = (credited(BROKER, 8, "Eth"), credited(OTHER, 8), credited(BROKER, 9))
    tables = rows(of(), begun, scheduled(), *other, credited(BROKER, 8), executed(8))
    assert commissions(tables) == [(account(BROKER), 8)]


def test_a_share_that_comes_to_nothing_has_no_credit() -> None:
    """Skip a share whose part of the fee was rounded to nothing."""
    begun = requested((BROKER, 15), (AFFILIATE, 1), (SECOND, 4))
    tables = rows(of(), begun, scheduled(), credited(BROKER, 6), credited(SECOND, 1), executed(7))
    assert commissions(tables) == [(account(BROKER), 6), (account(SECOND), 1)]


def test_each_credit_is_one_swaps() -> None:
    """Two chunks of a block with the same fee: each takes a credit of its own."""
    begun, twice = requested((BROKER, 15)), (credited(BROKER, 8), credited(BROKER, 8))
    tables = rows(of(), begun, scheduled(), scheduled(21), *twice, executed(8), executed(8, 21))
    assert [(row["swap"], row["amount"]) for row in tables["commissions"]] == [(20, 8), (21, 8)]


def test_a_fee_without_its_credits_is_logged_and_lacks_commissions(caplog: pytest.LogCaptureFixture) -> None:
    """Log a broker fee that no credits make up, and write no commission for it."""
    caplog.set_level(logging.ERROR, "cfnode.ledger")
    tables = rows(of(), requested((BROKER, 15)), scheduled(), credited(BROKER, 7), executed(8))
    assert commissions(tables) == []
    assert [(row["kind"], row["amount"]) for row in tables["fees"]] == [("network", 2), ("broker", 8)]
    assert "no credits add up to the broker fee 8 of swap 20" in caplog.text


# Events of an unknown shape


def test_an_event_of_an_unknown_shape_has_a_row_in_unread_and_no_other() -> None:
    """Write an event with a missing field as unread alone, and forget what it stated."""
    known = of()
    broken = requested((BROKER, 15))
    del broken[1]["output_asset"]
    tables = rows(known, broken, requested((BROKER, 15), number=13))
    ((unread),) = tables["unread"]
    assert (unread["pallet"], unread["name"]) == ("Swapping", "SwapRequested")
    assert unread["reason"] == "KeyError: 'output_asset'"
    assert [row["request"] for row in tables["requests"]] == [13]
    assert {row["request"] for row in tables["shares"]} == {13}
    assert known.request(12) is None
