"""With `--all`, ledgers follow scenarios into both kinds of database."""

from __future__ import annotations

import pytest

from tests.ledger.postgres import MISSING, is_installed
from tests.lengths import only_whole


@only_whole
def test_postgresql_is_one_of_the_databases(databases: dict[str, object]) -> None:
    """Follow scenarios into PostgreSQL, too, where it is installed."""
    if not is_installed():
        pytest.skip(MISSING)
    assert set(databases) == {"SQLite", "own", "PostgreSQL"}
