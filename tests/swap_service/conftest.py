"""Fixtures of the partners' API: a chain with a broker, and a service over books of both kinds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cfnode.ledger.database import Database
from tests.ledger.postgres import BOTH
from tests.swap_service.live import Service, running_service
from tests.swap_service.partners import Chain, books_of, broker_chain


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chain]:
    """Yield a chain with a broker."""
    with broker_chain(tmp_path_factory.mktemp("chain")) as started:
        yield started


@pytest.fixture(scope="module", params=BOTH)
def books(
    chain: Chain, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    """Yield the books of the chain, of both kinds in turn."""
    with books_of(chain.url, request.param, tmp_path_factory.mktemp("books")) as opened:
        yield opened


@pytest.fixture(scope="module")
def service(chain: Chain, books: Database) -> Iterator[Service]:
    """Yield the running swap service."""
    with running_service(books, chain.url, chain.url) as started:
        yield started
