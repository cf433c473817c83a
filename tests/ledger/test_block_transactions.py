"""Blocks that share a transaction make the same books as blocks with a transaction each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from sqlalchemy import event

from cfnode.ledger import block_rows
from cfnode.ledger.balances import chain_balances
from cfnode.ledger.block_rows import MAX_TRANSACTION_BLOCKS, MAX_TRANSACTION_EVENTS, parts
from cfnode.ledger.books import Books
from cfnode.ledger.chain import ChainReader, Head
from cfnode.ledger.client import connected
from cfnode.ledger.database import Database
from cfnode.ledger.decoding import DecodedBlock, DecodedEvent
from cfnode.ledger.errors import WrongNodeChain
from cfnode.ledger.prices import Price, prices_of
from cfnode.ledger.rows import known
from cfnode.ledger.webhooks import registry
from tests.ledger.conftest import MakeDatabase
from tests.ledger.contents import dump, rows
from tests.ledger.day import Day
from tests.lengths import repeats
from tests.support.ledger.webhooks import NOWHERE

GENESIS = "0x" + "00" * 32
NETWORK = "Development"


class ReadDay:
    """The blocks of a day, their prices, and the balances before them."""

    def __init__(
        self,
        anchor: DecodedBlock,
        balances: Mapping[tuple[str, str], int],
        blocks: Sequence[DecodedBlock],
        prices: Mapping[int, Sequence[Price]],
    ) -> None:
        self.anchor, self.balances, self.blocks, self.prices = anchor, balances, blocks, prices

    def begun(self, database: Database) -> Books:
        """Books that begin before the day, with two webhooks."""
        database.migrate()
        books = Books(database)
        books.begin(self.anchor.hash, NETWORK, "all", self.anchor, self.balances)
        for _ in range(2):
            registry.add(database, NOWHERE)
        return books


async def read(day: Day) -> ReadDay:
    """Read the day's blocks, prices and first balances from the node."""
    async with connected(day.url) as client:
        reader = ChainReader(client)
        genesis = await reader.genesis()
        balances = await chain_balances(reader, Head(0, genesis), None)
        blocks = [
            block
            for first in range(1, day.head + 1, 25)
            for block in await reader.blocks(first, min(first + 24, day.head))
        ]
        prices = await prices_of(client, blocks)
    return ReadDay(DecodedBlock(0, genesis, GENESIS, 0, 0, ()), balances, blocks, prices)


def contents(database: Database) -> dict[str, list[dict[str, Any]]]:
    """All tables, without what differs between two equal runs: ids and secrets of webhooks, and the clock."""
    tables = dump(database)
    hooks = {row["id"]: place for place, row in enumerate(tables.pop("webhooks"))}
    tables["deliveries"] = sorted(
        (row | {"webhook": row["webhook"] in hooks, "next_at": 0} for row in tables["deliveries"]),
        key=lambda row: (row["change"], row["webhook"]),
    )
    return tables


def commits(database: Database) -> list[int]:
    """Return a list that grows with each transaction of a database that is committed."""
    made = list[int]()
    event.listen(database._engine, "commit", lambda _: made.append(1))
    return made


@pytest.mark.parametrize("seed", range(repeats(20, 1)))
async def test_blocks_that_share_a_transaction_make_the_same_books(
    day: Day, make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Make equal tables, changes and deliveries whatever blocks share a transaction, repeated ones too."""
    chance, read_day = Random(seed), await read(day)
    monkeypatch.setattr(known, "CACHE_ENTRIES", chance.choice((1, 3, 50_000)))  # look-ups read the tables
    single, shared = read_day.begun(make_database()), read_day.begun(make_database())
    for block in read_day.blocks:
        single.write([block], read_day.prices)
    monkeypatch.setattr(block_rows, "MAX_TRANSACTION_BLOCKS", chance.randrange(2, 80))
    monkeypatch.setattr(block_rows, "MAX_TRANSACTION_EVENTS", chance.choice((20, 100, 10_000)))
    left = list(read_day.blocks)
    while left:
        count = chance.randrange(1, 60)
        shared.write(left[:count], read_day.prices)
        left = left[max(1, count - chance.randrange(3)) :]  # some blocks are written again
    expected = contents(single.database)
    assert contents(shared.database) == expected
    assert len(expected["changes"]) > 10
    assert len(expected["deliveries"]) == 2 * len(expected["changes"])
    assert expected["failures"] and expected["boosts"] and expected["prices"]


async def test_near_empty_blocks_share_one_transaction(day: Day, make_database: MakeDatabase) -> None:
    """Write 32 empty blocks in one commit, which a follower that catches up depends on."""
    books = (read_day := await read(day)).begun(make_database())
    made = commits(books.database)
    blocks = [replace(block, events=()) for block in read_day.blocks[:MAX_TRANSACTION_BLOCKS]]
    assert len(blocks) == MAX_TRANSACTION_BLOCKS == 32
    books.write(blocks, {})
    assert len(made) == 1
    assert [row["number"] for row in rows(books.database, "blocks")] == list(range(33))


async def test_all_blocks_before_one_that_cannot_be_written_are_in_the_books(
    day: Day, make_database: MakeDatabase
) -> None:
    """Keep the twelve blocks before a foreign one, and go on from there as if nothing had happened."""
    books = (read_day := await read(day)).begun(make_database())
    blocks = list(read_day.blocks[:20])
    foreign = replace(blocks[12], parent="0x" + "11" * 32)
    with pytest.raises(WrongNodeChain, match=f"block {blocks[11].number} of the node is 0x11"):
        books.write([*blocks[:12], foreign, *blocks[13:]], read_day.prices)
    assert books.tip() == Head(blocks[11].number, blocks[11].hash)
    books.write(read_day.blocks, read_day.prices)
    fresh = read_day.begun(make_database())
    fresh.write(read_day.blocks, read_day.prices)
    assert contents(books.database) == contents(fresh.database)


def test_a_transaction_has_a_bounded_number_of_blocks_and_events() -> None:
    """Bound a transaction by blocks and by events, but never split a block with more events than that."""

    def block(events: int) -> DecodedBlock:
        return DecodedBlock(0, "", "", 0, 0, tuple(DecodedEvent(0, "", "", {}) for _ in range(events)))

    half = MAX_TRANSACTION_EVENTS // 2
    sizes = [0] * (MAX_TRANSACTION_BLOCKS + 1) + [half, half, 1, 3 * half, 0]
    found = [[len(member.events) for member in part] for part in parts(list(map(block, sizes)))]
    assert found == [[0] * MAX_TRANSACTION_BLOCKS, [0, half, half], [1], [3 * half], [0]]
    assert list(parts([])) == []
