"""A follow of the head of the chain: the events of one chainHead_v1_follow.

The first events describe the present blocks: the last finalized ones, the blocks above them, parents first,
and the best block; further events describe each change. A parent is always reported before its child, and a
block before it is finalized.

Where that cannot be guaranteed, the last event is `stop` and the client has to follow anew: when it reads so
slowly that `CAPACITY` changes of the chain wait for it, when the node has jumped (warp sync), when finality
lags too far, when too many blocks are pinned (`pins.py`), or when blocks are pinned for so long that their
states are discarded (`store/holds.py`).

`run` turns changes of the chain into events, and operations (`operations.py`) add their own. Each sender
waits until the client reads its event: a slow client slows its own operations, and costs no memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import trio

from cfnode.core.block import BlockRef
from cfnode.core.jsonrpc import RpcError
from cfnode.node.chain.events import BestChanged, BlocksFinalized, ChainEvent, ChainReset, Imported, Lagged
from cfnode.node.chain.runtime_info import RuntimeVersion
from cfnode.rpc.table.convert import to_hex
from cfnode.rpc.table.pins import Pins, TooManyPinned
from cfnode.rpc.v1.operations import Event, Operations
from cfnode.runtime.calls import RuntimeCallError

if TYPE_CHECKING:
    from cfnode.node.node import Node

MAX_FINALIZED: Final = 16
"""Final blocks in the first event."""
MAX_LAG: Final = 128
"""Blocks between the last final one and any leaf; beyond that the follow stops."""
CAPACITY: Final = 128
"""Changes of the chain that may wait for a slow reader."""

INVALID_BLOCK: Final = RpcError(-32801, "Invalid block hash")
DUPLICATE_HASHES: Final = RpcError(-32804, "Received duplicate hashes for the `chainHead_unpin` method")


class FollowGap(Exception):
    """The follow has to stop: the client's view of the chain cannot stay consistent."""


