"""Which failed call belongs to which swap? Played with events alone, in each order in which they may come."""

from __future__ import annotations

import pytest

from cfnode.core.schnorr import Signature
from cfnode.core.vault_calls import NATIVE, Transfer, VaultCall, all_batch
from cfnode.sdk.recovery.findings import Findings
from cfnode.sdk.recovery.history import History
from cfnode.sdk.recovery.owner import Batch, Swap
from cfnode.swaps.journey import State
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
    events, wanted = CASES[name]
    history = History()
    for block, pallet, event, fields in sorted(events, key=lambda each: each[0], reverse=backwards):
        history.receive(block, [[(pallet, event, fields)]])
    for swap, calls in wanted.items():
        found = Findings(history).find(Swap(str(swap), swap))
        assert found.is_known
        assert [each.broadcast_id for each in found.payments] == calls, (swap, found)
        if not calls:
            assert found.reason.startswith(f"nothing of {swap} has failed")
    assert not Findings(history).find(Swap("9", 9)).is_known


def events_of(*events: Named) -> Findings:
    history = History()
    for block, pallet, event, fields in events:
        history.receive(block, [[(pallet, event, fields)]])
    return Findings(history)


def signed(block: int, number: int, call: VaultCall, nonce: int = 9) -> Named:
    """A broadcast's signed transaction; the signature is of any bytes."""
    data = call.data(nonce, Signature(bytes(32), bytes(20)))
    payload = {"chain_id": 1, "contract": b"\x0c" * 20, "data": data, "gas_limit": None}
    fields = {"broadcast_id": number, "transaction_payload": payload}
    return block, "EthereumBroadcaster", "TransactionBroadcastRequest", fields


THREE = all_batch(
    [(7, NATIVE)],
    [(b"\x07" * 20, NATIVE)],
    [Transfer(NATIVE, OTHER, AMOUNT), Transfer(NATIVE, RECEIVER, 5), Transfer(NATIVE, RECEIVER, AMOUNT)],
)


def test_an_aborted_batch_is_itself_the_call() -> None:
    older = signed(4, 1, THREE, 8)
    found = events_of(*TWO[:1], *TWO[2:4], older, signed(5, 1, THREE), aborted(6, 1)).find(Swap("1", 1))
    (payment,) = found.payments
    call = payment.signed
    assert call is not None
    assert (call.is_batch, call.is_offered, call.nonce, call.broadcast_id) == (True, False, 9, 1)
    assert call.transfer == Transfer(NATIVE, RECEIVER, AMOUNT)
    assert [each.amount for each in call.transfers] == [AMOUNT, 5, AMOUNT]
    assert (call.deploys, call.fetches) == (((7, NATIVE),), ((b"\x07" * 20, NATIVE),))
    assert call.call.data(call.nonce, call.signature) == call.data


def test_an_aborted_batch_that_does_not_pay_the_receiver_is_no_call() -> None:
    other = all_batch([], [], [Transfer(NATIVE, OTHER, AMOUNT)])
    found = events_of(*TWO[:1], *TWO[2:4], signed(5, 1, other), aborted(6, 1)).find(Swap("1", 1))
    (payment,) = found.payments
    assert (payment.state, payment.is_batch, payment.signed) == (State.ABORTED, True, None)


def test_a_batch_that_succeeded_after_all_is_no_call() -> None:
    events = (*TWO[:1], *TWO[2:4], signed(5, 1, THREE), aborted(6, 1), success(7, 1))
    found = events_of(*events).find(Swap("1", 1))
    assert (found.payments, "went through" in found.reason) == ((), True)


def test_a_batch_names_all_of_its_failures() -> None:
    history = History()
    for block, pallet, event, fields in (*ONE_BATCH, success(5, 1), fallback(5, 3), fallback(5, 4, amount=5)):
        history.receive(block, [[(pallet, event, fields)]])
    found = Findings(history).find(Batch("batch 1", "Ethereum", 1))
    assert sorted(each.broadcast_id or 0 for each in found.payments) == [3, 4]
