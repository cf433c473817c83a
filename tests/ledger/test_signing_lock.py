"""The signer's lock: one process at a time, on both databases, and free again after a kill."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from cfnode.ledger import signing_lock
from cfnode.ledger.database import Database
from cfnode.ledger.errors import DatabaseError
from cfnode.ledger.signing_lock import signer_lock
from tests.conftest import ROOT
from tests.ledger.conftest import MakeDatabase
from tests.ledger.postgres import Server

HOLD = """
import sys, time
from cfnode.ledger.database import Database
from cfnode.ledger.signing_lock import signer_lock
assert signer_lock(Database(sys.argv[1])).acquire()
print("held", flush=True)
time.sleep(600)
"""


def url_of(database: Database) -> str:
    """Return the URL of a database with its password."""
    return database._engine.url.render_as_string(hide_password=False)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one attempt to lock take at most 0.2 s."""
    monkeypatch.setattr(signing_lock, "LOCK_ATTEMPT_S", 0.2)


def test_it_goes_from_one_to_the_other(make_database: MakeDatabase, short: None) -> None:
    """Hand the signer's lock to the process that wants it, and back."""
    database = make_database()
    database.migrate()
    first, second = signer_lock(database), signer_lock(Database(url_of(database)))
    assert first.acquire()
    assert (first.is_held(), first.is_wanted(), second.acquire()) == (True, False, False)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lambda: any(second.acquire() for _ in range(300)))
        while not first.is_wanted():
            assert not waiting.done()
        first.release()
        assert waiting.result(60)
    assert not first.acquire()
    second.close()
    assert first.acquire()
    first.close()


@pytest.mark.world
def test_a_killed_process_loses_it(make_database: MakeDatabase, short: None) -> None:
    """Release the signer's lock when its process is killed."""
    database = make_database()
    database.migrate()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, url_of(database)], stdout=subprocess.PIPE, cwd=ROOT
    )
    lock = signer_lock(database)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert not lock.acquire()
    finally:
        holder.kill()
        holder.wait()
    assert any(lock.acquire() for _ in range(300))
    lock.close()


def test_without_its_connection_it_is_not_held(postgres: Server, short: None) -> None:
    """Notice that the lock's connection was ended: the lock is not held, and can be acquired anew."""
    url = postgres.new_database("signer")
    lock = signer_lock(Database(url))
    assert lock.acquire()
    with psycopg.connect(url, autocommit=True) as connection:
        query = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
        assert connection.execute(query).fetchall() == [(True,)]
    with pytest.raises(DatabaseError):
        lock.is_held()
    assert not lock.is_held()
    assert lock.acquire()
    lock.close()
