"""Journals of statements for beancount and for ledger-cli: a transaction for each line with an amount.

Postings come in pairs of one amount, so they balance to the unit, and each has its value as a total price.
What is the account's own is booked as its income, expense and assets; swaps, with their fees and payouts,
move the funds of customers and are below `Equity:Swaps`:

| line | to | from |
|---|---|---|
| commission | `Assets:Chainflip:Account-…` | `Income:Commissions` |
| fee without a swap | `Expenses:Fees:<Kind>` | `Assets:Chainflip:Account-…` |
| withdrawal | `Assets:Withdrawn` | `Assets:Chainflip:Account-…` |
| swap, input | `Equity:Swaps:Sold` | `Equity:Swaps:Customers` |
| swap, output | `Equity:Swaps:Customers` | `Equity:Swaps:Bought` |
| fee of a swap | `Equity:Swaps:Fees:<Kind>` | `Equity:Swaps:Customers` |
| other payout | `Equity:Swaps:Payouts:<Kind>:<State>` | `Equity:Swaps:Customers` |

A commodity is the asset's name in capitals (`ETH`, `ARBUSDC`), since each chain's asset is one of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TextIO

from cfnode.core.assets import ASSETS, units
from cfnode.core.safe_text import printable
from cfnode.ledger.statements.lines import LedgerStatement, Line, value_text
from cfnode.ledger.times import time_text

__all__ = ["write_beancount", "write_ledger"]

_CUSTOMERS: Final = "Equity:Swaps:Customers"
_FOREIGN: Final = re.compile("[^A-Za-z0-9]")
"""Characters that a part of an account's name cannot have."""
_METADATA: Final = ("block", "event", "request", "swap", "egress", "destination")
Posting = tuple[str, str, str]
"""Account, amount with its sign, and commodity."""


def write_beancount(statement: LedgerStatement, file: TextIO) -> None:
    """Write a journal of beancount; accounts are opened with the period."""
    opened: set[str] = set()
    file.write(f"; {statement.title}\n")
    file.write(f'option "title" {_quoted(statement.title)}\n')
    file.write(f'option "operating_currency" "{statement.currency}"\n')
    start = _day(statement.period.start)
    for line in statement.lines():
        postings = list(_postings(line))
        for account in dict.fromkeys(account for account, _, _ in postings):
            if account not in opened:
                opened.add(account)
                file.write(f"\n{start} open {account}\n")
        if postings:
            file.write(f"\n{_day(line.time)} * {_quoted(_narration(line))}\n")
            for name, value in _metadata(line):
                file.write(f"  {name}: {value if isinstance(value, int) else _quoted(value)}\n")
            _write_postings(file, line, postings)
    _write_remarks(file, statement)


def write_ledger(statement: LedgerStatement, file: TextIO) -> None:
    """Write a journal of ledger-cli, which hledger reads, too."""
    file.write(f"; {statement.title}\n")
    for line in statement.lines():
        postings = list(_postings(line))
        if postings:
            file.write(f"\n{_day(line.time)} * {_narration(line)}\n")
            for name, value in _metadata(line):
                file.write(f"    ; {name}: {printable(value, len(str(value)))}\n")
            _write_postings(file, line, postings)
    _write_remarks(file, statement)


def _write_postings(file: TextIO, line: Line, postings: list[Posting]) -> None:
    value = value_text(line.value)
    price = "" if value is None else f" @@ {value} {line.currency}"
    for account, amount, commodity in postings:
        file.write(f"    {account}  {amount} {commodity}{price}\n")


def _write_remarks(file: TextIO, statement: LedgerStatement) -> None:
    file.write("".join(f"\n; {remark}\n" for remark in statement.remarks))


def _postings(line: Line) -> Iterator[Posting]:
    """Yield the postings of a line; none without an amount, or with an amount of zero."""
    if line.line == "swap":
        yield from _moved(line.amount, line.asset, _CUSTOMERS, "Equity:Swaps:Sold")
        yield from _moved(line.to_amount, line.to_asset, "Equity:Swaps:Bought", _CUSTOMERS)
        return
    account = f"Assets:Chainflip:Account-{_FOREIGN.sub('-', line.account or 'unknown')}"
    kind, state = line.kind.capitalize(), (line.state or "none").capitalize()
    if line.line == "commission":
        yield from _moved(line.amount, line.asset, "Income:Commissions", account)
    elif line.line == "fee" and line.request is None:
        yield from _moved(line.amount, line.asset, account, f"Expenses:Fees:{kind}")
    elif line.line == "fee":
        yield from _moved(line.amount, line.asset, _CUSTOMERS, f"Equity:Swaps:Fees:{kind}")
    elif line.kind == "withdrawal":
        yield from _moved(line.amount, line.asset, account, "Assets:Withdrawn")
    else:
        yield from _moved(line.amount, line.asset, _CUSTOMERS, f"Equity:Swaps:Payouts:{kind}:{state}")


def _moved(amount: int | None, asset: str | None, source: str, target: str) -> Iterator[Posting]:
    if amount and asset is not None:
        text = units(amount, ASSETS[asset].decimals) if asset in ASSETS else str(amount)
        yield target, text, asset.upper()
        yield source, f"-{text}", asset.upper()


def _narration(line: Line) -> str:
    """Return what a line is, in words without marks of either journal."""
    text = f"{line.kind} {line.line}" if line.line in ("fee", "payout") else line.line
    if line.request is not None:
        text += f", swap request {line.request}"
    return text.capitalize()


def _metadata(line: Line) -> Iterator[tuple[str, int | str]]:
    yield "time", time_text(line.time)
    for name in _METADATA:
        value = getattr(line, name)
        if value is not None:
            yield name, value


def _day(time: int) -> str:
    return time_text(time)[:10]


def _quoted(text: str) -> str:
    """Return a string of beancount, on one line."""
    escaped = printable(text, len(text)).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
