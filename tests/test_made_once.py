"""What a run of the tests computes once is what each process would have computed, and who plays what."""

from __future__ import annotations

from inspect import unwrap
from pathlib import Path

import pytest
from sqlalchemy import text

from cfnode.ledger.database import Database, sqlite_url
from tests.process import ROOT
from tests.support.collecting import module_names, rotated
from tests.support.remembered import place
from tests.support.scheduling import SPREAD


def test_each_process_imports_all_files_and_begins_with_its_own() -> None:
    """Import all files in each process, each beginning with its own part."""
    names = module_names(Path(__file__).parent / "core")
    assert "tests.core.test_keys" in names
    orders = [rotated(names, worker, 3) for worker in range(3)]
    assert [sorted(order) for order in orders] == [sorted(names)] * 3
    own = [name for order in orders for name in order[: len(names) // 3]]
    assert len(set(own)) == len(own)


def test_copied_books_are_those_of_the_migrations(tmp_path: Path) -> None:
    """Give copied books the schema that the migrations make."""
    copied, migrated = (Database(sqlite_url(tmp_path / f"{name}.sqlite")) for name in ("copied", "migrated"))
    copied.migrate()
    unwrap(Database.migrate)(migrated)
    assert declarations(copied) == declarations(migrated)
    copied.require()
    copied.close()
    migrated.close()


def declarations(database: Database) -> list[tuple[str, ...]]:
    """Return kind, name and SQL of all that a database declares."""
    with database.reading() as connection:
        rows = connection.execute(text("SELECT type, name, sql FROM sqlite_master ORDER BY name"))
        return [tuple(row) for row in rows]


def test_books_that_are_there_are_not_replaced(tmp_path: Path) -> None:
    """Refuse to replace books that are there."""
    path = tmp_path / "books.sqlite"
    path.write_bytes(b"not books")
    with pytest.raises(FileExistsError):
        place(path, b"new books")
    assert path.read_bytes() == b"not books"


def test_files_whose_tests_are_spread_share_no_fixture() -> None:
    """Spread only files without shared fixtures: each process would set them up again."""
    for name in SPREAD:
        assert "scope=" not in (ROOT / name).read_text(), name
