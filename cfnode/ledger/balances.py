"""Comparison of the books' balances with the chain's, for every account and asset, to the unit.

The books' figure is an opening balance and all changes since; the chain's is the balance in its storage, and
for brokers also the earned fees of `cf_account_info`. FLIP on the State Chain is left out where events do not
state all of its changes.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import trio
from sqlalchemy import Connection, and_, case, delete, func, insert, or_, select

from cfnode.core import ss58
from cfnode.core.assets import asset_by_symbol
from cfnode.core.foreign import hex_number
from cfnode.ledger import schema
from cfnode.ledger.amounts import exact_sum, whole
from cfnode.ledger.books import Books
from cfnode.ledger.chain import ChainReader, Head
from cfnode.ledger.errors import CallError, NodeError
from cfnode.ledger.rows.context import FLIP

__all__ = ["Comparison", "Difference", "chain_balances", "compare"]

MAX_BALANCES: Final = 500_000
"""Most entries of a storage map that are read."""
MAX_BROKERS: Final = 90
"""Most brokers whose `cf_account_info` is called."""
_FREE_BALANCES: Final = (
    ("AssetBalances", "FreeBalances"),
    ("LiquidityProvider", "FreeBalances"),
    ("Swapping", "EarnedBrokerFees"),
)
"""Free balances: today's map, and the two that early releases have in its place."""
_OTHER_ROLES: Final = ("Validator", "Operator")
"""Roles of accounts whose FLIP changes without an event: rewards are divided at the end of an epoch."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Figures of the books and of the chain that should be equal and are not, in smallest units.

    `figure` is free_balance, flip_balance or earned_fees.
    """

    account: str
    asset: str
    figure: str
    books: int
    chain: int

    def __str__(self) -> str:
        """Return the figure with its account and asset, and both values."""
        return f"{self.figure} of {self.account} in {self.asset}: books {self.books}, chain {self.chain}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Outcome of a comparison at a block: how many figures were compared, and which differ."""

    block: Head
    compared: int
    differences: tuple[Difference, ...]


async def chain_balances(
    reader: ChainReader, block: Head, accounts: Sequence[bytes] | None
) -> dict[tuple[str, str], int]:
    """Return the balances that the chain stores, without zeros, by account (SS58) and asset.

    Asset FLIP is FLIP on the State Chain. `accounts` None: of all. Raises Discarded, NodeError.
    """
    balances: dict[tuple[str, str], int] = {}
    for item in _FREE_BALANCES:
        for (account, asset), amount in await reader.entries(block, *item, accounts, MAX_BALANCES):
            key = ss58.encode(account), asset
            balances[key] = balances.get(key, 0) + amount
    for account, account_record in await reader.entries(block, "Flip", "Account", accounts, MAX_BALANCES):
        balances[ss58.encode(_account(account)), FLIP] = account_record["balance"]
    return {key: amount for key, amount in balances.items() if amount}


async def _with_rewards(reader: ChainReader, block: Head, accounts: Sequence[bytes] | None) -> set[str]:
    """Return the accounts whose FLIP changes without events: authorities, operators, and delegators."""
    roles = await reader.entries(block, "AccountRoles", "AccountRoles", accounts, MAX_BALANCES)
    rewarded = {ss58.encode(_account(account)) for account, role in roles if role in _OTHER_ROLES}
    delegated = await reader.entries(block, "Validator", "DelegationChoice", accounts, MAX_BALANCES)
    return rewarded | {ss58.encode(_account(account)) for account, _ in delegated}


def _account(key: Any) -> bytes:
    """Return the only part of a map's key."""
    account: bytes = key[0] if isinstance(key, tuple | list) else key
    return account


async def compare(reader: ChainReader, books: Books) -> Comparison | None:
    """Compare the books with the chain at their newest block, and store the differences.

    Returns None for empty books. Raises Discarded, NodeError.
    """
    tip = await trio.to_thread.run_sync(books.tip)
    if tip is None:
        return None
    booked, brokers = await trio.to_thread.run_sync(_booked, books, tip.number)
    tracked = await trio.to_thread.run_sync(books.tracked)
    on_chain = await chain_balances(reader, tip, tracked)
    keys = {*booked, *on_chain}
    if any(asset == FLIP for _, asset in keys):
        left_out = await _with_rewards(reader, tip, tracked)
        left_out |= await trio.to_thread.run_sync(_redeemers, books)
        has_start = await trio.to_thread.run_sync(books.value, "flip_from") is not None
        keys = {key for key in keys if key[1] != FLIP or (has_start and key[0] not in left_out)}
    differences = [
        Difference(
            account,
            asset,
            "flip_balance" if asset == FLIP else "free_balance",
            booked.get((account, asset), 0),
            on_chain.get((account, asset), 0),
        )
        for account, asset in sorted(keys)
        if booked.get((account, asset), 0) != on_chain.get((account, asset), 0)
    ]
    compared = len(keys)
    for account, earned in (await _earned(reader, tip, brokers)).items():
        compared += len(earned)
        differences += [
            Difference(account, asset, "earned_fees", booked.get((account, asset), 0), amount)
            for asset, amount in earned.items()
            if booked.get((account, asset), 0) != amount
        ]
    outcome = Comparison(tip, compared, tuple(differences))
    await trio.to_thread.run_sync(_note, books, outcome)
    return outcome


