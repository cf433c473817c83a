"""The follower: it writes finalized blocks into the books, and continues after interruptions.

After a fault of the connection or the database it tries again, with growing pauses. Blocks whose state the
node has discarded come from the archive node; without one they are noted as a gap. An archive node that is
named later fills the gaps: the books go back to the first one and follow again.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias, TypeVar

import trio

from cfnode.core import ss58
from cfnode.core.addresses import NETWORKS
from cfnode.core.scale import ScaleError
from cfnode.flow.restarts import Restarts
from cfnode.ledger.balances import Comparison, chain_balances, compare
from cfnode.ledger.block_rows import other_block
from cfnode.ledger.books import Books, Gap, account_set
from cfnode.ledger.chain import ChainReader, Head
from cfnode.ledger.client import NodeClient, connected
from cfnode.ledger.decoding import DecodedBlock
from cfnode.ledger.errors import (
    CallError,
    DatabaseError,
    Discarded,
    LedgerError,
    NodeError,
    TooLarge,
    WrongNodeChain,
)
from cfnode.ledger.leader import Leadership, only_follower
from cfnode.ledger.prices import Price, prices_of
from cfnode.ledger.unread import DISCARD_MARGIN_BLOCKS, read_unread

__all__ = ["CHECK_BLOCKS", "Follower", "Source"]

log = logging.getLogger("cfnode.ledger")
T = TypeVar("T")
Opening: TypeAlias = tuple[DecodedBlock, dict[tuple[str, str], int], str]
"""The block after which the books begin, the balances at it, and the chain's network."""
CHECK_BLOCKS: Final = 100
"""Blocks from one comparison with the chain to the next."""
MAX_BATCH_BLOCKS: Final = 28
"""Most blocks of one exchange, of three calls each."""
RECONNECT_S: Final = 1.0
MAX_RECONNECT_S: Final = 60.0
PROGRESS_BLOCKS: Final = 1_000
"""Blocks from one log line about progress to the next."""


@dataclass(frozen=True, slots=True)
class Source:
    """Source of blocks: a node, and an archive node for the states that the node has discarded.

    `first` is the first block of new books, None for the next one. `accounts` are SS58 texts, none for all.
    """

    url: str
    archive: str | None = None
    first: int | None = None
    accounts: tuple[str, ...] = ()
    token: str | None = None
    """Bearer token for `url`; the archive gets none."""


