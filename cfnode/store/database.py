"""The LMDB environment: opening, reading, writing and growing its file, and its errors as readable texts.

LMDB (lmdb.tech/doc) has one writer and any number of readers, in any number of processes; a reader sees the
last commit from before it began, for as long as its transaction is open. Two of its rules shape this class:

- The file cannot outgrow the map. A map takes address space and nothing else, so it is much larger than the
  file from the beginning. Where the address space is limited (`ulimit -v`), it begins small: a writer that
  meets its end aborts, doubles the map and does its work again. A map may only be changed while this process
  has no transaction open: readers are counted, and new ones wait meanwhile.
- A reader in another process gets MapResizedError for the larger file and adopts the new size.
"""

from __future__ import annotations

import contextlib
import errno
import resource
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import lmdb

from cfnode.store.errors import StoreError
from cfnode.store.residency import release_pages
from cfnode.store.verify import survives_reading

if TYPE_CHECKING:
    Transaction: TypeAlias = lmdb.Transaction[bytes]
    Handle: TypeAlias = lmdb._Database

SCHEMA = 1
"""The version of the tables' layout; it increases with each change."""

TABLES = (
    *("headers", "bodies", "justifications", "numbers", "unfinalized", "stale", "kept", "set-changes"),
    "periodic",
    *("storage", "storage-undo", "nodes", "nodes-undo", "undo-index"),
    *("shelf-blocks", "shelf-tips", "shelf-storage", "shelf-nodes", "shelf-index", "shelf-garbage"),
)
"""The tables, by their names on disk. Those of spilled overlays (`spill.py`) begin with `shelf`."""

LARGE_MAP = 1 << 38
"""Bytes of address space for the file, 256 GiB: such a map never has to grow."""
SMALL_MAP = 64 << 20
"""Bytes of the first map where the address space is limited; other parts of the process need some too."""
MAX_GROWTH = 1 << 30
RESIDENCY_CHECK_S = 0.1
"""Seconds between two checks of the process's resident memory, at the end of a read or a write."""
MIN_FREE = 1 << 20
"""Free bytes on the disk below which a failed write is reported as a full disk."""

Result = TypeVar("Result")


