"""Failed payouts of blocks made by hand: which of equal ones it was, and the list of them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from sqlalchemy.event import listen

from cfnode.ledger.books import Books
from cfnode.ledger.database import Database
from cfnode.ledger.decoding import DecodedEvent
from cfnode.ledger.recent_swaps import failed_payouts
from cfnode.ledger.recompute import recomputed
from cfnode.swaps.fate import Fate
from tests.ledger.conftest import MakeDatabase
from tests.ledger.contents import rows
from tests.support.ledger.blocks import GENESIS, block
from tests.support.ledger.reused import ETHER, OURS, deposit, opening, request

RECEIVER = b"\xab" * 20


def scheduled(index: int, number: int, egress: int, amount: int = 5) -> DecodedEvent:
    """Return the output of a swap: 5 USDC to the same receiver each time."""
    fields = {"swap_request_id": number, "egress_id": ("Ethereum", egress), "asset": "Usdc", "amount": amount,
              "egress_fee": (0, "Usdc")}  # fmt: skip
    return DecodedEvent(index, "Swapping", "SwapEgressScheduled", fields)


def batch(index: int, broadcast: int, *egresses: int) -> DecodedEvent:
    """Return the batch that carries some egresses."""
    fields = {"broadcast_id": broadcast, "egress_ids": [("Ethereum", egress) for egress in egresses]}
    return DecodedEvent(index, "EthereumIngressEgress", "BatchBroadcastRequested", fields)


def succeeded(index: int, broadcast: int) -> DecodedEvent:
    """Return the success of a broadcast."""
    fields = {"broadcast_id": broadcast, "transaction_ref": bytes([broadcast]) * 32}
    return DecodedEvent(index, "EthereumBroadcaster", "BroadcastSuccess", fields)


def aborted(index: int, broadcast: int) -> DecodedEvent:
    """Return the abortion of a broadcast."""
    return DecodedEvent(index, "EthereumBroadcaster", "BroadcastAborted", {"broadcast_id": broadcast})


def not_taken(index: int, broadcast: int, amount: int = 5) -> DecodedEvent:
    """Return the chain's report of a transfer that its receiver rejected."""
    fields = {"broadcast_id": broadcast, "asset": "Usdc", "amount": amount, "destination_address": RECEIVER}
    return DecodedEvent(index, "EthereumIngressEgress", "TransferFallbackRequested", fields)


def swap(number: int) -> list[DecodedEvent]:
    """Return a swap request whose output goes to the receiver."""
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
        pytest.param([[aborted(0, 1)], [succeeded(0, 2), not_taken(1, 3)]], [5], id="the first was aborted"),
    ],
)
def test_a_failed_transfer_is_that_of_the_broadcast_that_succeeds(
    make_database: MakeDatabase, blocks: list[list[DecodedEvent]], failed: list[int]
) -> None:
    """Attribute a rejected transfer to the payout whose batch succeeded with it, not to an equal one."""
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
    assert [row["egress"] for row in rows(database, "failures")] == failed
    assert rows(database, "unread") == []
    assert recomputed(database) == []


def aborted_batch(make_database: MakeDatabase, *later: list[DecodedEvent]) -> Database:
    """Return books of a batch with the payouts 4 and 5, which was signed and aborted, and of later blocks."""
    database = make_database()
    database.migrate()
    books = Books(database)
    books.begin(GENESIS, "Development", "all", block(0, []), {})
    history = [
        [opening(0, OURS)],
        swap(1),
        swap(2),
        [scheduled(0, 1, 4), scheduled(1, 2, 5), batch(2, 1, 4, 5)],
        [about(0, "TransactionBroadcastRequest")],
        [about(0, "BroadcastAborted")],
        *later,
    ]
    for number, events in enumerate(history, start=1):
        books.write([block(number, events)], {})
    assert rows(database, "unread") == []
    assert recomputed(database) == []
    return database


def about(index: int, name: str, number: int = 1) -> DecodedEvent:
    """Return an event about a broadcast."""
    return DecodedEvent(index, "EthereumBroadcaster", name, {"broadcast_id": number})


def outdated(index: int, number: int) -> DecodedEvent:
    """Return the event by which the chain asks for a new signature of a call."""
    fields = {"broadcast_id": number, "threshold_signature_id": 1}
    return DecodedEvent(index, "EthereumIngressEgress", "FailedForeignChainCallResigned", fields)


ROTATION = [
    DecodedEvent(0, "Validator", "RotationPhaseUpdated", {"new_phase": ("ActivatingKeys", {})}),
    DecodedEvent(1, "EvmThresholdSigner", "KeyRotationCompleted", {}),
]
ONGOING = [DecodedEvent(0, "Validator", "RotationPhaseUpdated", {"new_phase": ("KeygensInProgress", {})})]