class Follower:
    """Follower of a chain, which writes its books."""

    def __init__(self, source: Source, books: Books) -> None:
        self._source, self._books = source, books
        self._archive: ChainReader | None = None
        self._leadership = Leadership(None)
        self._size = MAX_BATCH_BLOCKS
        self._pause = RECONNECT_S
        self.restarts = Restarts(log)
        self.leads = trio.Event()  # set once this process is the one that follows

    async def run(self, *, once: bool = False) -> Comparison | None:
        """Follow until cancelled; with `once` to the finalized head, and return the last comparison.

        Raises LedgerError where trying again cannot help.
        """
        await self._patiently(partial(trio.to_thread.run_sync, self._books.database.migrate), once)
        return await self._patiently(partial(self._connection, once=once), once)

    async def _patiently(self, step: Callable[[], Awaitable[T]], once: bool) -> T:
        """Repeat a step until it returns, with growing pauses after faults of the node or the database.

        It is also repeated after an error that is no LedgerError, unless `once`: the error may come from an
        input, and the next input may be another one.
        """
        while True:
            try:
                return await step()
            except (NodeError, DatabaseError) as error:
                log.warning("%s; trying again in %g s", error, self._pause)
            except LedgerError:
                raise
            except Exception as error:
                if once:
                    raise
                self.restarts.note("following", error, self._pause)
            await trio.sleep(self._pause)
            self._pause = min(2 * self._pause, MAX_RECONNECT_S)

    async def _connection(self, once: bool) -> Comparison | None:
        async with AsyncExitStack() as stack:
            leadership = only_follower(self._books.database, self._probe)
            self._leadership = await stack.enter_async_context(leadership)
            self.leads.set()
            client = await stack.enter_async_context(connected(self._source.url, self._source.token))
            reader = ChainReader(client)
            genesis = await self._checked(reader)
            self._archive = None
            if self._source.archive is not None:
                archive = await stack.enter_async_context(connected(self._source.archive))
                self._archive = ChainReader(archive)
                await self._checked(self._archive)
            await self._begin(reader, genesis)
            await self._begin_flip(reader)
            await self._fill_gaps()
            await read_unread(self._books, [reader, *([self._archive] if self._archive else [])])
            return await self._follow(reader, client, once)

    async def _probe(self) -> None:
        """Raise LedgerError if the node does not answer, or follows another chain than the books."""
        async with connected(self._source.url, self._source.token) as client:
            await self._checked(ChainReader(client))

    async def _checked(self, reader: ChainReader) -> str:
        """Return a node's genesis, checked to be that of the books. Raises WrongChain, BrokenBooks."""
        genesis = await reader.genesis()
        accounts = account_set(self._source.accounts)
        await trio.to_thread.run_sync(self._books.belong_to, genesis, accounts)
        tip = await trio.to_thread.run_sync(self._books.tip)
        if tip is not None:
            await self._same_block(reader, tip)
        return genesis

    async def _same_block(self, reader: ChainReader, tip: Head) -> None:
        try:
            theirs = await reader.hash(tip.number)
        except Discarded:
            log.warning("%s is behind the books, which have block %d", reader.client.origin, tip.number)
            return
        if theirs != tip.hash:
            raise WrongNodeChain(other_block(tip.number, theirs, tip.hash))

    # Beginning

    async def _begin(self, reader: ChainReader, genesis: str) -> None:
        if await trio.to_thread.run_sync(self._books.tip) is not None:
            return
        head = await reader.finalized()
        number = head.number if self._source.first is None else self._source.first - 1
        if number > head.number:
            raise LedgerError(
                f"block {number} is not finalized yet: the newest finalized block is {head.number}"
            )
        anchor, balances, network = await self._first_state(reader, number)
        accounts = account_set(self._source.accounts)
        await trio.to_thread.run_sync(self._books.begin, genesis, network, accounts, anchor, balances)
        log.info("The books begin with block %d, in %s", number + 1, self._books.database.name)

    async def _first_state(self, reader: ChainReader, number: int) -> Opening:
        """Return the state with which the books begin, from the archive if the node has discarded it."""
        try:
            return await self._opening(reader, number)
        except Discarded:
            if self._archive is not None:
                return await self._opening(self._archive, number)
        raise LedgerError(
            f"{reader.client.origin} no longer has the state of block {number}: name an archive node with "
            "--archive, or begin later with --first-block"
        )

    async def _opening(self, reader: ChainReader, number: int) -> Opening:
        anchor, balances = await self._anchor(reader, number)
        metadata = await reader.metadata_at(number, anchor.hash)
        try:
            item = metadata.storage("Environment", "ChainflipNetworkEnvironment")
            (stored,) = await reader.storage(number, anchor.hash, [item.key()])
            network = str(item.decode(stored))
        except ScaleError:
            network = ""
        if network not in NETWORKS:
            raise LedgerError(f"{reader.client.origin} is not a node of a Chainflip State Chain")
        return anchor, balances, network

    async def _anchor(
        self, reader: ChainReader, number: int
    ) -> tuple[DecodedBlock, dict[tuple[str, str], int]]:
        if number == 0:
            genesis = await reader.genesis()
            block = DecodedBlock(0, genesis, "0x" + "00" * 32, 0, 0, ())
        else:
            (block,) = await reader.blocks(number, number)
        return block, await chain_balances(reader, Head(number, block.hash), await self._tracked())

    async def _tracked(self) -> list[bytes] | None:
        """Return the accounts of the books, None for all."""
        if self._source.accounts and await trio.to_thread.run_sync(self._books.tip) is None:
            return [ss58.decode(account)[1] for account in self._source.accounts]
        return await trio.to_thread.run_sync(self._books.tracked) if self._source.accounts else None

    async def _begin_flip(self, reader: ChainReader) -> None:
        """Begin the FLIP balances of books that an earlier version began without, with the present ones."""
        if await trio.to_thread.run_sync(self._books.value, "flip_from") is not None:
            return
        tip = await trio.to_thread.run_sync(self._books.tip)
        if tip is not None and await reader.has_state(tip.number):
            balances = await chain_balances(reader, tip, await self._tracked())
            await trio.to_thread.run_sync(self._books.begin_flip, tip, balances)

    # Gaps

    async def _fill_gaps(self) -> None:
        """Log the gaps, and with an archive node that has their state go back to the first."""
        gaps = await trio.to_thread.run_sync(self._books.gaps)
        for gap in gaps:
            log.warning("The books lack %s", gap)
        if not gaps or self._archive is None:
            return
        first = gaps[0].first
        if not await self._archive.has_state(first):
            origin = self._archive.client.origin
            log.warning("%s does not have the state of block %d: the gap stays open", origin, first)
            return
        log.info("Going back to block %d, to fill the gaps from %s", first, self._archive.client.origin)
        await trio.to_thread.run_sync(self._books.go_back, first)

    async def _skip(self, reader: ChainReader, first: int, head: int) -> Head:
        """Store the discarded blocks from `first` on as a gap; return the block after which to go on."""
        low, high = first, head
        while low < high:  # the oldest block that the node has
            middle = (low + high) // 2
            if await reader.has_state(middle):
                high = middle
            else:
                low = middle + 1
        gap = Gap(first, min(low + DISCARD_MARGIN_BLOCKS, head))  # the node discards more meanwhile
        anchor, balances = await self._anchor(reader, gap.last)
        await trio.to_thread.run_sync(self._books.skip, gap, anchor, balances)
        log.error(
            "%s no longer has the state of %s: the books lack these blocks. --archive URL fills the gap",
            reader.client.origin,
            gap,
        )
        return Head(anchor.number, anchor.hash)

    # Following

    async def _follow(self, reader: ChainReader, client: NodeClient, once: bool) -> Comparison | None:
        await client.subscribe()
        head = (await reader.finalized()).number
        await self._compare(reader)
        while True:
            await self._catch_up(reader, head)
            if once:
                return await self._compare(reader)
            head = await client.wait_for_head(head)

    async def _catch_up(self, reader: ChainReader, head: int) -> None:
        """Read and write all blocks up to `head`; the next blocks are read while some are written."""
        tip = await trio.to_thread.run_sync(self._books.tip)
        assert tip is not None
        number = tip.number
        if head - number > PROGRESS_BLOCKS:
            log.info("Following from block %d to the finalized block %d", number + 1, head)
        while number < head:
            number = await self._run_of_blocks(reader, number, head)

    async def _run_of_blocks(self, reader: ChainReader, number: int, head: int) -> int:
        """Write blocks until `head`, or until the node lacks one; return the number of the last."""
        send, receive = trio.open_memory_channel[tuple[list[DecodedBlock], dict[int, list[Price]]]](1)
        missing: list[int] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._read, reader, number, head, send, missing)
            async with receive:
                async for blocks, prices in receive:
                    await self._write(reader, blocks, prices)
                    number = blocks[-1].number
                    self._pause = RECONNECT_S
        if missing:
            number = (await self._skip(reader, number + 1, head)).number
        return number

    async def _read(
        self,
        reader: ChainReader,
        number: int,
        head: int,
        send: trio.MemorySendChannel[tuple[list[DecodedBlock], dict[int, list[Price]]]],
        missing: list[int],
    ) -> None:
        async with send:
            while number < head:
                try:
                    blocks, prices = await self._fetched(reader, number + 1, min(number + self._size, head))
                except TooLarge as error:
                    if self._size == 1:
                        raise
                    self._size //= 2
                    log.debug("%s; %d blocks at once", error, self._size)
                    continue
                except Discarded as error:
                    missing.append(error.number)
                    return
                await send.send((blocks, prices))
                number = blocks[-1].number

    async def _fetched(
        self, reader: ChainReader, first: int, last: int
    ) -> tuple[list[DecodedBlock], dict[int, list[Price]]]:
        try:
            blocks = await reader.blocks(first, last)
            return blocks, await prices_of(reader.client, blocks)
        except Discarded:
            if self._archive is None:
                raise
        blocks = await self._archive.blocks(first, last)
        return blocks, await prices_of(self._archive.client, blocks)

    async def _write(
        self, reader: ChainReader, blocks: Sequence[DecodedBlock], prices: dict[int, list[Price]]
    ) -> None:
        """Write blocks, and compare the books with the chain after each multiple of `CHECK_BLOCKS`."""
        start = 0
        for place, block in enumerate(blocks):
            if block.number % CHECK_BLOCKS == 0:
                await self._put(blocks[start : place + 1], prices)
                start = place + 1
                await self._compare(reader)
            if block.number % PROGRESS_BLOCKS == 0:
                log.info("Followed up to block %d", block.number)
        if start < len(blocks):
            await self._put(blocks[start:], prices)

    async def _put(self, blocks: Sequence[DecodedBlock], prices: dict[int, list[Price]]) -> None:
        await self._leadership.check()
        await trio.to_thread.run_sync(self._books.write, blocks, prices)

    async def _compare(self, reader: ChainReader) -> Comparison | None:
        """Compare the books with the chain; None if no node has the state any more, or for empty books."""
        for candidate in (reader, self._archive):
            if candidate is None:
                continue
            try:
                outcome = await compare(candidate, self._books)
            except (Discarded, CallError) as error:
                log.debug("books and chain were not compared: %s", error)
                continue
            if outcome is not None and outcome.differences:
                number = outcome.block.number
                for difference in outcome.differences:
                    log.error("Books and chain differ at block %d: %s", number, difference)
            return outcome
        return None
