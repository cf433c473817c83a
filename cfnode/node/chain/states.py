"""States of blocks: from the store, or read from peers with proofs.

After a warp sync a node has the newest final block long before its state. Until the state is downloaded, a
`RemoteState` answers for this one block: its answers are verified like everything else, and only take longer.
For any other block, and after the download, the store and the executor answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from cfnode.core.block import BlockRef
from cfnode.core.header import Header
from cfnode.core.state import TOP, BlockState
from cfnode.node.chain.call_cache import CallCache, RuntimeCall
from cfnode.node.threads import read_in_thread
from cfnode.runtime.calls import BlockSource
from cfnode.runtime.executor import Executor
from cfnode.store import Store

__all__ = ["RemoteState", "States"]

T = TypeVar("T")


class RemoteState(Protocol):
    """A proven block whose state peers have. Reads and calls raise StateDiscarded if no peer helps."""

    @property
    def block(self) -> BlockRef:
        """The block that the state belongs to."""
        ...

    @property
    def header(self) -> Header:
        """The header of the block."""
        ...

    @property
    def body(self) -> list[bytes]:
        """The block's extrinsics, each with its length prefix."""
        ...

    async def call_all(self, calls: Sequence[tuple[str, bytes]]) -> list[bytes]:
        """Return the outputs of calls (function, args) on the block's state. Raise StateDiscarded."""
        ...

    async def read(self, walk: Callable[[BlockState], T], keys: Sequence[bytes], child: bytes) -> T:
        """Return the result of `walk` on the block's state; `walk` may be called again.

        Raise StateDiscarded.
        """
        ...


class States:
    """The states of all blocks. `remote`: the block whose state is not downloaded yet, if there is one."""

    def __init__(self, store: Store, executor: Executor) -> None:
        self._store = store
        self._calls = CallCache()
        self.executor = executor
        self.remote: RemoteState | None = None
        self.answered_with_proof = 0
        """The number of calls and reads so far that were answered with proofs of peers."""

    def remote_for(self, block: bytes) -> RemoteState | None:
        """Return the remote state of a block whose state is not in the store; None for any other block."""
        remote = self.remote
        return remote if remote is not None and remote.block.hash == block else None

    def at(self, block: bytes) -> AbstractContextManager[BlockState]:
        """Return a state in the store, for the length of a `with`. Raise UnknownBlock or StateDiscarded."""
        return self._store.state(block)

    async def read(
        self, block: bytes, walk: Callable[[BlockState], T], keys: Sequence[bytes] = (), child: bytes = TOP
    ) -> T:
        """Return the result of `walk` on a block's state, in a thread; `walk` may be called again.

        `keys`: the keys that it will read in the trie `child`, if known: then peers are asked only once.
        Raise UnknownBlock or StateDiscarded.
        """
        remote = self.remote_for(block)
        if remote is not None:
            result = await remote.read(walk, keys, child)
            self.answered_with_proof += 1
            return result

        def work() -> T:
            with self.at(block) as state:
                return walk(state)

        return await read_in_thread(work)

    async def call_all(self, block: bytes, calls: Sequence[RuntimeCall]) -> list[bytes]:
        """Return the outputs of calls (function, args) on a block's state, each made once (`call_cache`).

        Raise UnknownBlock, StateDiscarded or RuntimeCallError.
        """
        remote = self.remote_for(block)
        if remote is None:

            async def ask(missing: Sequence[RuntimeCall]) -> list[bytes]:
                return await self.executor.call_all(BlockSource(block), missing)

            if not self._store.has_state(block):
                self._calls.drop(block)
                return await ask(calls)  # the executor knows why; an earlier question may still get an output
            return await self._calls.all(block, calls, ask)

        async def ask_peers(missing: Sequence[RuntimeCall]) -> list[bytes]:
            outputs = await remote.call_all(missing)
            self.answered_with_proof += len(missing)
            return outputs

        return await self._calls.all(block, calls, ask_peers)

    async def prove_call(self, block: bytes, function: str, args: bytes) -> bytes:
        """Return the encoded proof of what a call reads in a state of the store.

        Raise UnknownBlock, StateDiscarded or RuntimeCallError.
        """
        return await self.executor.prove_call(BlockSource(block), function, args)
