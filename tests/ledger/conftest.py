"""Fixtures of the ledger's tests: a development chain with a day of business, and databases."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Protocol

import pytest

from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.follower import Source
from cfnode.testing import DevChain, running_node
from tests.ledger.day import Day, play
from tests.ledger.postgres import BOTH, MISSING, Server, is_installed, running_postgres
from tests.support.ledger.books import followed

_NUMBERS = count(1)


class MakeDatabase(Protocol):
    """Makes a new database, without tables or as a copy of another one without open connections."""

    def __call__(self, of: Path | None = None) -> Database:
        """Make the database."""
        ...


@pytest.fixture(scope="package")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    """Yield a node whose chain holds a day of business, and stays as it is."""
    folder = tmp_path_factory.mktemp("day")
    flags = ("--state-pruning=archive", "--rpc-allowed-hosts=all")
    with running_node(folder, *flags) as node, DevChain(node.url) as chain:
        yield play(node.url, chain)


@pytest.fixture(scope="package")
def postgres() -> Iterator[Server]:
    """Yield a PostgreSQL server of the tests' own, on a socket; skip the test without one."""
    if not is_installed():
        pytest.skip(MISSING)
    with running_postgres() as server:
        yield server


@pytest.fixture(params=BOTH)
def make_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeDatabase]:
    """Yield a function that makes new databases, of both kinds in turn."""
    made: list[Database] = []

    def make(of: Path | None = None) -> Database:
        name = f"books{next(_NUMBERS)}"
        if request.param == "sqlite":
            path = tmp_path / f"{name}.sqlite"
            path.write_bytes(of.read_bytes() if of else b"")  # without tables, as PostgreSQL's new database
            database = Database(sqlite_url(path))
        else:
            template = of.name if of else "template1"
            database = Database(request.getfixturevalue("postgres").new_database(name, template))
        made.append(database)
        return database

    yield make
    for database in made:
        database.close()


async def books_of_day(day: Day, make_database: MakeDatabase) -> Database:
    """Return new books of the whole day: a copy of the first ones, which have followed its node."""
    first = make_database()
    if first.is_sqlite not in day.books:
        await followed(first, Source(day.url, first=1))
        first.close()
        day.books[first.is_sqlite] = first.path
    return make_database(day.books[first.is_sqlite])


@pytest.fixture(scope="session")
def metadata(metadata_v15: bytes) -> Metadata:
    """Return the metadata of runtime 2.2.3."""
    return decode_metadata(metadata_v15)
