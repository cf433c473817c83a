"""Which failed call belongs to which swap? Played with events alone, in each order in which they may come."""

from __future__ import annotations

import pytest

from cfnode.sdk.recovery.findings import Findings
from cfnode.sdk.recovery.history import History
from cfnode.sdk.recovery.owner import Batch, Swap
from tests.support.sdk.events import (
    INGRESS,
    OTHER,
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
    "a batch was aborted": ((*TWO, aborted(6, 1), aborted(6, 2)), {1: [], 2: []}),
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
            assert f"nothing of {swap} has failed" in found.reason
    assert not Findings(history).find(Swap("9", 9)).is_known


def test_a_batch_names_all_of_its_failures() -> None:
    history = History()
    for block, pallet, event, fields in (*ONE_BATCH, success(5, 1), fallback(5, 3), fallback(5, 4, amount=5)):
        history.receive(block, [[(pallet, event, fields)]])
    found = Findings(history).find(Batch("batch 1", "Ethereum", 1))
    assert sorted(each.broadcast_id or 0 for each in found.payments) == [3, 4]
