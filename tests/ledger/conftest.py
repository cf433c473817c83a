"""Fixtures of the ledger's tests: a development chain with a day of business, and databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.ledger.database import Database, sqlite_url
from cfnode.testing import DevChain, running_node
from tests.ledger.day import Day, play
from tests.ledger.postgres import BOTH, MISSING, Server, is_installed, running_postgres

MakeDatabase = Callable[[], Database]
_NUMBERS = count(1)


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

    def make() -> Database:
        name = f"books{next(_NUMBERS)}"
        if request.param == "sqlite":
            (path := tmp_path / f"{name}.sqlite").touch()  # without tables, as PostgreSQL's new database
            database = Database(sqlite_url(path))
        else:
            database = Database(request.getfixturevalue("postgres").new_database(name))
        made.append(database)
        return database

    yield make
    for database in made:
        database.close()


@pytest.fixture(scope="session")
def metadata(metadata_v15: bytes) -> Metadata:
    """Return the metadata of runtime 2.2.3."""
    return decode_metadata(metadata_v15)
