"""Equal payouts to one receiver in blocks made by hand: which of them a failed transfer was."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.ledger.books import Books
from cfnode.ledger.decoding import DecodedEvent
from cfnode.ledger.recompute import recomputed
from tests.ledger.conftest import MakeDatabase
from tests.ledger.contents import rows
from tests.support.ledger.blocks import GENESIS, block
from tests.support.ledger.reused import ETHER, OURS, deposit, opening, request

RECEIVER = b"\xab" * 20


def scheduled(index: int, number: int, egress: int) -> DecodedEvent:
    """The output of a swap: 5 USDC to the same receiver each time."""
    fields = {"swap_request_id": number, "egress_id": ("Ethereum", egress), "asset": "Usdc", "amount": 5,
              "egress_fee": (0, "Usdc")}  # fmt: skip
    return DecodedEvent(index, "Swapping", "SwapEgressScheduled", fields)


def batch(index: int, broadcast: int, *egresses: int) -> DecodedEvent:
    fields = {"broadcast_id": broadcast, "egress_ids": [("Ethereum", each) for each in egresses]}
    return DecodedEvent(index, "EthereumIngressEgress", "BatchBroadcastRequested", fields)


def succeeded(index: int, broadcast: int) -> DecodedEvent:
    fields = {"broadcast_id": broadcast, "transaction_ref": bytes([broadcast]) * 32}
    return DecodedEvent(index, "EthereumBroadcaster", "BroadcastSuccess", fields)


def not_taken(index: int, broadcast: int) -> DecodedEvent:
    fields = {"broadcast_id": broadcast, "asset": "Usdc", "amount": 5, "destination_address": RECEIVER}
    return DecodedEvent(index, "EthereumIngressEgress", "TransferFallbackRequested", fields)


def swap(number: int) -> list[DecodedEvent]:
    """A swap request whose output goes to the receiver."""
    return [deposit(0, ETHER + number, number), request(1, number, OURS, ETHER)]


@pytest.mark.parametrize(
    ("blocks", "failed"),
    [
        pytest.param(
            [[succeeded(0, 1)], [succeeded(0, 2), not_taken(1, 3)]], [5], id="the first was paid before"
        ),
        pytest.param(
            [[succeeded(0, 1), not_taken(1, 3)], [succeeded(0, 2)]], [4], id="the second is on its way"
        ),
        pytest.param(
            [[succeeded(0, 1)], [succeeded(0, 2)], [not_taken(0, 3)]], [5], id="reported later: the newest"
        ),
        pytest.param(
            [[succeeded(0, 1), succeeded(1, 2), not_taken(2, 3), not_taken(3, 4)]],
            [4, 5],
            id="both in one block",
        ),
    ],
)
def test_a_failed_transfer_is_that_of_the_broadcast_that_succeeds(
    make_database: MakeDatabase, blocks: list[list[DecodedEvent]], failed: list[int]
) -> None:
    database = make_database()
    database.migrate()
    Books(database).begin(GENESIS, "Development", "all", block(0, []), {})
    history: list[list[Any]] = [
        [opening(0, OURS)],
        swap(1),
        [scheduled(0, 1, 4), batch(1, 1, 4)],
        swap(2),
        [scheduled(0, 2, 5), batch(1, 2, 5)],
        *blocks,
    ]
    books = Books(database)
    for number, events in enumerate(history, start=1):
        books.write([block(number, events)], {})
    assert [each["egress"] for each in rows(database, "failures")] == failed
    assert rows(database, "unread") == []
    assert recomputed(database) == []
