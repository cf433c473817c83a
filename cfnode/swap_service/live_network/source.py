"""Source of the swap service of a live network: a node, the books, and a broker's node."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import trio

from cfnode.core.foreign import ForeignError, block_number
from cfnode.core.jsonrpc import RpcError
from cfnode.core.runtime_api import ApiMissing, ApiRefused, ApiReturnedNone
from cfnode.flow.restarts import Restarts
from cfnode.ledger.block_rows import other_block
from cfnode.ledger.books import Books
from cfnode.ledger.chain import ChainReader
from cfnode.ledger.database import Database
from cfnode.ledger.errors import BrokenBooks, CallError, Discarded, LedgerError, NodeError, WrongNodeChain
from cfnode.ledger.swap_events import SwapEvents
from cfnode.ledger.updates import updates
from cfnode.swap_service.live_network.best_block import LiveBlock, NodeReader
from cfnode.swap_service.live_network.broker import RemoteBroker
from cfnode.swap_service.live_network.link import NodeLink
from cfnode.swaps.record import SwapRecord

__all__ = ["LiveSource"]

log = logging.getLogger("cfnode.service")
T = TypeVar("T")
MAX_READERS = 8
"""Most threads that read the books at the same time, for statuses and health."""
MAX_BOOKS_LAG_BLOCKS = 100
"""Most finalized blocks that the books may lack while the service counts as healthy."""


class LiveSource:
    """Node by JSON-RPC and the books; implements `cfnode.swap_service.source.SwapSource`.

    `run` keeps the connections.
    """

    def __init__(
        self,
        database: Database,
        node: tuple[str, str | None],
        broker: tuple[str, str | None] | None = None,
    ) -> None:
        """Take the addresses of `node` and `broker`, each with a bearer token."""
        self.database = self._database = database
        self._books = Books(database)
        self.link = NodeLink(*node, self._same_chain)
        self.broker_link = None if broker is None else NodeLink(*broker, self._same_chain)
        self._reader = NodeReader(self.link)
        self._broker = RemoteBroker(self.broker_link, self._reader, database)
        self._readers = trio.CapacityLimiter(MAX_READERS)
        self.restarts = Restarts(log)
        """Restarts of the background tasks of the service."""

    async def check(self, *, patiently: bool = False) -> None:
        """Try the connections once. Raises LedgerError.

        Reasons are a node that does not answer, has another chain or refuses access, and missing books. With
        `patiently` a node that does not answer is only logged, as it may come back.
        """
        for link in self._links:
            try:
                await link.check()
            except NodeError as error:
                if not patiently:
                    raise
                log.warning("%s; statuses are served without it", error)

    @property
    def _links(self) -> list[NodeLink]:
        return [self.link] if self.broker_link is None else [self.link, self.broker_link]

    async def run(self) -> None:
        """Keep the connections until cancelled."""
        async with updates(self._database) as news, trio.open_nursery() as nursery:
            for link in self._links:
                name, run = f"the connection to {link.origin}", partial(link.run, news)
                nursery.start_soon(self.restarts.keep, name, run)
            nursery.start_soon(self.restarts.keep, "the turns of the broker", self._broker.run)

    @property
    def broker(self) -> RemoteBroker:
        """The broker whose node the operator named."""
        return self._broker

    async def best(self) -> LiveBlock:
        """Return the chain at the node's best block. Raises NodeError."""
        return await self._reader.best()

    async def read(self, look: Callable[[SwapRecord], T]) -> T:
        """Return what `look` finds in the books."""

        def look_at_books() -> T:
            with self._database.reading() as connection:
                return look(SwapEvents(connection))

        return await self._read(look_at_books)

    async def _read(self, work: Callable[[], T]) -> T:
        """Run a function that reads the books, at most `MAX_READERS` at the same time."""
        return await trio.to_thread.run_sync(work, limiter=self._readers)

    def fault(self, error: Exception, path: str) -> tuple[int, str]:
        """Return HTTP status and message of an error.

        Faults of node and database are not the client's: 503. Any other error is a bug, and logged: 500.
        """
        if isinstance(error, LedgerError):
            log.warning("%s: %s", path, error)
            return 503, str(error)
        if isinstance(error, RpcError | ApiMissing | ApiRefused | ApiReturnedNone):
            return 503, str(error)
        log.error("%s failed with a bug, please report it", path, exc_info=error)
        return 500, "Internal error while processing request."

    async def health(self) -> tuple[int, dict[str, Any]]:
        """Return HTTP status and content of the health page: 503 with the reasons if something is missing."""
        faults: list[str] = []
        page: dict[str, Any] = {"isHealthy": True, "faults": faults}
        try:
            tip = await self._read(self._books.tip)
            if tip is None:
                raise BrokenBooks("the books are empty: `cfnode ledger run` begins them")
            page["booksBlock"] = tip.number
        except LedgerError as error:
            faults.append(str(error))
        faults += [link.fault for link in self._links if link.fault is not None]
        if not faults:
            await self._compare_heads(page, faults)
        if self.restarts.counts:
            page["restarts"] = dict(self.restarts.counts)
        page["isHealthy"] = not faults
        return (503 if faults else 200), page

    async def _compare_heads(self, page: dict[str, Any], faults: list[str]) -> None:
        try:
            block = await self.link.call("chain_getFinalizedHead")
            header = await self.link.call("chain_getHeader", block)
            page["finalizedBlock"] = block_number(header)
        except (CallError, LedgerError) as error:
            faults.append(str(error))
            return
        except ForeignError:
            faults.append(f"{self.link.origin} sent a malformed header; check that it is a node")
            return
        behind = page["finalizedBlock"] - page["booksBlock"]
        if behind > MAX_BOOKS_LAG_BLOCKS:
            faults.append(f"the books are {behind} blocks behind the node: is `cfnode ledger run` running?")
        elif behind < -MAX_BOOKS_LAG_BLOCKS:
            faults.append(f"the node is {-behind} blocks behind the books: it may still be syncing")

    async def _same_chain(self, reader: ChainReader) -> None:
        """Raise WrongChain for a node of another chain than the books', BrokenBooks for empty books."""
        genesis = await reader.genesis()
        books_genesis = await self._read(partial(self._books.value, "genesis"))
        tip = await self._read(self._books.tip)
        if books_genesis is None or tip is None:
            raise BrokenBooks(f"{self._database.name} has no books: `cfnode ledger run` begins them")
        if books_genesis != genesis:
            raise WrongNodeChain(
                f"the chain of {reader.client.origin} has the genesis {genesis}, the books in "
                f"{self._database.name} have {books_genesis}: name another node, or another --database"
            )
        try:
            number, node_hash = tip.number, await reader.hash(tip.number)
        except Discarded:
            log.warning("%s is behind the books, which have block %d", reader.client.origin, tip.number)
            head = await reader.finalized()
            number, node_hash = head.number, head.hash
        books_hash = await self._read(partial(self._books.hash_of, number))
        if books_hash is not None and node_hash != books_hash:
            raise WrongNodeChain(other_block(number, node_hash, books_hash))
