"""How does a client follow the head of the chain? The events of one chainHead_v1_follow.

First what is there: the last finalized blocks, the blocks above them, parents first, and the best one; then
each change. A client can rely on it that a parent was named before its child, and that what becomes final
was named before.

Where that cannot be kept, the last event is `stop` and the client begins anew: when it reads so slowly that
`CAPACITY` changes of the chain wait for it, when the node has jumped (warp sync), when finality is too far
behind, or when more blocks are held than may be (`pins.py`), or for so long that their states have to go
(`store/holds.py`).

`run` turns what happens to the chain into events, and operations (`operations.py`) add theirs. Each hands its
event over when the client takes it: a slow reader slows its own operations, and costs no memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import trio

from cfnode.core.block import BlockRef
from cfnode.core.jsonrpc import RpcError
from cfnode.node.events import BestChanged, ChainEvent, Finalized, Imported, Lagged, Reverted
from cfnode.node.runtime_info import RuntimeVersion
from cfnode.rpc.convert import to_hex
from cfnode.rpc.pins import Pins, TooManyPinned
from cfnode.rpc.v1.operations import Event, Operations
from cfnode.runtime.calls import RuntimeCallError

if TYPE_CHECKING:
    from cfnode.node.node import Node

MAX_FINALIZED: Final = 16
"""Final blocks in the first event."""
MAX_LAG: Final = 128
"""Blocks between the last final one and any leaf; beyond that following is refused."""
CAPACITY: Final = 128
"""Changes of the chain that may wait for a slow reader."""

INVALID_BLOCK: Final = RpcError(-32801, "Invalid block hash")
DUPLICATE_HASHES: Final = RpcError(-32804, "Received duplicate hashes for `chainHead_unpin`")


class Gap(Exception):
    """The client's picture of the chain can not be kept whole."""


