"""The lines of swaps that do not go the usual way; tests/rpc/broker/test_broker_key.py has one that does."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.devchain import swap_log
from cfnode.devchain.swap_log import SwapLines
from cfnode.node.chain.block_events import BlockEvent

PLACE = bytes.fromhex("f39fd6e51aad88f6f4ce6ab8827279cfffb92266")
ETHER = 10**18


def egress(name: str, number: int, amount: int) -> BlockEvent:
    """Return the event of a scheduled payout."""
    fields = {"swap_request_id": 1, "egress_id": ("Ethereum", number), "asset": "Eth", "amount": amount}
    return BlockEvent("Swapping", name, fields)


def sent(broadcast: int, *numbers: int) -> BlockEvent:
    """Return the event of a batch that is sent."""
    ids = [("Ethereum", number) for number in numbers]
    return BlockEvent(
        "EthereumIngressEgress", "BatchBroadcastRequested", {"broadcast_id": broadcast, "egress_ids": ids}
    )


def ended(name: str, broadcast: int) -> BlockEvent:
    """Return the event of a broadcast's end."""
    return BlockEvent("EthereumBroadcaster", name, {"broadcast_id": broadcast})


def fallback(amount: int) -> BlockEvent:
    """Return the event of a requested fallback."""
    fields = {"asset": "Eth", "amount": amount, "destination_address": PLACE, "broadcast_id": 9}
    return BlockEvent("EthereumIngressEgress", "TransferFallbackRequested", fields)


def test_of_a_batch_the_transfer_that_failed_is_not_logged_as_paid() -> None:
    """Log the failed transfer of a batch with its command, and the others as arrived."""
    lines = SwapLines()
    payouts = [egress("SwapEgressScheduled", 1, 1 * ETHER), egress("RefundEgressScheduled", 2, 11 * ETHER)]
    assert list(lines.of(5, [*payouts, sent(7, 1, 2)])) == []
    assert list(lines.of(6, [ended("BroadcastSuccess", 8)])) == []  # of another transaction
    assert list(lines.of(7, [ended("BroadcastSuccess", 7), fallback(1 * ETHER)])) == [
        "📤 Refund of 11 ETH has arrived on Ethereum",
        "❌ 1 ETH could not be paid to 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266: cfnode recover Ethereum 9",
    ]
    assert list(lines.of(8, [ended("BroadcastSuccess", 7)])) == []


def test_an_aborted_transaction_and_a_payout_too_small_to_be_sent() -> None:
    """Log an aborted transaction, and a payout that is too small to be sent."""
    lines = SwapLines()
    ignored = {"swap_request_id": 3, "asset": "Usdc", "amount": 12_000, "reason": "…"}
    block = [egress("SwapEgressScheduled", 1, ETHER // 2), sent(7, 1), ended("BroadcastAborted", 7)]
    assert list(lines.of(5, [*block, BlockEvent("Swapping", "SwapEgressIgnored", ignored)])) == [
        "❌ Payout of 0.5 ETH could not be sent: Ethereum's broadcast 7 is aborted",
        "❌ 0.012 USDC of swap request 3 are not paid out: too little for the transfer",
    ]


def test_a_boosted_deposit_has_the_sum_of_its_parts_and_an_unknown_form_no_line() -> None:
    """Log a boosted deposit with the sum of its parts, and nothing for fields of an unknown form."""
    boosted: dict[str, Any] = {
        "asset": "Eth",
        "amounts": [("BoostPool", ETHER), ("LendingPool", ETHER)],
        "deposit_address": PLACE,
    }
    events = [
        BlockEvent("EthereumIngressEgress", "DepositBoosted", boosted),
        BlockEvent("EthereumIngressEgress", "DepositFailed", {"details": "later"}),
        BlockEvent("EthereumIngressEgress", "DepositFinalised", ()),
        BlockEvent(
            "EthereumIngressEgress", "DepositFinalised", boosted | {"amount": 1, "deposit_address": None}
        ),
    ]
    assert list(SwapLines().of(1, events)) == [
        "💰 Deposit of 2 ETH at 0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266, boosted",
        "💰 Deposit of 0.000000000000000001 ETH into the vault",
    ]


def test_swaps_of_the_chain_itself_have_no_line_and_what_is_kept_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Log no swap of the chain itself, and follow at most a fixed number of swaps."""
    monkeypatch.setattr(swap_log, "MAX_FOLLOWED_SWAPS", 1)
    lines = SwapLines()
    kinds = {1: "NetworkFee", 2: ("Regular", {}), 3: ("RegularNoNetworkFee", {})}
    executed = {"input_asset": "Eth", "input_amount": ETHER, "output_asset": "Btc", "output_amount": 3}
    block = [
        BlockEvent("Swapping", "SwapRequested", {"swap_request_id": number, "request_type": kind})
        for number, kind in kinds.items()
    ]
    block += [
        BlockEvent("Swapping", "SwapExecuted", executed | {"swap_request_id": number}) for number in kinds
    ]
    assert list(lines.of(1, block)) == ["🔁 Swapped 1 ETH for 0.00000003 BTC (swap request 3)"]
