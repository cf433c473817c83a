"""Books with secrets of others are readable by their owner only."""

from __future__ import annotations

from pathlib import Path

from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.partners import registry
from cfnode.ledger.partners.registry import Partner


def test_books_with_a_partner_are_their_owners_alone(tmp_path: Path) -> None:
    """Restrict the database's files to their owner once they hold a partner's key."""
    path = tmp_path / "books.sqlite"
    database = Database(sqlite_url(path))
    database.migrate()
    path.chmod(0o644)
    registry.add(database, Partner("shop", 15))
    assert [path.stat().st_mode & 0o077 for path in tmp_path.iterdir()] == [0] * len(list(tmp_path.iterdir()))
    database.close()


def test_a_password_in_the_query_of_the_databases_url_is_in_no_name(tmp_path: Path) -> None:
    """Leave a password in the URL's query out of the database's name."""
    plain = Database(f"{sqlite_url(tmp_path / 'books.sqlite')}?password=geheim")
    assert "geheim" not in plain.name
    assert plain.name.endswith("books.sqlite")
