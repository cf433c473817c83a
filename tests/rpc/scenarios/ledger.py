"""Do the ledger's books of a scenario have what the scenario itself states? To the unit, for all parties."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from cfnode.ledger.books import Books
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.follower import Follower, Source
from cfnode.ledger.reports import Period, report
from cfnode.rpc.convert import account as account_text
from tests.ledger.contents import rows
from tests.rpc.scenarios.books import NETWORK, STUCK, Sheet
from tests.rpc.scenarios.story import BOOSTER, Story

__all__ = ["the_ledger_agrees"]


async def the_ledger_agrees(story: Story, folder: Path) -> None:
    """Follow the story's node into new books, of all accounts and of the broker's."""
    await story.served.call("dev_finalize")
    url = f"http://127.0.0.1:{story.served.port}"
    full = await followed(Source(url, first=1), folder / "all.sqlite")
    own = await followed(Source(url, first=1, accounts=(account_text(story.broker),)), folder / "own.sqlite")
    sheet = await story.sheet()
    accounts_agree(full, story, sheet)
    payouts_agree(full, sheet)
    network_fees_agree(full, sheet)
    broker_has_its_part(full, own, account_text(story.broker))


async def followed(source: Source, file: Path) -> Database:
    """Books up to the finalized head, which the chain confirms."""
    database = Database(sqlite_url(file))
    outcome = await Follower(source, Books(database)).run(once=True)
    assert outcome is not None
    assert outcome.differences == ()
    return database


def accounts_agree(database: Database, story: Story, sheet: Sheet) -> None:
    """Credits less debits of each account are what it has; a commission is a credit."""
    for account, name in story.accounts.items():
        if account == BOOSTER:
            continue  # whose balance `dev_setBoost` changes without an event
        found = Counter[str]()
        for row in rows(database, "movements"):
            if row["account"] == account_text(account):
                found[row["asset"]] += row["amount"] if row["credit"] else -row["amount"]
        assert {asset: amount for asset, amount in found.items() if amount} == sheet.get(name, {}), name
    shared = Counter({row["account"]: 0 for row in rows(database, "commissions")})
    for row in rows(database, "commissions"):
        shared[row["account"]] += row["amount"]
    charged = sum(row["amount"] for row in rows(database, "fees") if row["kind"] == "broker")
    assert sum(shared.values()) == charged


def payouts_agree(database: Database, sheet: Sheet) -> None:
    """What the books call paid has arrived; only the payout of a rejected deposit has no amount."""
    paid: dict[str, Counter[str]] = {}
    open_amount = set()
    for record in records(database, "payouts"):
        if record["kind"] == "rejection":
            open_amount.add(record["asset"])
        elif record["state"] == "paid":
            paid.setdefault(record["destination"], Counter())[record["asset"]] += record["amount"]
    unheard = {address: dict(paid.pop(address)) for address in set(paid) - set(sheet)}
    if unheard:  # Tron's contract skips a transfer of TRX without an event
        assert list(unheard.values()) == [sheet[STUCK]] == [{"Trx": sheet[STUCK]["Trx"]}]
    for address, amounts in sheet.items():
        if address[:2] in ("0x", "bc", "T9") or address in paid:
            expected = {asset: amount for asset, amount in amounts.items() if asset not in open_amount}
            assert dict(paid.get(address, {})) == expected, address


def network_fees_agree(database: Database, sheet: Sheet) -> None:
    """What the network has is its fees, until it swaps them into FLIP itself."""
    if any(row["kind"] == "NetworkFee" for row in rows(database, "requests")):
        return
    fees = sum(row["amount"] for row in rows(database, "fees") if row["kind"] == "network")
    assert fees == sheet.get(NETWORK, {}).get("Usdc", 0)


def broker_has_its_part(full: Database, own: Database, broker: str) -> None:
    """Books of one account have the same records of that account as books of all."""
    for name in ("swaps", "channels", "payouts", "commissions", "fees"):
        mine = [each for each in records(full, name) if each["account"] == broker]
        assert [each for each in records(own, name) if each["account"] == broker] == mine, name


def records(database: Database, name: str) -> list[dict[str, Any]]:
    """A report over all time."""
    return list(report(database, name, Period()))