class LmdbDatabase:
    """One LMDB environment with its tables. All access goes through `read()` and `write()`."""

    def __init__(
        self, path: Path, *, readonly: bool = False, sync: bool = True, map_size: int | None = None
    ) -> None:
        """Open the environment and its tables. Raises StoreError.

        `map_size`: bytes of address space at first; None for as many as the system has.
        """
        self.path = path
        self.readonly = readonly
        self._sync = sync
        self._writing = threading.Lock()
        self._gate = threading.Condition()
        self._reading: dict[int, int] = {}
        self._growing = False
        self._checked_at = 0.0
        with translate_errors(path):
            self._environment = self._mapped(_map_size() if map_size is None else map_size)
        try:
            self._open_tables()
        except BaseException:
            self._environment.close()
            raise

    def _mapped(self, map_size: int) -> lmdb.Environment:
        try:
            return lmdb.open(
                str(self.path), map_size=map_size, readonly=self.readonly, sync=self._sync, metasync=False,
                max_dbs=len(TABLES) + 1, max_spare_txns=2, create=not self.readonly,
            )  # fmt: skip
        except lmdb.Error as error:
            if getattr(error, "code", 0) != errno.ENOMEM or map_size <= SMALL_MAP:
                raise
        return self._mapped(SMALL_MAP)

    def _open_tables(self) -> None:
        with translate_errors(self.path):
            if self.readonly:
                self._open_in(None)
            else:
                self._refuse_cut_short()
                with self._environment.begin(write=True) as txn:
                    self._open_in(txn)

    def _open_in(self, txn: Transaction | None) -> None:
        """Open the tables, or create them all in one transaction, once the schema has been checked."""
        create = txn is not None
        self.meta: Handle = self._environment.open_db(b"meta", txn, create=create)
        self._check_schema(txn)
        self._tables: dict[str, Handle] = {
            name: self._environment.open_db(name.encode(), txn, create=create) for name in TABLES
        }

    def _refuse_cut_short(self) -> None:
        """Refuse a truncated file: reading beyond its end would kill this process.

        A file shorter than its pages may be complete (pages allocated and freed in one transaction are never
        written), so another process reads it first.
        """
        pages = int(self._environment.info()["last_pgno"]) + 1
        missing = pages - (self.path / "data.mdb").stat().st_size // int(self._environment.stat()["psize"])
        if missing > 0 and not survives_reading(self.path):
            raise StoreError(_DAMAGED.format(path=self.path, error=f"{missing} of {pages} pages are missing"))

    def _check_schema(self, txn: Transaction | None) -> None:
        with contextlib.nullcontext(txn) if txn else self.read() as transaction:
            schema = transaction.get(b"schema", db=self.meta)
        if schema is None and txn is not None:
            txn.put(b"schema", b"%d" % SCHEMA, db=self.meta)
        elif schema != b"%d" % SCHEMA:
            version = (schema or b"none").decode(errors="replace")
            age = "a newer" if version.isdigit() and int(version) > SCHEMA else "another"
            raise StoreError(
                f"the database in {self.path} was made by {age} version of cfnode (schema {version}, ours is "
                f"{SCHEMA}): run that version, or delete the database with `cfnode purge-chain` (keys stay)"
            )

    def table(self, name: str) -> Handle:
        """Return the handle of a table."""
        return self._tables[name]

    def empty(self, txn: Transaction) -> None:
        """Delete all rows of all tables but `meta`."""
        for table in self._tables.values():
            txn.drop(table, delete=False)

    @contextlib.contextmanager
    def read(self) -> Iterator[Transaction]:
        """Open a snapshot of the last commit for the block.

        The block must end before the call that opened it returns: while a snapshot is open, no page freed
        since can be used again, and the map cannot grow.
        """
        transaction = self._enter()
        try:
            with translate_errors(self.path):
                yield transaction
        finally:
            transaction.abort()
            self._leave()
            self._limit_resident_pages()

    def _enter(self) -> Transaction:
        thread_id = threading.get_ident()
        with self._gate:
            if self.readonly and thread_id in self._reading:
                raise RuntimeError("a snapshot is open in this thread already: close it first")
            if self._growing:  # without this wait, a busy reader would keep the map from growing
                self._gate.wait_for(lambda: not self._growing or thread_id in self._reading)
            with translate_errors(self.path):
                transaction = self._begin()
            self._reading[thread_id] = self._reading.get(thread_id, 0) + 1
        return transaction

    def _begin(self) -> Transaction:
        try:
            return self._environment.begin()
        except lmdb.MapResizedError:
            self._gate.wait_for(lambda: not self._reading)
            self._environment.set_mapsize(0)
            return self._environment.begin()

    def _leave(self) -> None:
        thread_id = threading.get_ident()
        with self._gate:
            self._reading[thread_id] -= 1
            if not self._reading[thread_id]:
                del self._reading[thread_id]
                self._gate.notify_all()

    def write(self, work: Callable[[Transaction], Result]) -> Result:
        """Run `work` in one transaction, which is committed as a whole or not at all.

        `work` may run again from the start (on a larger map), so it must change nothing outside the
        transaction.
        """
        if threading.get_ident() in self._reading:
            raise RuntimeError("a snapshot is open in this thread: close it before writing")
        with self._writing, translate_errors(self.path):
            while True:
                try:
                    with self._environment.begin(write=True) as transaction:
                        result = work(transaction)
                    self._limit_resident_pages()
                    return result
                except lmdb.MapFullError:
                    self._grow()

    def copy(self, path: Path) -> None:
        """Write the last commit, without free pages, as a database into an empty directory."""
        with self._writing, translate_errors(path):  # no map grows meanwhile
            self._environment.copy(str(path), compact=True)

    def replace(self, txn: Transaction, path: Path) -> None:
        """Replace all rows, also those of `meta`, with the rows of a copy."""
        with (
            translate_errors(path),
            lmdb.open(str(path), readonly=True, lock=False, max_dbs=len(TABLES) + 1) as copied,
        ):
            tables = {"meta": self.meta, **self._tables}
            for name, table in tables.items():
                source = copied.open_db(name.encode(), create=False)
                txn.drop(table, delete=False)
                with copied.begin(db=source) as rows, txn.cursor(table) as cursor:
                    cursor.putmulti(rows.cursor(), append=True)

    def _grow(self) -> None:
        with self._gate:
            self._growing = True
            try:
                self._gate.wait_for(lambda: not self._reading)
                size = self.map_size
                self._environment.set_mapsize(size + min(size, MAX_GROWTH))
            finally:
                self._growing = False
                self._gate.notify_all()

    @property
    def map_size(self) -> int:
        """The size of the map in bytes, the most that the file can hold."""
        return int(self._environment.info()["map_size"])

    @property
    def used(self) -> int:
        """Bytes of all pages of the file, including free ones."""
        return (int(self._environment.info()["last_pgno"]) + 1) * int(self._environment.stat()["psize"])

    def forget_dead_readers(self) -> int:
        """Free the reader slots of processes that died while reading, which keep pages in use.

        Return the number of slots.
        """
        with translate_errors(self.path):
            return int(self._environment.reader_check())

    def _limit_resident_pages(self) -> None:
        now = time.monotonic()
        if now - self._checked_at >= RESIDENCY_CHECK_S:
            self._checked_at = now
            self.release_pages()

    def release_pages(self) -> None:
        """Release the pages in memory if they are many; worth a call after a long read."""
        release_pages(self.path / "data.mdb")

    def close(self) -> None:
        """Sync the file and close it."""
        if self._sync and not self.readonly:
            with contextlib.suppress(lmdb.Error):  # the last commit may then be undone, as by a crash
                self._environment.sync(True)
        self._environment.close()


