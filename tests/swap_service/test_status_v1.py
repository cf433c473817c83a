"""A status of version 1 is one of version 2 with other names: each state and each failure has its own."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.swap_service.statuses import status
from cfnode.swaps.documents.status_v1 import flat_status
from tests.support.swap_service.records import CHANNEL, SENT, Record

NESTED: dict[str, Any] = {"fees": [], "srcAsset": "ETH"}


def failure(mode: str) -> dict[str, Any]:
    """Return the part of a status that failed, by the mode of its failure."""
    about = {"failedAt": 5, "failedBlockIndex": "1-2"}
    return about | {"failure": about | {"mode": mode, "reason": {"name": "N", "message": "M"}}}


@pytest.mark.parametrize(
    ("state", "flat"),
    [
        ("WAITING", "AWAITING_DEPOSIT"),
        ("RECEIVING", "AWAITING_DEPOSIT"),
        ("SWAPPING", "DEPOSIT_RECEIVED"),
        ("SENDING", "EGRESS_SCHEDULED"),
        ("SENT", "BROADCASTED"),
        ("COMPLETED", "COMPLETE"),
        ("FAILED", "FAILED"),
    ],
)
def test_each_state_has_its_name(state: str, flat: str) -> None:
    """Rename each state of version 2 to that of version 1, and the fees to feesPaid."""
    assert flat_status(NESTED | {"state": state}) == {"state": flat, "srcAsset": "ETH", "feesPaid": []}


def test_a_swap_that_is_executed_and_not_yet_sent_has_a_state_of_its_own() -> None:
    """Use SWAP_EXECUTED, which version 2 lacks, between execution and the scheduled payout."""
    executed = {"regular": {"executedAt": 7, "executedBlockIndex": "3-1"}}
    flat = flat_status(NESTED | {"state": "SWAPPING", "swap": executed})
    assert (flat["state"], flat["swapExecutedAt"]) == ("SWAP_EXECUTED", 7)


def test_of_chunks_the_last_executed_one_is_named() -> None:
    """Take executedAt from the last executed chunk rather than from the one under way."""
    chunks = {"dca": {"lastExecutedChunk": {"executedAt": 8}, "currentChunk": {"executedAt": 9}}}
    flat = flat_status(NESTED | {"state": "SWAPPING", "swap": chunks})
    assert (flat["state"], flat["swapExecutedAt"]) == ("DEPOSIT_RECEIVED", 8)


@pytest.mark.parametrize(
    ("part", "mode", "name"),
    [
        ("deposit", "DEPOSIT_IGNORED", "INGRESS_IGNORED"),
        ("swapEgress", "SWAP_OUTPUT_TOO_SMALL", "EGRESS_IGNORED"),
        ("refundEgress", "REFUND_OUTPUT_TOO_SMALL", "REFUND_EGRESS_IGNORED"),
    ],
)
def test_a_failure_keeps_its_reason(part: str, mode: str, name: str) -> None:
    """Rename each kind of failure, and keep its time, name and message."""
    flat = flat_status(NESTED | {"state": "FAILED", part: failure(mode)})
    assert (flat["state"], flat["failure"], flat["failedAt"]) == ("FAILED", name, 5)
    assert flat["error"] == {"name": "N", "message": "M"}


def test_a_broadcast_that_was_aborted_is_a_state_and_no_failure() -> None:
    """Write an aborted broadcast as a state with its time; version 1 has no failure for it."""
    flat = flat_status(NESTED | {"state": "FAILED", "swapEgress": failure("SENDING_FAILED")})
    assert (flat["state"], flat["broadcastAbortedAt"]) == ("BROADCAST_ABORTED", 5)
    assert "failure" not in flat


def test_the_swaps_egress_goes_before_a_refund() -> None:
    """Describe the output where there are both payouts, and the refund where it is the only one."""
    both = {"swapEgress": {"amount": "1"}, "refundEgress": {"amount": "2"}}
    assert flat_status(NESTED | {"state": "SENT"} | both)["egressType"] == "SWAP"
    refund = flat_status(NESTED | {"state": "SENT", "refundEgress": {"amount": "2"}})
    assert (refund["egressType"], refund["egressAmount"]) == ("REFUND", "2")


def test_a_whole_swap_keeps_all_that_version_1_names() -> None:
    """Carry over ids, transactions, amounts and fees of a completed swap."""
    record = Record()
    record.opened()
    record.requested()
    record.deposited()
    record.scheduled(20, 997)
    record.executed(20, 997, 906)
    record.paid()
    record.broadcast()
    record.about_broadcast("BroadcastSuccess", transaction_ref=SENT)
    nested = status(record, CHANNEL)
    flat = flat_status(nested)
    assert (flat["state"], flat["depositChannelId"], flat["swapId"]) == ("COMPLETE", CHANNEL, "12")
    assert flat["depositChannelMaxBoostFeeBps"] == 0
    assert flat["depositTransactionRef"] == nested["deposit"]["txRef"]
    assert flat["broadcastTransactionRef"] == f"0x{SENT.hex()}"
    assert (flat["egressAmount"], flat["depositAmount"]) == ("900", "1000")
    assert flat["feesPaid"] == nested["fees"]
