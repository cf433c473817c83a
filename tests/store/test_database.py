"""The file: growth, foreign or broken contents, and a full disk."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import lmdb
import pytest

from cfnode.store import Store, StoreError, StoreReader
from cfnode.store.database import SCHEMA, LmdbDatabase
from tests.conftest import ROOT
from tests.store.chains import changes_for, child_of, genesis_of
from tests.support.store.rows import get, put
from tests.support.waiting import LIMIT_S, wait_until

SMALL_MAP = 256 << 10


def test_the_map_grows_as_often_as_one_transaction_needs(tmp_path: Path) -> None:
    """Grow the map within one transaction as often as it needs."""
    database = LmdbDatabase(tmp_path, map_size=SMALL_MAP)
    put(database, b"small", b"1")
    put(database, b"large", bytes(5 << 20))
    assert database.map_size >= 5 << 20
    assert get(database, b"small") == b"1"
    assert get(database, b"large") == bytes(5 << 20)
    database.close()


def test_a_state_larger_than_the_map_can_begin_a_chain(tmp_path: Path) -> None:
    """Begin a chain with a state larger than the map, and add blocks to it."""
    top = {b"%d" % n: bytes(1_000) for n in range(2_000)}
    store = Store.open(tmp_path, sync=False, map_size=SMALL_MAP)
    genesis = genesis_of(top)
    store.initialise(genesis, top)
    block = child_of(genesis)
    store.add_block(block, [], changes_for(block, {b"": {b"new": bytes(1 << 20)}}))
    store.finalize(block.hash)
    with store.state(block.hash) as state:
        assert (state.get(b"1999"), state.get(b"new")) == (bytes(1_000), bytes(1 << 20))
    store.close()


def test_growth_waits_for_the_readers_of_this_process(tmp_path: Path) -> None:
    """Wait with the growth of the map until this process's snapshots have ended, which stay valid."""
    database = LmdbDatabase(tmp_path, map_size=SMALL_MAP)
    put(database, b"key", b"before")
    with database.read() as txn:
        writer = threading.Thread(target=put, args=(database, b"key", bytes(2 << 20)))
        writer.start()
        wait_until(lambda: database._gate._waiters)  # type: ignore[attr-defined]
        assert writer.is_alive()
        assert txn.get(b"key", db=database.table("bodies")) == b"before"
    writer.join(LIMIT_S)
    assert get(database, b"key") == bytes(2 << 20)
    database.close()


def test_work_that_fails_writes_nothing(tmp_path: Path) -> None:
    """Write nothing when the work of a transaction fails."""
    database = LmdbDatabase(tmp_path)

    def work(txn: object) -> None:
        database_put = txn.put  # type: ignore[attr-defined]
        database_put(b"key", b"half", db=database.table("bodies"))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        database.write(work)
    assert get(database, b"key") is None
    database.close()


@pytest.mark.parametrize(
    ("schema", "words"), [(b"%d" % (SCHEMA + 1), "a newer version"), (b"0", "another version")]
)
def test_a_database_of_another_schema_is_refused_and_not_touched(
    tmp_path: Path, schema: bytes, words: str
) -> None:
    """Refuse a database of a newer or older schema, and leave its file untouched."""
    database = LmdbDatabase(tmp_path)
    database.write(lambda txn: txn.put(b"schema", schema, db=database.meta))
    database.close()
    before = (tmp_path / "data.mdb").read_bytes()
    for opened in (Store.open, StoreReader.open):
        with pytest.raises(StoreError, match=f"{words}.*schema {schema.decode()}.*purge-chain") as refused:
            opened(tmp_path)
        assert refused.value.exit_code == 4
    assert (tmp_path / "data.mdb").read_bytes() == before


def test_a_malformed_database_file_is_reported_as_damaged(tmp_path: Path) -> None:
    """Report a file that is not a database as damaged, with the way out."""
    (tmp_path / "data.mdb").write_bytes(b"not a database" * 1_000)
    with pytest.raises(StoreError, match=r"damaged.*purge-chain"):
        Store.open(tmp_path)


