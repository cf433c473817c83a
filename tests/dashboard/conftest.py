"""Fixtures of the page's tests: a chain with a day of business, and its books."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from cfnode.ledger.books import Books
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.day_totals import add_totals
from cfnode.ledger.follower import Follower, Source
from cfnode.testing import DevChain, running_node
from tests.ledger.day import Day, play


@pytest.fixture(scope="package")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    """Yield a node whose chain holds a day of business."""
    folder = tmp_path_factory.mktemp("day")
    with running_node(folder, "--state-pruning=archive") as node, DevChain(node.url) as chain:
        yield play(node.url, chain)


@pytest.fixture(scope="package")
def books(day: Day, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Yield the books of the day, which are only read."""
    database = Database(sqlite_url(tmp_path_factory.mktemp("books") / "books.sqlite"))
    trio.run(lambda: Follower(Source(day.url, first=1), Books(database)).run(once=True))
    while add_totals(database):
        pass
    yield database
    database.close()


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Database]:
    """Yield books without a block."""
    database = Database(sqlite_url(tmp_path / "empty.sqlite"))
    database.migrate()
    yield database
    database.close()
