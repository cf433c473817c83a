"""Many partners open many channels at once: each is answered, none is opened twice, each webhook arrives."""

from __future__ import annotations

from pathlib import Path

import pytest

from cfnode.ledger.database import sqlite_url
from tests.ledger.postgres import MISSING, is_installed, running_postgres
from tests.lengths import only_whole, repeats
from tests.swap_service.load import Storm, storm
from tests.swap_service.partners import broker_chain

pytestmark = pytest.mark.world

PARTNERS, CHANNELS, SWAPS = repeats(100, 10), repeats(1_000, 40), repeats(100, 4)


def is_whole(outcome: Storm) -> None:
    """Assert that each request is answered and opened once, and that each webhook is delivered once."""
    assert [answer.status for answer in outcome.answers] == [201] * CHANNELS
    assert len({answer.body["id"] for answer in outcome.answers}) == CHANNELS
    assert (outcome.on_chain, outcome.most_on_chain) == (CHANNELS, 1)
    assert outcome.delivered == outcome.changes >= 2 * SWAPS


def test_on_sqlite(tmp_path: Path) -> None:
    """Open the channels of many partners at once with books in SQLite."""
    with broker_chain(tmp_path / "node") as chain:
        books = sqlite_url(tmp_path / "books.sqlite")
        is_whole(storm(tmp_path, chain, books, PARTNERS, CHANNELS, SWAPS))


@only_whole  # test_several_services.py has a part of it, with kills
def test_on_postgresql(tmp_path: Path) -> None:
    """Open the channels of many partners at once with books in PostgreSQL."""
    if not is_installed():
        pytest.skip(MISSING)
    with running_postgres() as server, broker_chain(tmp_path / "node") as chain:
        is_whole(storm(tmp_path, chain, server.new_database("storm"), PARTNERS, CHANNELS, SWAPS))
