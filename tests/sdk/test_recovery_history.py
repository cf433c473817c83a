"""The failed call of each swap, found from events alone, in each order in which they may come."""

from __future__ import annotations

import pytest

from cfnode.core.schnorr import Signature
from cfnode.core.vault_calls import NATIVE_TOKEN, TransferParams, VaultCall, all_batch
from cfnode.sdk.recovery.findings import Findings
from cfnode.sdk.recovery.history import History
from cfnode.sdk.recovery.owner import Batch, Swap
from cfnode.swaps.journey import JourneyState
from tests.support.sdk.events import (
    AMOUNT,
    INGRESS,
    OTHER,
    RECEIVER,
    Named,
    aborted,
    batch,
    egress,
    fallback,
    message,
    request,
    success,
)

TWO = (request(1, 1), request(2, 2), egress(3, 1, 1), batch(3, 1, 1), egress(4, 2, 2), batch(4, 2, 2))
ONE_BATCH = (request(1, 1), request(2, 2), egress(3, 1, 1), egress(3, 2, 2, amount=5), batch(3, 1, 1, 2))
MESSAGE = (request(1, 1), egress(3, 1, 1), message(3, 1, 1))
UNKNOWN = (9, INGRESS, "TransferFallbackRequested", {"broadcast_id": "?"})