def _booked(books: Books, until: int) -> tuple[dict[tuple[str, str], int], list[str]]:
    """Return the balances by the books up to a block, and the brokers among their accounts."""
    with books.database.reading() as connection:
        return _totals(connection, until), _brokers(connection)


def _totals(connection: Connection, until: int) -> dict[tuple[str, str], int]:
    """Return the opening balances and all changes since, by account and asset."""
    opening = schema.openings.c
    start = connection.execute(select(func.max(schema.gaps.c.last))).scalar()
    if start is None:
        start = connection.execute(select(func.min(schema.blocks.c.number))).scalar() or 0
    value = connection.execute(
        select(schema.ledger.c.value).where(schema.ledger.c.name == "flip_from")
    ).scalar()
    flip_start = max(start, int(value or 0))
    totals: dict[tuple[str, str], int] = defaultdict(int)
    openings_query = select(opening.account, opening.asset, opening.amount)
    is_flip = opening.asset == FLIP
    for row in connection.execute(
        openings_query.where(
            or_(and_(opening.block == start, ~is_flip), and_(opening.block == flip_start, is_flip))
        )
    ):
        totals[row.account, row.asset] += row.amount
    for table in (schema.movements.c, schema.holdings.c):
        sums = exact_sum(table.amount, connection.dialect.name)
        query = select(table.account, table.asset, table.credit, *sums)
        start_of_asset = case((table.asset == FLIP, flip_start), else_=start)
        query = query.where(table.block > start, table.block > start_of_asset, table.block <= until)
        for account, asset, credit, *parts in connection.execute(
            query.group_by(table.account, table.asset, table.credit)
        ):
            totals[account, asset] += whole(parts) if credit else -whole(parts)
    return dict(totals)


def _redeemers(books: Books) -> set[str]:
    """Return the accounts that have redeemed FLIP.

    No event states the tax on a redemption, nor the amount that comes back if it expires.
    """
    table = schema.holdings.c
    with books.database.reading() as connection:
        return set(
            connection.execute(select(table.account).where(table.kind == "redemption").distinct()).scalars()
        )


def _brokers(connection: Connection) -> list[str]:
    table = schema.channels.c
    rows = connection.execute(select(table.account).where(table.kind == "swap").distinct().limit(MAX_BROKERS))
    return [row.account for row in rows]


async def _earned(reader: ChainReader, block: Head, brokers: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return the earned fees of brokers by `cf_account_info`, by account and asset.

    Accounts that are no brokers any more are left out.
    """
    if not brokers:
        return {}
    answers = await reader.client.batch([("cf_account_info", [broker, block.hash]) for broker in brokers])
    earned_fees = {}
    for account, answer in zip(brokers, answers, strict=True):
        if isinstance(answer, CallError) or not isinstance(answer, dict):
            continue
        if answer.get("role") == "broker" and isinstance(answer.get("earned_fees"), dict):
            earned_fees[account] = _by_asset(answer["earned_fees"], reader.client.origin)
    return earned_fees


def _by_asset(amounts: Mapping[str, Any], origin: str) -> dict[str, int]:
    """Return amounts by chain and symbol as amounts by asset. Raises NodeError if they are malformed."""
    try:
        return {
            asset_by_symbol(chain, symbol).name: hex_number(value, 128)
            for chain, symbols in amounts.items()
            for symbol, value in symbols.items()
        }
    except (KeyError, ValueError, TypeError, AttributeError):
        raise NodeError(f"{origin} sent malformed earned fees") from None


def _note(books: Books, outcome: Comparison) -> None:
    with books.database.writing() as connection:
        table = schema.checks
        connection.execute(delete(table).where(table.c.block == outcome.block.number))
        rows = [
            {
                "block": outcome.block.number,
                "place": place,
                "account": difference.account,
                "asset": difference.asset,
                "figure": difference.figure,
                "books": abs(difference.books),
                "chain": difference.chain,
                "negative": difference.books < 0,
            }
            for place, difference in enumerate(outcome.differences)
        ]
        if rows:
            connection.execute(insert(table), rows)
    text = (
        f"{outcome.block.number} {outcome.compared} {len(outcome.differences)} {time.time_ns() // 1_000_000}"
    )
    books.set_value("checked", text)