def test_a_truncated_database_is_reported_as_damaged_instead_of_crashing_later(tmp_path: Path) -> None:
    """Report a truncated database when it is opened, not by a crash at a later read."""
    database = LmdbDatabase(tmp_path)
    for number in range(200):
        put(database, b"%d" % number, bytes(1_000))
    database.close()
    data = (tmp_path / "data.mdb").read_bytes()
    for pages in (2, 8, len(data) // 8192):
        (tmp_path / "data.mdb").write_bytes(data[: pages * 4096])
        with pytest.raises(StoreError, match=r"damaged \(\d+ of \d+ pages are missing\).*purge-chain"):
            Store.open(tmp_path)


def test_a_file_that_lacks_only_pages_that_were_never_written_is_accepted(tmp_path: Path) -> None:
    """Accept a file that lacks only pages which were never written."""
    database = LmdbDatabase(tmp_path)
    missing = 0
    for count in range(1, 100):
        database.write(partial(write_and_delete, database=database, count=count))
        pages = int(database._environment.info()["last_pgno"]) + 1
        missing = pages - (tmp_path / "data.mdb").stat().st_size // 4096
        if missing:
            break
    database.close()
    assert missing > 0
    database = LmdbDatabase(tmp_path)
    assert get(database, b"stays") == bytes(900)
    database.close()


def write_and_delete(txn: lmdb.Transaction[bytes], database: LmdbDatabase, count: int) -> None:
    """Write a row that stays and `count` rows that are deleted again."""
    table = database.table("bodies")
    txn.put(b"stays", bytes(900), db=table)
    for number in range(count):
        txn.put(b"%d" % number, bytes(900), db=table)
    for number in range(count):
        txn.delete(b"%d" % number, db=table)


def test_a_reader_needs_a_database(tmp_path: Path) -> None:
    """Refuse to read where there is no database."""
    with pytest.raises(StoreError, match="no database"):
        StoreReader.open(tmp_path / "missing")


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    """Refuse to write through a reader."""
    LmdbDatabase(tmp_path).close()
    database = LmdbDatabase(tmp_path, readonly=True)
    with pytest.raises(StoreError, match="cannot be written"):
        put(database, b"key", b"value")
    database.close()


def test_a_reader_has_one_snapshot_at_a_time(tmp_path: Path) -> None:
    """Refuse a second snapshot while one is open."""
    LmdbDatabase(tmp_path).close()
    database = LmdbDatabase(tmp_path, readonly=True)
    with database.read(), pytest.raises(RuntimeError, match="close it first"), database.read():
        pass
    database.close()


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from cfnode.store import Store, StoreError
from tests.store.chains import changes_for, child_of, genesis_of

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = Store.open(Path(sys.argv[1]))
genesis = genesis_of({})
store.initialise(genesis, {})
block = child_of(genesis)
store.add_block(block, [], changes_for(block, {b"": {b"key": b"value"}}))
store.finalize(block.hash)
resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, 2 << 20))
parent = block
try:
    while True:
        header = child_of(parent)
        store.add_block(header, [bytes(300_000)], changes_for(header, {}))
        parent = header
except StoreError as error:
    print(error.exit_code, error)
print(parent.number, parent.hash.hex())
"""


def test_a_full_disk_is_reported_and_loses_nothing(tmp_path: Path) -> None:
    """Report a full disk by the store's exit code, and lose no block that was added."""
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    words, last = done.stdout.splitlines()
    assert re.match(r"4 .* database in .*(no space left|check the disk)", words)
    number, block = last.split()
    store = Store.open(tmp_path)
    unfinalized = [header for header, _ in store.unfinalized()]
    assert store.finalized.number == 1
    assert (unfinalized[-1].number, unfinalized[-1].hash.hex()) == (int(number), block)
    assert len(unfinalized) == int(number) - 1 > 2
    store.close()
