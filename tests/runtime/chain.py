"""A store with a toy chain in it, and the steps by which a node makes it longer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cfnode.core.aura import pre_runtime_item, sealed
from cfnode.core.header import Header
from cfnode.core.trie import EMPTY_ROOT, root
from cfnode.runtime.executor import Executor
from cfnode.store import Pruning, Store
from tests.runtime.toy import CODE

RUNTIMES = "tests.runtime.toy:runtime_for"
GENESIS_STATE = {b":code": CODE, b"old": b"value", b"large": b"v" * 100}
GENESIS = Header(bytes(32), 0, root(GENESIS_STATE, 1), EMPTY_ROOT)


@contextmanager
def toy_store(path: Path, states: int = 8) -> Iterator[Store]:
    """Yield a new store with the genesis of the toy chain."""
    path.mkdir(parents=True, exist_ok=True)
    store = Store.open(path, pruning=Pruning(states, states), sync=False)
    try:
        store.initialise(GENESIS, GENESIS_STATE)
        yield store
    finally:
        store.close()


async def extend(
    executor: Executor, store: Store, parent: Header, candidates: Sequence[bytes] = ()
) -> Header:
    """Build a block, execute it as a peer would, store it and send its overlay to the executor."""
    built = await executor.build_block(
        parent.hash, [pre_runtime_item(parent.number + 1)], [], candidates, 5.0
    )
    header = sealed(built.header, bytes(64))
    changes = await executor.execute_block(header, built.body)
    assert changes == built.changes
    await executor.overlay_added(store.add_block(header, built.body, changes))
    return header
