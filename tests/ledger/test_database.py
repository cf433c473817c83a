"""Amounts are exact, migrations make the tables of the schema, and a database that will not do is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert, inspect, select, text

from cfnode.ledger import schema
from cfnode.ledger.amounts import exact_sum, whole
from cfnode.ledger.database import Database, _alembic, sqlite_url
from cfnode.ledger.errors import BrokenBooks, DatabaseError, MissingLibrary
from cfnode.ledger.swap_events import ServiceChannel, expect
from cfnode.swaps.identity import ChannelId
from tests.ledger.conftest import MakeDatabase
from tests.ledger.contents import rows
from tests.ledger.postgres import MISSING, is_installed, running_postgres
from tests.lengths import repeats

AMOUNTS = st.integers(0, 2**128 - 1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(amounts=st.lists(AMOUNTS, min_size=1, max_size=20))
def test_amounts_and_their_sums_are_exact(make_database: MakeDatabase, amounts: list[int]) -> None:
    """Add amounts of 128 bits without a rounding in SQL, where numbers have fewer bits."""
    database, table = _migrated(make_database), schema.openings
    rows = [
        {"block": 0, "account": str(place), "asset": "Eth", "amount": amount}
        for place, amount in enumerate(amounts)
    ]
    with database.writing() as connection:
        connection.execute(delete(table))
        connection.execute(insert(table), rows)
    with database.reading() as connection:
        stored = [row.amount for row in connection.execute(select(table.c.amount).order_by(table.c.amount))]
        sums = connection.execute(select(*exact_sum(table.c.amount, connection.dialect.name))).one()
    assert stored == sorted(amounts)
    assert whole(sums) == sum(amounts)


_MADE: dict[int, Database] = {}


def _migrated(make_database: MakeDatabase) -> Database:
    """Return one database for all examples of a test."""
    database = _MADE.get(id(make_database))
    if database is None:
        database = _MADE[id(make_database)] = make_database()
        database.migrate()
    return database


@pytest.mark.parametrize("wrong", [-1, 2**128])
def test_what_is_no_amount_of_the_chain_is_not_written(make_database: MakeDatabase, wrong: int) -> None:
    """Refuse a negative amount and one above 128 bits before the row is written."""
    database = make_database()
    database.migrate()
    row = {"block": 0, "account": "a", "asset": "Eth", "amount": wrong}
    with (
        pytest.raises(DatabaseError, match="is not an amount of the chain"),
        database.writing() as connection,
    ):
        connection.execute(insert(schema.openings), row)
    with database.reading() as connection:
        assert connection.execute(select(schema.openings)).all() == []


def test_the_migrations_make_the_tables_of_the_schema(make_database: MakeDatabase) -> None:
    """Make by migrations the tables that the schema declares, and make them once."""
    database = make_database()
    database.migrate()
    database.migrate()  # no effect
    with database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.metadata) == []


def test_boosts_of_an_older_version_get_their_channel(make_database: MakeDatabase) -> None:
    """Take the channel of an older boost from its event, and leave it empty where the event has none."""
    database, config = make_database(), _alembic()
    with database.writing() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0003")
        for event, fields in ((1, '{"channel_id": 7}'), (2, '{"channel_id": null}'), (3, "{}")):
            connection.execute(
                text("INSERT INTO events VALUES (5, :event, 'BitcoinIngressEgress', 'A', :fields)"),
                {"event": event, "fields": fields},
            )
            connection.execute(
                text(
                    "INSERT INTO boosts (block, event, place, state, chain, prewitnessed, amount, fee) "
                    "VALUES (5, :event, 0, 'refused', 'Bitcoin', 1, 1, 0)"
                ),
                {"event": event},
            )
    database.migrate()
    assert [row["channel"] for row in rows(database, "boosts")] == [7, None, None]


def test_books_of_an_older_version_get_the_indexes_of_reports(make_database: MakeDatabase) -> None:
    """Replace the two old indexes by those that reports read, and keep the rows."""
    database, config = make_database(), _alembic()
    row = {"block": 5, "event": 1, "place": 0, "account": "a", "request": 1, "swap": 1, "asset": "Usdc",
           "amount": 3}  # fmt: skip
    with database.writing() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0010_others_facts")
        connection.execute(insert(schema.commissions), row)
        indexes = {index["name"] for index in inspect(connection).get_indexes("channels")}
        assert {"channels_by_account", "channels_by_chain_channel"} <= indexes
    database.migrate()
    assert rows(database, "commissions") == [row | {"broker": None}]
    with database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.metadata) == []
        indexes = {index["name"] for index in inspect(connection).get_indexes("channels")}
    assert {"channels_by_account_block_event", "channels_by_chain_channel_block_event"} <= indexes
    assert not {"channels_by_account", "channels_by_chain_channel"} & indexes


def test_books_of_a_newer_version_are_left_alone(make_database: MakeDatabase) -> None:
    """Refuse books that a newer version wrote, since their tables may differ."""
    database = make_database()
    database.migrate()
    with database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for attempt in (database.migrate, database.require):
        with pytest.raises(BrokenBooks, match="written by a newer version of cfnode"):
            attempt()


def test_a_migration_that_fails_leaves_nothing(make_database: MakeDatabase) -> None:
    """Roll a failed migration back: a table of that name that was there does not become books."""
    database = make_database()
    with database.writing() as connection:
        connection.execute(text("CREATE TABLE swaps (foreign_one INTEGER)"))
    with pytest.raises((DatabaseError, BrokenBooks), match="already exists"):
        database.migrate()
    with pytest.raises(BrokenBooks, match="has no books: `cfnode ledger run` begins them"):
        database.require()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nonsense", "not the URL of a database"),
        ("mysql://host/books", "unknown database 'mysql'"),
        ("sqlite://", "the books need a file"),
    ],
)
def test_a_url_that_will_not_do(url: str, words: str) -> None:
    """Refuse a text that is no URL, an unknown database, and SQLite without a file."""
    with pytest.raises(BrokenBooks, match=words):
        Database(url)


def test_only_a_migration_creates_the_file_and_its_folder(tmp_path: Path) -> None:
    """Create nothing by reads, writes or checks of books that have not begun, odd paths included."""
    path = tmp_path / "new folder" / "50% of #1" / "books.sqlite"
    database = Database(sqlite_url(path))
    for attempt in (database.require, lambda: rows(database, "blocks"), lambda: forget(database)):
        with pytest.raises(BrokenBooks) as caught:
            attempt()
        assert str(caught.value) == f"sqlite:///{path} has no books: `cfnode ledger run` begins them"
    assert list(tmp_path.iterdir()) == []
    database.migrate()
    database.require()
    assert (path.exists(), rows(database, "blocks")) == (True, [])


def forget(database: Database) -> None:
    """Delete all blocks."""
    with database.writing() as connection:
        connection.execute(delete(schema.blocks))


def test_a_folder_that_cannot_be_created_is_named() -> None:
    """Name the path where SQLite's folder cannot be created."""
    with pytest.raises(BrokenBooks, match=r"cannot create /proc/no/books\.sqlite"):
        Database("sqlite:////proc/no/books.sqlite").migrate()


