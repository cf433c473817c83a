"""Comparison of ledgers that run during a scenario with what the scenario states, to the unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import trio

from cfnode.ledger.balances import compare
from cfnode.ledger.books import Books
from cfnode.ledger.chain import ChainReader, Head
from cfnode.ledger.client import connected
from cfnode.ledger.database import Database
from cfnode.ledger.decoding import DecodedBlock
from cfnode.ledger.follower import Follower, Source
from cfnode.ledger.prices import Price
from cfnode.ledger.recompute import recomputed
from cfnode.ledger.reports import Period, report
from cfnode.rpc.table.convert import account as account_text
from tests.ledger.contents import dump, rows
from tests.rpc.conftest import Served
from tests.rpc.scenarios.books import NETWORK, STUCK, Sheet
from tests.rpc.scenarios.story import BOOSTER, Story

__all__ = ["RunningLedgers", "running_ledgers", "the_ledgers_agree"]

LIMIT_S = 60


class AwaitedBooks(Books):
    """Books of which one can wait for a block."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.newest = 0
        self.moved = trio.Event()

    def write(self, blocks: Sequence[DecodedBlock], prices: Mapping[int, Sequence[Price]]) -> Head:
        """Write, and wake who waits."""
        head = super().write(blocks, prices)
        trio.from_thread.run_sync(self._written, head.number)
        return head

    def _written(self, number: int) -> None:
        self.newest = number
        self.moved.set()
        self.moved = trio.Event()

    async def wait_for(self, number: int) -> None:
        """Wait until the block is in the books."""
        with trio.fail_after(LIMIT_S):
            while self.newest < number:
                await self.moved.wait()


@dataclass(frozen=True, slots=True)
class RunningLedgers:
    """Books that followers write while a scenario is played: by name, of all accounts but for `own`."""

    url: str
    books: Mapping[str, AwaitedBooks]

    async def reach(self, number: int) -> None:
        """Wait until each has a block."""
        for book in self.books.values():
            await book.wait_for(number)


@asynccontextmanager
async def running_ledgers(
    served: Served, broker: bytes, databases: Mapping[str, Database]
) -> AsyncIterator[RunningLedgers]:
    """Yield followers of a node, each with a database of its own, until the end."""
    url = f"http://127.0.0.1:{served.port}"
    everyone, own = Source(url, first=1), Source(url, first=1, accounts=(account_text(broker),))
    books = {name: AwaitedBooks(database) for name, database in databases.items()}
    async with trio.open_nursery() as nursery:
        for name, book in books.items():
            nursery.start_soon(Follower(own if name == "own" else everyone, book).run)
        yield RunningLedgers(url, books)
        nursery.cancel_scope.cancel()


async def the_ledgers_agree(story: Story, ledgers: RunningLedgers) -> None:
    """Check that the books have the whole story, and are right; the running followers have written all."""
    await story.served.call("dev_finalize")
    await ledgers.reach(story.served.node.chain.finalized.number)
    sheet, broker = await story.sheet(), account_text(story.broker)
    for name, books in ledgers.books.items():
        await confirmed(ledgers.url, books)
        if name == "own":
            broker_has_its_part(ledgers.books["SQLite"].database, books.database, broker)
        else:
            agrees(books.database, story, sheet)
    whole = [dump(book.database) for name, book in ledgers.books.items() if name != "own"]
    assert all(dumped == whole[0] for dumped in whole)
    assert await trio.to_thread.run_sync(recomputed, ledgers.books["SQLite"].database) == []


async def confirmed(url: str, books: Books) -> None:
    """Check that the chain has the same balances."""
    async with connected(url) as client:
        outcome = await compare(ChainReader(client), books)
    assert outcome is not None
    assert outcome.differences == ()


def agrees(database: Database, story: Story, sheet: Sheet) -> None:
    """Check that accounts, payouts and fees are those of the scenario."""
    accounts_agree(database, story, sheet)
    payouts_agree(database, sheet)
    network_fees_agree(database, sheet)


def accounts_agree(database: Database, story: Story, sheet: Sheet) -> None:
    """Check that credits less debits of each account are what it has; a commission is a credit."""
    for account, name in story.accounts.items():
        if account == BOOSTER:
            continue  # whose balance `dev_setBoost` changes without an event
        balances = Counter[str]()
        for row in rows(database, "movements"):
            if row["account"] == account_text(account):
                balances[row["asset"]] += row["amount"] if row["credit"] else -row["amount"]
        assert {asset: amount for asset, amount in balances.items() if amount} == sheet.get(name, {}), name
    shared = Counter({row["account"]: 0 for row in rows(database, "commissions")})
    for row in rows(database, "commissions"):
        shared[row["account"]] += row["amount"]
    charged = sum(row["amount"] for row in rows(database, "fees") if row["kind"] == "broker")
    assert sum(shared.values()) == charged


def payouts_agree(database: Database, sheet: Sheet) -> None:
    """Check that each paid payout of the books has arrived; only that of a rejected deposit has no amount."""
    paid: dict[str, Counter[str]] = {}
    open_amount = set()
    for record in records(database, "payouts"):
        if record["kind"] == "rejection":
            open_amount.add(record["asset"])
        elif record["state"] == "paid":
            receiver = str(record["destination"])
            key = receiver.lower() if receiver.startswith("0x") else receiver  # as the sheet has them
            paid.setdefault(key, Counter())[record["asset"]] += record["amount"]
    unheard = {address: dict(paid.pop(address)) for address in set(paid) - set(sheet)}
    if unheard:  # Tron's contract skips a transfer of TRX without an event
        assert list(unheard.values()) == [sheet[STUCK]] == [{"Trx": sheet[STUCK]["Trx"]}]
    for address, amounts in sheet.items():
        if address[:2] in ("0x", "bc", "T9") or address in paid:
            expected = {asset: amount for asset, amount in amounts.items() if asset not in open_amount}
            assert dict(paid.get(address, {})) == expected, address


def network_fees_agree(database: Database, sheet: Sheet) -> None:
    """Check that the network has its fees, until it swaps them into FLIP itself."""
    if any(row["kind"] == "NetworkFee" for row in rows(database, "requests")):
        return
    fees = sum(row["amount"] for row in rows(database, "fees") if row["kind"] == "network")
    assert fees == sheet.get(NETWORK, {}).get("Usdc", 0)


def broker_has_its_part(full: Database, own: Database, broker: str) -> None:
    """Check that books of one account have what books of all have of that account."""
    for name in ("swaps", "channels", "payouts", "commissions", "fees"):
        mine = [record for record in records(full, name) if record["account"] == broker]
        assert [record for record in records(own, name) if record["account"] == broker] == mine, name


def records(database: Database, name: str) -> list[dict[str, Any]]:
    """Return a report over all time."""
    return list(report(database, name, Period()))
