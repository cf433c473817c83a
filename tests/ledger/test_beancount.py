"""The journal of a statement, accepted by beancount, whose balances are the totals of the books."""

from __future__ import annotations

import json
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cfnode.core.assets import ASSETS
from cfnode.core.safe_text import printable
from cfnode.ledger.statements import LedgerStatement
from cfnode.ledger.statements.formats import FORMATS
from cfnode.ledger.statements.rates import read_rates
from tests.conftest import PEERS
from tests.ledger.conftest import MakeDatabase
from tests.support.ledger.blocks import NOVEMBER
from tests.support.ledger.broker_books import BROKER, HOSTILE, fill_books

pytestmark = pytest.mark.world

SCRIPT = Path(__file__).parents[1] / "interop" / "beancount_peer.py"
LIMIT_S = 120
"""Far above what a step takes, so that only a hang fails."""


@pytest.fixture
def programs() -> Path:
    """Return the folder of beancount's programs."""
    folder = PEERS / "beancount" / "bin"
    if not (folder / "bean-check").exists():
        pytest.skip("beancount is not here: scripts/peers installs it")
    return folder


def read(programs: Path, journal: Path) -> dict[str, Any]:
    """Return what beancount reads in a journal that its checker accepts."""
    subprocess.run([programs / "bean-check", journal], check=True, timeout=LIMIT_S)
    command = [programs / "python", SCRIPT, journal]
    answer = subprocess.run(command, check=True, timeout=LIMIT_S, stdout=subprocess.PIPE).stdout
    return dict(json.loads(answer))


def test_beancount_accepts_the_journal_and_finds_the_books_totals(
    programs: Path, make_database: MakeDatabase, tmp_path: Path
) -> None:
    """Have beancount's own checker accept the journal, in dollars and in euros, with the books' totals."""
    books = make_database()
    fill_books(books)
    rates = tmp_path / "rates.csv"
    rates.write_text("date,usd_per_eur\n2026-11-03,1.0876\n2026-11-10,1.09\n2026-11-20,1.1\n")
    for exchange in (None, read_rates(rates, "EUR")):
        statement = LedgerStatement(books, NOVEMBER, rates=exchange)
        journal = tmp_path / "november.beancount"
        with journal.open("wb") as file:
            FORMATS["beancount"].write(statement, file)
        document = read(programs, journal)
        assert (document["errors"], document["title"]) == ([], statement.title)
        assert document["currency"] == document["prices"] == [statement.currency]
        assert document["opened"] == len(document["balances"])
        balances = {(account, name): Decimal(amount) for account, sums in document["balances"].items()
                    for name, amount in sums.items()}  # fmt: skip
        for total in statement.totals:
            if total.amount:
                assert balances[account_of(total), total.asset.upper()] == sign(total) * units(total)
        assert balances["Equity:Swaps:Bought", "BTC"] == -Decimal("0.1")
        assert balances[f"Assets:Chainflip:Account-{BROKER}", "USDC"] == 0
        assert {*document["destinations"]} == {None, "0xab", *map(printable, HOSTILE)}


def account_of(total: Any) -> str:
    """Return the account that has a total."""
    kind, state = total.kind.capitalize(), (total.state or "").capitalize()
    if total.line == "fee":
        return f"{'Equity:Swaps' if total.kind in ('network', 'ingress') else 'Expenses'}:Fees:{kind}"
    if total.kind == "withdrawal":
        return "Assets:Withdrawn"
    names = {"swap": "Equity:Swaps:Sold", "commission": "Income:Commissions"}
    return names.get(total.line, f"Equity:Swaps:Payouts:{kind}:{state}")


def sign(total: Any) -> int:
    """Return -1 for what is booked as income, which beancount writes as negative."""
    return -1 if total.line == "commission" else 1


def units(total: Any) -> Decimal:
    """Return a total in whole coins."""
    return Decimal(total.amount).scaleb(-ASSETS[total.asset].decimals)