def test_a_password_is_not_repeated() -> None:
    """Leave the password out of the error and of the database's name."""
    database = Database("postgresql://user:secret@127.0.0.1:1/books")
    with pytest.raises(DatabaseError) as caught:
        database.migrate()
    assert "127.0.0.1" in str(caught.value)
    assert "secret" not in str(caught.value) + database.name


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    """Refuse a file that is no SQLite database, and leave it as it was."""
    path = tmp_path / "books.sqlite"
    path.write_bytes(b"something else " * 1000)
    for attempt in (Database(sqlite_url(path)).migrate, Database(sqlite_url(path)).require):
        with pytest.raises(BrokenBooks, match="not a database"):
            attempt()
    assert path.read_bytes() == b"something else " * 1000


def test_a_full_disk_is_an_error_that_may_pass(tmp_path: Path) -> None:
    """Raise the error after which the follower tries again when the disk is full, and keep no row."""
    database = Database(sqlite_url(tmp_path / "books.sqlite"))
    database.migrate()
    with pytest.raises(DatabaseError, match="full"), database.writing() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1")
        rows = [
            {"block": number, "account": "a" * 50, "asset": "Eth", "amount": 1} for number in range(5_000)
        ]
        connection.execute(insert(schema.openings), rows)
    with database.reading() as connection:
        assert connection.execute(select(schema.openings)).all() == []


@pytest.mark.world
def test_what_a_service_has_written_survives_a_crash_of_the_server() -> None:
    """Keep what the service noted about a channel though PostgreSQL crashes at once."""
    if not is_installed():
        pytest.skip(MISSING)
    with running_postgres() as server:
        database = Database(server.new_database("durable"))
        database.migrate()
        for channel in range(repeats(20, 3)):
            expect(database, ServiceChannel(ChannelId("Bitcoin", channel, 1), 5))
            server.crash()
            server.start()
        assert [row["channel"] for row in rows(database, "expectations")] == list(range(channel + 1))


def test_a_missing_library_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name the package to install where the driver or the migrations are missing."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingLibrary, match=r"pip install 'cfnode\[postgres\]'"):
        Database("postgresql://host/books")
    monkeypatch.setitem(sys.modules, "alembic", None)
    with pytest.raises(MissingLibrary, match=r"pip install 'cfnode\[ledger\]'"):
        Database("sqlite:///books.sqlite")