class Follow:
    """One client that follows the head of the chain: the blocks it holds, and its operations."""

    def __init__(self, node: Node, pins: Pins, *, with_runtime: bool) -> None:
        self.with_runtime = with_runtime
        self.operations = Operations(self.tell)
        self._node = node
        self._pins = pins
        self._told: dict[bytes, RuntimeVersion | None] = {}
        """The last final block and those above it that the client knows of, with their runtimes."""
        self._foreseen: set[bytes] = set()
        """Blocks whose states are held for the client, who is yet to be told of them."""
        self._final = b""
        self._events, self.to_client = trio.open_memory_channel[Event](0)
        self.is_over = False
        self._scope = trio.CancelScope()

    # For the methods

    def check(self, block: bytes) -> None:
        """Raises RpcError if the client does not hold the block."""
        if not self._pins.holds(self, block):
            raise INVALID_BLOCK

    def unpin(self, blocks: list[bytes]) -> None:
        """Let go of blocks: of all of them, or with an RpcError of none."""
        if len(set(blocks)) < len(blocks):
            raise DUPLICATE_HASHES
        for block in blocks:
            self.check(block)
        self._pins.unpin(self, blocks)
        self._release(blocks)

    async def tell(self, event: Event) -> None:
        """Hand an event over, once the client takes it."""
        await self._events.send(event)

    def halt(self) -> None:
        """End with `stop`; the blocks are let go at once."""
        self._end()
        self._scope.cancel()

    def leave(self) -> None:
        """The client takes no more events: end without a word."""
        self.to_client.close()
        self.halt()

    # The task

    async def run(self) -> None:
        """Turn what happens to the chain into events, until the client leaves or has to begin anew."""
        try:
            with self._scope:
                await self._follow()
            self._end()
            await self._events.send({"event": "stop"})
        except trio.BrokenResourceError:  # the client has left
            return
        finally:
            self._end()
            self._events.close()

    def _end(self) -> None:
        self.is_over = True
        self.operations.stop()
        self._release([*self._pins.release(self), *self._foreseen])
        self._foreseen.clear()

    def _foresee(self, change: ChainEvent) -> None:
        """The client will be told of a block: hold its state, whatever becomes of it until then."""
        if isinstance(change, Imported) and not self.is_over:
            self._node.store.hold(change.block.hash)
            self._foreseen.add(change.block.hash)

    def _pin(self, block: bytes) -> None:
        """Hold a block for the client, and its state."""
        if block in self._foreseen:
            self._foreseen.remove(block)
        else:
            self._node.store.hold(block)
        self._pins.pin(self, block)

    def _release(self, blocks: list[bytes]) -> None:
        for block in blocks:
            self._node.store.release(block)

    async def _follow(self) -> None:
        try:
            with self._node.chain.subscribe(CAPACITY, on_event=self._foresee) as changes:
                await self._tell_present()
                async for change in changes:
                    await self._tell_change(change)
        except (Gap, TooManyPinned):
            return

    # What is there

    async def _tell_present(self) -> None:
        """All of one moment: nothing is awaited until it has been read."""
        chain = self._node.chain
        best, finalized, above = chain.best, self._last_final(), chain.unfinalized()
        for block in (*finalized, *(block.hash for block, _ in above)):
            self._pin(block)
        self._check_lag(max((block.number for block, _ in above), default=0))
        self._final = finalized[-1]
        first: Event = {
            "event": "initialized",
            "finalizedBlockHashes": [to_hex(block) for block in finalized],
        }
        if self.with_runtime:
            first["finalizedBlockRuntime"] = await self._runtime(self._final)
        self._told.setdefault(self._final, None)
        await self.tell(first)
        for reference, parent in above:
            await self._tell_block(reference.hash, parent)
        if best.hash != self._final:
            await self._tell_best(best)

    def _last_final(self) -> list[bytes]:
        """The last final blocks whose state and body are here, oldest first."""
        last, facts = self._node.chain.finalized.number, self._node.store.chain_metadata
        first = max(last - MAX_FINALIZED + 1, min(max(facts.oldest_state, facts.oldest_body), last), 0)
        hashes = (self._node.chain.hash_at(number) for number in range(first, last + 1))
        return [block for block in hashes if block is not None]

    def _check_lag(self, height: int) -> None:
        if height - self._node.chain.finalized.number > MAX_LAG:
            raise Gap

    # What changes

    async def _tell_change(self, change: ChainEvent) -> None:
        match change:
            case Imported(block, header, _):
                self._check_lag(block.number)
                self._pin(block.hash)
                await self._tell_block(block.hash, header.parent_hash)
            case BestChanged(new, _, _):
                await self._tell_best(new)
            case Finalized(blocks=blocks, dropped=dropped, discarded=discarded):
                if any(self._pins.holds(self, block) for block in discarded):
                    raise Gap
                await self._tell_final([block.hash for block in blocks], dropped)
            case Lagged() | Reverted():
                raise Gap

    async def _tell_block(self, block: bytes, parent: bytes) -> None:
        self._require([parent])
        event: Event = {"event": "newBlock", "blockHash": to_hex(block), "parentBlockHash": to_hex(parent)}
        if self.with_runtime:
            runtime = await self._runtime(block)
            event["newRuntime"] = None if self._told[block] == self._told[parent] else runtime
        self._told.setdefault(block, None)
        await self.tell(event)

    async def _tell_best(self, best: BlockRef) -> None:
        self._require([best.hash])
        await self.tell({"event": "bestBlockChanged", "bestBlockHash": to_hex(best.hash)})

    async def _tell_final(self, blocks: list[bytes], dropped: tuple[bytes, ...]) -> None:
        self._require([*blocks, *dropped])
        for block in (self._final, *blocks[:-1], *dropped):
            del self._told[block]
        self._final = blocks[-1]
        await self.tell(
            {
                "event": "finalized",
                "finalizedBlockHashes": [to_hex(block) for block in blocks],
                "prunedBlockHashes": [to_hex(block) for block in dropped],
            }
        )

    def _require(self, blocks: list[bytes]) -> None:
        """Raises Gap if the client was not told of all of them."""
        if not all(block in self._told for block in blocks):
            raise Gap

    async def _runtime(self, block: bytes) -> Event:
        """The block's runtime as an event shows it; its version is kept to compare its children's with."""
        self._told[block] = None
        try:
            version = (await self._node.chain.runtime_at(block)).version
        except (RuntimeCallError, LookupError) as error:
            return {"type": "invalid", "error": str(error)}
        self._told[block] = version
        return {"type": "valid", "spec": spec_json(version)}


def spec_json(version: RuntimeVersion) -> dict[str, Any]:
    """A runtime version in the form of the new interface."""
    return {
        "specName": version.spec_name,
        "implName": version.impl_name,
        "specVersion": version.spec_version,
        "implVersion": version.impl_version,
        "apis": {to_hex(name): number for name, number in version.apis},
        "transactionVersion": version.transaction_version,
    }
