"""What do tests of the partners' API share? A chain with a broker, and a service over books of both kinds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cfnode.ledger.database import Database, sqlite_url
from tests.ledger.postgres import MISSING, is_installed, running_postgres
from tests.swap_service.live import Service, running_service
from tests.swap_service.partners import (
    Chain,
    broker_chain,
    followed,
)


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chain]:
    with broker_chain(tmp_path_factory.mktemp("chain")) as found:
        yield found


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def books(
    chain: Chain, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    if request.param == "sqlite":
        database = Database(sqlite_url(tmp_path_factory.mktemp("books") / "books.sqlite"))
        followed(database, chain.url)
        yield database
        database.close()
        return
    if not is_installed():
        pytest.skip(MISSING)
    with running_postgres() as server:
        database = Database(server.new_database("service"))
        followed(database, chain.url)
        yield database
        database.close()


@pytest.fixture(scope="module")
def service(chain: Chain, books: Database) -> Iterator[Service]:
    with running_service(books, chain.url, chain.url) as found:
        yield found