class Follow:
    """One follow of the chain's head: its pinned blocks, and its operations."""

    def __init__(self, node: Node, pins: Pins, *, with_runtime: bool) -> None:
        self.with_runtime = with_runtime
        self.operations = Operations(self.send)
        self._node = node
        self._pins = pins
        self._announced: dict[bytes, RuntimeVersion | None] = {}
        """The last finalized block and the reported blocks above it, with their runtimes."""
        self._unreported: set[bytes] = set()
        """Blocks whose states are held, but which are not reported to the client yet."""
        self._final = b""
        self._events, self.to_client = trio.open_memory_channel[Event](0)
        self.is_over = False
        self._scope = trio.CancelScope()

    # For the methods

    def check(self, block: bytes) -> None:
        """Raise RpcError if the client has not pinned the block."""
        if not self._pins.has_pinned(self, block):
            raise INVALID_BLOCK

    def unpin(self, blocks: list[bytes]) -> None:
        """Unpin all of the blocks, or none with an RpcError."""
        if len(set(blocks)) < len(blocks):
            raise DUPLICATE_HASHES
        for block in blocks:
            self.check(block)
        self._pins.unpin(self, blocks)
        self._release(blocks)

    async def send(self, event: Event) -> None:
        """Send an event; return when the client has read it."""
        await self._events.send(event)

    def halt(self) -> None:
        """End with the event `stop`; the blocks are unpinned at once."""
        self._end()
        self._scope.cancel()

    def leave(self) -> None:
        """End without an event: the client has unsubscribed."""
        self.to_client.close()
        self.halt()

    # The task

    async def run(self) -> None:
        """Turn changes of the chain into events, until the client unsubscribes or the follow has to stop."""
        try:
            with self._scope:
                await self._follow()
            self._end()
            await self._events.send({"event": "stop"})
        except trio.BrokenResourceError:  # the client has unsubscribed
            return
        finally:
            self._end()
            self._events.close()

    def _end(self) -> None:
        self.is_over = True
        self.operations.stop()
        self._release([*self._pins.release(self), *self._unreported])
        self._unreported.clear()

    def _hold(self, change: ChainEvent) -> None:
        """Hold the state of an imported block until it is reported.

        So it stays even if the block's fork is discarded meanwhile.
        """
        if isinstance(change, Imported) and not self.is_over:
            self._node.store.hold(change.block.hash)
            self._unreported.add(change.block.hash)

    def _pin(self, block: bytes) -> None:
        """Pin a block for the client, and hold its state."""
        if block in self._unreported:
            self._unreported.remove(block)
        else:
            self._node.store.hold(block)
        self._pins.pin(self, block)

    def _release(self, blocks: list[bytes]) -> None:
        for block in blocks:
            self._node.store.release(block)

    async def _follow(self) -> None:
        try:
            with self._node.chain.subscribe(CAPACITY, on_event=self._hold) as changes:
                await self._send_initial()
                async for change in changes:
                    await self._send_change(change)
        except (FollowGap, TooManyPinned):
            return

    # The first events

    async def _send_initial(self) -> None:
        """Read the chain and pin its blocks without awaiting in between, then send the events."""
        chain = self._node.chain
        best, finalized, unfinalized = chain.best, self._last_final(), chain.unfinalized()
        for block in (*finalized, *(block.hash for block, _ in unfinalized)):
            self._pin(block)
        self._check_lag(max((block.number for block, _ in unfinalized), default=0))
        self._final = finalized[-1]
        initialized: Event = {
            "event": "initialized",
            "finalizedBlockHashes": [to_hex(block) for block in finalized],
        }
        if self.with_runtime:
            initialized["finalizedBlockRuntime"] = await self._runtime(self._final)
        self._announced.setdefault(self._final, None)
        await self.send(initialized)
        for reference, parent in unfinalized:
            await self._send_block(reference.hash, parent)
        if best.hash != self._final:
            await self._send_best(best)

    def _last_final(self) -> list[bytes]:
        """Return the last finalized blocks whose state and body are stored, oldest first."""
        last, facts = self._node.chain.finalized.number, self._node.store.chain_metadata
        first = max(last - MAX_FINALIZED + 1, min(max(facts.oldest_state, facts.oldest_body), last), 0)
        hashes = (self._node.chain.hash_at(number) for number in range(first, last + 1))
        return [block for block in hashes if block is not None]

    def _check_lag(self, height: int) -> None:
        if height - self._node.chain.finalized.number > MAX_LAG:
            raise FollowGap

    # Changes

    async def _send_change(self, change: ChainEvent) -> None:
        match change:
            case Imported(block, header, _):
                self._check_lag(block.number)
                self._pin(block.hash)
                await self._send_block(block.hash, header.parent_hash)
            case BestChanged(new, _, _):
                await self._send_best(new)
            case BlocksFinalized(blocks=blocks, dropped=dropped, discarded=discarded):
                if any(self._pins.has_pinned(self, block) for block in discarded):
                    raise FollowGap
                await self._send_final([block.hash for block in blocks], dropped)
            case Lagged() | ChainReset():
                raise FollowGap

    async def _send_block(self, block: bytes, parent: bytes) -> None:
        self._require([parent])
        event: Event = {"event": "newBlock", "blockHash": to_hex(block), "parentBlockHash": to_hex(parent)}
        if self.with_runtime:
            runtime = await self._runtime(block)
            event["newRuntime"] = None if self._announced[block] == self._announced[parent] else runtime
        self._announced.setdefault(block, None)
        await self.send(event)

    async def _send_best(self, best: BlockRef) -> None:
        self._require([best.hash])
        await self.send({"event": "bestBlockChanged", "bestBlockHash": to_hex(best.hash)})

    async def _send_final(self, blocks: list[bytes], dropped: tuple[bytes, ...]) -> None:
        self._require([*blocks, *dropped])
        for block in (self._final, *blocks[:-1], *dropped):
            del self._announced[block]
        self._final = blocks[-1]
        await self.send(
            {
                "event": "finalized",
                "finalizedBlockHashes": [to_hex(block) for block in blocks],
                "prunedBlockHashes": [to_hex(block) for block in dropped],
            }
        )

    def _require(self, blocks: list[bytes]) -> None:
        """Raise Gap if one of the blocks was not reported to the client."""
        if not all(block in self._announced for block in blocks):
            raise FollowGap

    async def _runtime(self, block: bytes) -> Event:
        """Return the block's runtime for an event; keep its version to compare its children's versions."""
        self._announced[block] = None
        try:
            version = (await self._node.chain.runtime_at(block)).version
        except (RuntimeCallError, LookupError) as error:
            return {"type": "invalid", "error": str(error)}
        self._announced[block] = version
        return {"type": "valid", "spec": spec_json(version)}


def spec_json(version: RuntimeVersion) -> dict[str, Any]:
    """Return a runtime version in the format of the new interface."""
    return {
        "specName": version.spec_name,
        "implName": version.impl_name,
        "specVersion": version.spec_version,
        "implVersion": version.impl_version,
        "apis": {to_hex(name): number for name, number in version.apis},
        "transactionVersion": version.transaction_version,
    }