@pytest.mark.parametrize(
    ("later", "fate"),
    [
        pytest.param([], Fate.BATCH_ON_OFFER, id="aborted"),
        pytest.param([ONGOING], Fate.BATCH_ON_OFFER, id="a rotation has begun"),
        pytest.param([ROTATION], Fate.EXPIRED, id="the key is another one"),
        pytest.param([ROTATION, [about(0, "CallResigned")]], Fate.BATCH_ON_OFFER, id="signed again"),
        pytest.param([[about(0, "TransactionBroadcastRequest")]], None, id="sent again"),
        pytest.param([[succeeded(0, 1)]], None, id="sent by another account"),
    ],
)
def test_the_list_has_the_payouts_of_an_aborted_batch(
    make_database: MakeDatabase, later: list[list[DecodedEvent]], fate: Fate | None
) -> None:
    """List an aborted batch's payouts until they are sent, and as expired once the vault has a new key."""
    database = aborted_batch(make_database, *later)
    with database.reading() as connection:
        lines = failed_payouts(connection)
    expected = [] if fate is None else [(2, 1, fate), (1, 1, fate)]
    assert [(line.request, line.call, line.fate) for line in lines] == expected


@pytest.mark.parametrize(
    ("later", "fate"),
    [
        pytest.param([], Fate.UNSIGNED, id="rejected"),
        pytest.param([[about(0, "CallResigned", 2)]], Fate.CALL_ON_OFFER, id="signed"),
        pytest.param(
            [ROTATION[:1], [about(0, "CallResigned", 2)], ROTATION[1:], [outdated(0, 2)]],
            Fate.UNSIGNED,
            id="signed while a rotation ends, and to be signed anew",
        ),
        pytest.param(
            [ROTATION, [outdated(0, 2)], [about(0, "CallResigned", 2)]],
            Fate.CALL_ON_OFFER,
            id="signed anew",
        ),
    ],
)
def test_the_list_has_a_call_until_it_is_outdated(
    make_database: MakeDatabase, later: list[list[DecodedEvent]], fate: Fate
) -> None:
    """A signature from before the chain asked for another one is of no use, whatever key it is of."""
    database = make_database()
    database.migrate()
    books = Books(database)
    books.begin(GENESIS, "Development", "all", block(0, []), {})
    history = [
        [opening(0, OURS)],
        swap(1),
        [scheduled(0, 1, 4), batch(1, 1, 4)],
        [succeeded(0, 1), not_taken(1, 2)],
        *later,
    ]
    for number, events in enumerate(history, start=1):
        books.write([block(number, events)], {})
    assert rows(database, "unread") == []
    assert recomputed(database) == []
    with database.reading() as connection:
        assert [(line.call, line.fate) for line in failed_payouts(connection)] == [(2, fate)]


def test_the_list_reads_rows_by_indexes_only(make_database: MakeDatabase) -> None:
    """Each table, also that of all payouts, is searched by a whole index, never scanned."""
    database, queries = aborted_batch(make_database), list[tuple[str, Any]]()
    with database.reading() as connection:
        listen(connection, "before_cursor_execute", lambda *of: queries.append((of[2], of[3])))
        assert len(failed_payouts(connection)) == 2
        for query, parameters in list(queries) if connection.dialect.name == "sqlite" else ():
            rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}", parameters).all()
            plan = [row[3] for row in rows]
            assert not [
                line for line in plan if re.fullmatch(r"SCAN (payouts|broadcasts|outcomes|events)", line)
            ]
            assert "SEARCH payouts USING INDEX payouts_by_chain_egress (chain=?)" not in plan


def test_the_pages_of_the_list_have_each_failed_payout_once(make_database: MakeDatabase) -> None:
    """Two of an aborted batch, and a transfer that its receiver rejected in between."""
    database = aborted_batch(
        make_database,
        [*swap(3)],
        [scheduled(0, 3, 6, amount=7), batch(1, 2, 6)],
        [succeeded(0, 2), not_taken(1, 3, amount=7)],
        [*swap(7)],
        [scheduled(0, 7, 8), batch(1, 9, 8)],
        [about(0, "BroadcastAborted", 9)],
    )
    pages, before = [], None
    with database.reading() as connection:
        whole = failed_payouts(connection)
        while lines := failed_payouts(connection, 1, before):
            pages += lines
            before = lines[-1].block, lines[-1].event
    assert [payout.request for payout in whole] == [7, 3, 2, 1]
    assert pages == whole
