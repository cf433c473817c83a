"""Scenarios are played beside ledgers on both kinds of database; a ledger that lacks a row is noticed."""

from __future__ import annotations

import pytest

from tests.ledger.postgres import MISSING, is_installed


def test_postgresql_is_one_of_the_databases(databases: dict[str, object]) -> None:
    if not is_installed():
        pytest.skip(MISSING)
    assert set(databases) == {"SQLite", "own", "PostgreSQL"}