CASES: dict[str, tuple[tuple[Named, ...], dict[int, list[int]]]] = {
    "the first failed": ((*TWO, success(5, 1), fallback(5, 3), success(6, 2)), {1: [3], 2: []}),
    "the second failed": ((*TWO, success(5, 1), success(6, 2), fallback(6, 3)), {1: [], 2: [3]}),
    "both failed": (
        (*TWO, success(5, 1), fallback(5, 3), success(6, 2), fallback(6, 4)),
        {1: [3], 2: [4]},
    ),
    "the failure is reported later": ((*TWO, success(5, 1), fallback(7, 3)), {1: [3], 2: []}),
    "another receiver": ((*TWO, success(5, 1), fallback(5, 3, OTHER), success(6, 2)), {1: [], 2: []}),
    "one batch, two amounts": ((*ONE_BATCH, success(5, 1), fallback(5, 3, amount=5)), {1: [], 2: [3]}),
    "a refund failed": (
        (
            request(1, 1),
            egress(3, 1, 1, "RefundEgressScheduled"),
            batch(3, 1, 1),
            success(5, 1),
            fallback(5, 2),
        ),
        {1: [2]},
    ),
    "a message was aborted": ((*MESSAGE, aborted(6, 1)), {1: [1]}),
    "a message arrived late": ((*MESSAGE, aborted(6, 1), success(8, 1)), {1: []}),
    "a batch was aborted": ((*TWO, aborted(6, 1), aborted(6, 2)), {1: [1], 2: [2]}),
    "an event of another form": ((*TWO, UNKNOWN, success(5, 1), fallback(5, 3)), {1: [3], 2: []}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("backwards", [False, True])
def test_each_swap_has_its_own_calls(name: str, backwards: bool) -> None:
    """Give each swap its own failed calls, whichever way the events are read, or the reason for none."""
    events, wanted = CASES[name]
    history = History()
    for block, pallet, event, fields in sorted(events, key=lambda entry: entry[0], reverse=backwards):
        history.receive(block, [[(pallet, event, fields)]])
    for swap, calls in wanted.items():
        findings = Findings(history).find(Swap(str(swap), swap))
        assert findings.is_known
        assert [payment.broadcast_id for payment in findings.payments] == calls, (swap, findings)
        if not calls:
            assert findings.reason.startswith(f"nothing of {swap} has failed")
    assert not Findings(history).find(Swap("9", 9)).is_known


def events_of(*events: Named) -> Findings:
    """Return the findings of some events."""
    history = History()
    for block, pallet, event, fields in events:
        history.receive(block, [[(pallet, event, fields)]])
    return Findings(history)


def signed(block: int, number: int, call: VaultCall, nonce: int = 9) -> Named:
    """Return a broadcast's signed transaction; the signature is of any bytes."""
    data = call.data(nonce, Signature(bytes(32), bytes(20)))
    payload = {"chain_id": 1, "contract": b"\x0c" * 20, "data": data, "gas_limit": None}
    fields = {"broadcast_id": number, "transaction_payload": payload}
    return block, "EthereumBroadcaster", "TransactionBroadcastRequest", fields


THREE = all_batch(
    [(7, NATIVE_TOKEN)],
    [(b"\x07" * 20, NATIVE_TOKEN)],
    [
        TransferParams(NATIVE_TOKEN, OTHER, AMOUNT),
        TransferParams(NATIVE_TOKEN, RECEIVER, 5),
        TransferParams(NATIVE_TOKEN, RECEIVER, AMOUNT),
    ],
)


def test_an_aborted_batch_is_itself_the_call() -> None:
    """Offer the newest signed batch itself, with all its transfers, deployments and fetches."""
    older = signed(4, 1, THREE, 8)
    findings = events_of(*TWO[:1], *TWO[2:4], older, signed(5, 1, THREE), aborted(6, 1)).find(Swap("1", 1))
    (payment,) = findings.payments
    call = payment.signed
    assert call is not None
    assert (call.is_batch, call.is_offered, call.nonce, call.broadcast_id) == (True, False, 9, 1)
    assert call.transfer == TransferParams(NATIVE_TOKEN, RECEIVER, AMOUNT)
    assert [transfer.amount for transfer in call.transfers] == [AMOUNT, 5, AMOUNT]
    assert (call.deploys, call.fetches) == (((7, NATIVE_TOKEN),), ((b"\x07" * 20, NATIVE_TOKEN),))
    assert call.call.data(call.nonce, call.signature) == call.data


def test_an_aborted_batch_that_does_not_pay_the_receiver_is_no_call() -> None:
    """Offer no batch that pays another receiver."""
    other = all_batch([], [], [TransferParams(NATIVE_TOKEN, OTHER, AMOUNT)])
    findings = events_of(*TWO[:1], *TWO[2:4], signed(5, 1, other), aborted(6, 1)).find(Swap("1", 1))
    (payment,) = findings.payments
    assert (payment.state, payment.is_batch, payment.signed) == (JourneyState.ABORTED, True, None)


def test_a_batch_that_succeeded_after_all_is_no_call() -> None:
    """Offer no batch that succeeded after it was aborted."""
    events = (*TWO[:1], *TWO[2:4], signed(5, 1, THREE), aborted(6, 1), success(7, 1))
    findings = events_of(*events).find(Swap("1", 1))
    assert (findings.payments, "went through" in findings.reason) == ((), True)


def test_a_batch_names_all_of_its_failures() -> None:
    """Find all failed calls of one batch."""
    history = History()
    for block, pallet, event, fields in (*ONE_BATCH, success(5, 1), fallback(5, 3), fallback(5, 4, amount=5)):
        history.receive(block, [[(pallet, event, fields)]])
    findings = Findings(history).find(Batch("batch 1", "Ethereum", 1))
    assert sorted(payment.broadcast_id or 0 for payment in findings.payments) == [3, 4]


TRON_ID = 3_448_148_188
TRON_REFUND = (
    (
        1,
        "Swapping",
        "SwapRequested",
        {
            "swap_request_id": 1,
            "input_asset": "Trx",
            "origin": ("DepositChannel", {"channel_id": 4, "deposit_address": ("Tron", OTHER)}),
            "refund_address": ("Tron", RECEIVER),
        },
    ),
    (
        3,
        "Swapping",
        "RefundEgressScheduled",
        {"egress_id": ("Tron", 6), "swap_request_id": 1, "asset": "Trx", "amount": AMOUNT},
    ),
    (3, "TronIngressEgress", "BatchBroadcastRequested", {"broadcast_id": 9, "egress_ids": [("Tron", 6)]}),
    (6, "TronBroadcaster", "BroadcastAborted", {"broadcast_id": 9}),
)
"""A refund to the chain of the deposit, whose batch was aborted."""


def test_who_deposited_to_an_address_is_not_paid_there() -> None:
    """Take the refund's receiver from the request, and not the deposit address."""
    (payment,) = events_of(*TRON_REFUND).find(Swap("1", 1)).payments
    assert (payment.recipient, payment.signed) == (RECEIVER, None)


@pytest.mark.parametrize("chain_id", [None, TRON_ID])
def test_a_call_on_tron_is_read_with_the_id_of_its_chain(chain_id: int | None) -> None:
    """The events of other chains name theirs."""
    data = all_batch([], [], [TransferParams(NATIVE_TOKEN, RECEIVER, AMOUNT)]).data(
        9, Signature(bytes(32), bytes(20))
    )
    made = {"contract": b"\x0c" * 20, "data": data, "fee_limit": None, "function_selector": b"allBatch"}
    sent = 5, "TronBroadcaster", "TransactionBroadcastRequest"
    history = History({"Tron": chain_id})
    for block, pallet, event, fields in (
        *TRON_REFUND,
        (*sent, {"broadcast_id": 9, "transaction_payload": made}),
    ):
        history.receive(block, [[(pallet, event, fields)]])
    (payment,) = Findings(history).find(Swap("1", 1)).payments
    call = payment.signed
    assert (call and (call.chain_id, call.transfer.recipient)) == (chain_id and (TRON_ID, RECEIVER))


def test_a_call_is_found_by_its_own_number() -> None:
    """Find a call or a message by its own number, with its state."""
    events = (*TWO, success(5, 1), fallback(5, 3), success(6, 2), fallback(6, 4, OTHER))
    for number, receiver in ((3, RECEIVER), (4, OTHER)):
        (payment,) = events_of(*events).find(Batch("call", "Ethereum", number)).payments
        assert (payment.broadcast_id, payment.recipient, payment.state) == (
            number,
            receiver,
            JourneyState.FAILED,
        )
    sent = (message(4, 1, 1), aborted(6, 1))  # its egress is in an earlier block
    (payment,) = events_of(*sent).find(Batch("message", "Ethereum", 1)).payments
    assert (payment.broadcast_id, payment.is_batch, payment.state) == (1, False, JourneyState.ABORTED)
    late = events_of(*sent, success(8, 1)).find(Batch("message", "Ethereum", 1))
    assert late.payments == ()
    expired = (8, INGRESS, "FailedForeignChainCallExpired", {"broadcast_id": 3})
    (payment,) = (
        events_of(*TWO, success(5, 1), fallback(5, 3), expired).find(Batch("call", "Ethereum", 3)).payments
    )
    assert payment.state is JourneyState.EXPIRED