def _map_size() -> int:
    unlimited = resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
    return LARGE_MAP if unlimited else SMALL_MAP


_DAMAGED = "the database in {path} is damaged ({error}): delete it with `cfnode purge-chain` (keys stay)"
_FULL = (
    "no space left for the database in {path} ({error}): free some and start again; earlier commits are kept"
)
_REFUSED = "the database in {path} cannot be written ({error}): make it writable for this user"
_IO_ERROR = (
    "the database in {path} could not be read or written completely ({error}): check the disk, which is at a "
    "limit or failing; earlier commits are kept"
)
_OTHER = "the database in {path} cannot be used: {error}"

_BY_ERRNO = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _FULL),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _REFUSED),
    errno.ENOENT: "there is no database in {path} ({error})",
    errno.ENOMEM: "no more memory can be mapped for the database in {path} ({error}): raise `ulimit -v`",
    errno.EIO: _IO_ERROR,
}
_DAMAGE_ERRORS = (
    lmdb.CorruptedError,
    lmdb.InvalidError,
    lmdb.PageNotFoundError,
    lmdb.PanicError,
    lmdb.VersionMismatchError,
    lmdb.IncompatibleError,
)


@contextlib.contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Raise LMDB's errors of the block as StoreError.

    MapFullError and MapResizedError are handled before they get here.
    """
    try:
        yield
    except lmdb.Error as error:
        raise StoreError(_template(error, path).format(path=path, error=error)) from error


def _template(error: Any, path: Path) -> str:
    if isinstance(error, _DAMAGE_ERRORS):
        return _DAMAGED
    if isinstance(error, lmdb.ReadonlyError):
        return _REFUSED
    if isinstance(error, lmdb.DiskError):
        return _FULL
    template = _BY_ERRNO.get(getattr(error, "code", 0), _OTHER)
    # LMDB reports a disk that fills up in the middle of a page as an I/O error.
    return _FULL if template is _IO_ERROR and shutil.disk_usage(path).free < MIN_FREE else template
