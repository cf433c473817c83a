"""What processes of a test run compute alike: geneses, runtimes and metadata of chains, the books' tables.

Each is a function of its arguments alone. A test process remembers the last results; a fork server has
those of the default chain before it forks, so that each node and executor finds them. New books in a file are
a copy of books that the migrations have made, and all files share compiled statements.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, lru_cache, wraps
from importlib import import_module
from inspect import unwrap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

KEPT = 4
SLOT = 300_000_000
"""The slot of the block that a fork server makes."""
FUNCTIONS = (
    ("cfnode.devchain.authorities", "well_known"),
    ("cfnode.devchain.genesis", "dev_chain_spec"),
    ("cfnode.devchain.runtime.runtime", "development_runtime"),
    ("cfnode.node.chain.runtime_info", "_decode_and_compile"),
)


def remember(put: Callable[[Any, str, Any], None] = setattr) -> None:
    """Let these functions keep their last results; `put` sets an attribute of a module."""
    for name, function in FUNCTIONS:
        module = import_module(name)
        put(module, function, lru_cache(maxsize=KEPT)(getattr(module, function)))
    share_statements(put)
    copy_new_books(put)


def share_statements(put: Callable[[Any, str, Any], None]) -> None:
    """Let all SQLite engines share their compiled statements, which SQLAlchemy keeps by dialect."""
    from sqlalchemy import create_engine

    from cfnode.ledger import database

    engine_of = database.engine_of

    @cache
    def first() -> Any:
        engine = create_engine("sqlite://")
        engine.connect().close()  # its dialect learns the library's version
        return engine

    def engine_with_shared_dialect(url: str) -> Any:
        engine = engine_of(url)
        if engine.dialect.name == "sqlite":
            engine.dialect, engine._compiled_cache = first().dialect, first()._compiled_cache
        return engine

    put(database, "engine_of", engine_with_shared_dialect)


def copy_new_books(put: Callable[[Any, str, Any], None]) -> None:
    """Let the migration of a file that is missing put a copy of migrated books there; any other one runs."""
    from cfnode.ledger.database import Database

    migrate = Database.migrate

    @wraps(migrate)
    def migrate_or_copy(database: Database) -> None:
        if database.is_sqlite:
            with suppress(OSError):  # there are books, or the migration says what is wrong
                place(database.path, new_books())
                return
        migrate(database)

    put(Database, "migrate", migrate_or_copy)


@cache
def new_books() -> bytes:
    """Return the content of a file with the newest tables, made by the migrations."""
    from cfnode.ledger.database import Database, sqlite_url

    with TemporaryDirectory(prefix="cfnode-books-") as folder:
        database = Database(sqlite_url(Path(folder) / "books.sqlite"))
        unwrap(Database.migrate)(database)
        database.close()
        return database.path.read_bytes()


def place(path: Path, content: bytes) -> None:
    """Make a file with this content, whole at once. Raises OSError, also if there is one."""
    if path.exists():
        raise FileExistsError(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.write_bytes(content)
        os.link(new, path)
    finally:
        new.unlink(missing_ok=True)


def prepare() -> None:
    """Compute what a default development chain needs, and what its first block compiles; after `remember`."""
    from cfnode.core.aura import SLOT_MS, pre_runtime_item
    from cfnode.core.scale import ByteCursor, encode_compact
    from cfnode.core.state import CODE
    from cfnode.devchain import spec
    from cfnode.devchain.author import ACCOUNT_FUNDS_ATOMS
    from cfnode.devchain.runtime import runtime
    from cfnode.node.chain import runtime_info
    from cfnode.runtime.blocks import BuildOrder, build_block, execute_block
    from cfnode.runtime.journal import Journal
    from tests.runtime.memory_state import MemoryState

    state = MemoryState(dict(spec.load_spec(spec.DEVELOPMENT, None, ()).genesis.top))
    code = state.get(CODE)
    assert code is not None
    made = runtime.development_runtime(code)
    cursor = ByteCursor(made.call("Metadata_metadata_at_version", (15).to_bytes(4, "little"), Journal(state)))
    assert cursor.boolean()
    runtime_info._decode_and_compile(cursor.bytes())
    inherents = [
        (b"timstap0", (SLOT * SLOT_MS).to_bytes(8, "little")),
        (b"auraslot", SLOT.to_bytes(8, "little")),
        (b"devfund0", encode_compact(1) + bytes(31) + b"\1" + ACCOUNT_FUNDS_ATOMS.to_bytes(16, "little")),
    ]
    order = BuildOrder(bytes(32), 1, (pre_runtime_item(SLOT),), inherents, [], 60.0)
    block = build_block(made, Journal(state), order, time.monotonic)
    execute_block(made, Journal(state), block.header, block.body)
    new_books()
