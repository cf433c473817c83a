"""Which events are about a swap, by one of its names? Those that its facts in the tables come from.

The names are those of the swap service: channel, address, request, swap, transaction, egress, broadcast,
fallback, credited. Each is looked up by an index of its tables, however old the swap is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import base58
from sqlalchemy import ColumnElement, Connection, Table, and_, func, insert, or_, select

from cfnode.core.addresses import NETWORKS, Network, address_to_text
from cfnode.ledger import schema
from cfnode.ledger.database import Database
from cfnode.ledger.decoding import fields_of
from cfnode.ledger.heights import heights

__all__ = ["FoundEvent", "SwapEvents", "expect", "note_expected"]

MAX_EVENTS: Final = 100_000
"""Events of one name; a swap in 14,400 chunks has three for each."""
MAX_CHANNELS: Final = 100
"""Channels with one address; the chain gives an address out again when its channel has expired."""
_OF_CHANNELS: Final = frozenset(
    (
        *("SwapDepositAddressReady", "SwapRequested", "DepositFinalised", "DepositBoosted"),
        "InsufficientBoostLiquidity",
    )
)
_DEPOSITS: Final = frozenset(("DepositFinalised", "DepositBoosted"))
Where = tuple[Table, ColumnElement[bool]]


@dataclass(frozen=True, slots=True)
class FoundEvent:
    """An event of the books. `hash` is 0x-hex, `time` the block's, Unix ms."""

    block: int
    hash: str
    time: int
    index: int
    pallet: str
    name: str
    fields: dict[str, Any]


class SwapEvents:
    """The events of swaps in one transaction, which sees one state of the books. Blocks: use a thread."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._swaps: dict[int, list[FoundEvent]] = {}
        self._requests: dict[int, list[FoundEvent]] = {}

    @property
    def network(self) -> Network:
        """The network that the chain's addresses belong to."""
        table = schema.ledger.c
        name = self._connection.execute(select(table.value).where(table.name == "network")).scalar()
        return NETWORKS[name or "Mainnet"]

    @property
    def now(self) -> int:
        """The time of the newest block, Unix ms."""
        table = schema.blocks.c
        newest = select(func.max(table.number)).scalar_subquery()
        return self._connection.execute(select(table.time).where(table.number == newest)).scalar() or 0

    def height(self, chain: str) -> int:
        """The last witnessed block of a foreign chain, 0 if none was."""
        return heights(self._connection).get(chain, 0)

    def explanation(self, block: int, index: int) -> tuple[str, str]:
        """Name and text of the error for which a payout was ignored."""
        table = schema.payouts.c
        query = select(table.reason, table.explanation).where(table.block == block, table.event == index)
        row = self._connection.execute(query).first()
        return ("Unknown", "") if row is None else (row.reason or "Unknown", row.explanation or "")

    def expected(self, chain: str, channel: int, block: int) -> int | None:
        """The amount that was expected on a channel of the swap service."""
        table = schema.expectations.c
        same = (table.chain == chain, table.channel == channel, table.block == block)
        found: int | None = self._connection.execute(select(table.amount).where(*same)).scalar()
        return found

    def find(self, kind: str, *key: Any) -> list[FoundEvent]:
        """The events with a name, oldest first."""
        if kind == "swap" and key[0] in self._swaps:
            return self._swaps[key[0]]
        if kind == "request" and key[0] in self._requests:
            return self._requests[key[0]]
        if any(isinstance(each, int) and each >= 2**63 for each in key[:2]):
            return []
        found = _BY_KIND[kind](self, *key)
        if kind == "request":
            self._requests[key[0]] = found
            self._keep_swaps(found)
        return found

    def _keep_swaps(self, found: list[FoundEvent]) -> None:
        """A request's chunks come with it: each one is asked for next."""
        for event in found:
            if event.pallet == "Swapping" and "swap_id" in event.fields:
                self._swaps.setdefault(event.fields["swap_id"], []).append(event)

    def _channel(self, chain: str, channel: int | None) -> list[FoundEvent]:
        tables = (schema.channels, schema.requests, schema.deposits, schema.boosts)
        if channel is None:
            return []
        found = self._events(
            *((each, and_(each.c.chain == chain, each.c.channel == channel)) for each in tables)
        )
        return [each for each in found if each.name in _OF_CHANNELS]

    def _address(self, address: Any) -> list[FoundEvent]:
        """The channels with an address, and the failed deposits to these."""
        text, opened, failed = address_to_text(address), schema.channels.c, schema.deposits.c
        query = select(opened.chain, opened.channel).where(opened.address == text)
        query = query.order_by(opened.block.desc()).limit(MAX_CHANNELS)
        here = self._connection.execute(query).all()
        of_these = or_(*(and_(failed.chain == chain, failed.channel == number) for chain, number in here))
        wanted: list[Where] = [(schema.channels, opened.address == text)]
        if here:
            rejected = and_(of_these, failed.state == "failed", failed.address == text)
            wanted.append((schema.deposits, rejected))
        found = self._events(*wanted)
        return [each for each in found if each.name in ("SwapDepositAddressReady", "DepositFailed")]

    def _request(self, number: int) -> list[FoundEvent]:
        tables = (schema.requests, schema.swaps, schema.payouts, schema.completions, schema.deposits)
        found = self._events(*((each, each.c.request == number) for each in tables))
        return [each for each in found if each.pallet == "Swapping" or _is_deposit(each)]

    def _swap(self, number: int) -> list[FoundEvent]:
        return self._events((schema.swaps, schema.swaps.c.swap == number))

    def _transaction(self, data: bytes) -> list[FoundEvent]:
        texts = (f"0x{data.hex()}", data[::-1].hex(), base58.b58encode(data).decode())
        table = schema.deposits
        return self._events((table, table.c.transaction.in_(texts)))

    def _egress(self, chain: str, number: int) -> list[FoundEvent]:
        table = schema.broadcasts
        return self._events((table, and_(table.c.chain == chain, table.c.egress == number)))

    def _broadcast(self, chain: str, number: int) -> list[FoundEvent]:
        tables = (schema.outcomes, schema.broadcasts, schema.failures)
        return self._events(
            *((each, and_(each.c.chain == chain, each.c.broadcast == number)) for each in tables)
        )

    def _fallback(self, asset: str, receiver: Any, amount: int) -> list[FoundEvent]:
        table = schema.failures
        same = (table.c.asset == asset, table.c.amount == amount)
        return self._events((table, and_(table.c.destination == address_to_text(receiver), *same)))

    def _credited(self, chain: str, prewitnessed: int) -> list[FoundEvent]:
        table = schema.deposits
        same = and_(table.c.chain == chain, table.c.prewitnessed == prewitnessed, table.c.state == "repaid")
        return self._events((table, same))

    def _events(self, *wanted: Where) -> list[FoundEvent]:
        """The events behind the rows of tables, oldest first."""
        found: dict[tuple[int, int], FoundEvent] = {}
        for table, where in wanted:
            for event in self._of_table(table, where):
                found[event.block, event.index] = event
        return [found[place] for place in sorted(found)]

    def _of_table(self, table: Table, where: ColumnElement[bool]) -> Iterable[FoundEvent]:
        event, block = schema.events, schema.blocks
        query = (
            select(event.c.block, block.c.hash, block.c.time, event.c.event, event.c.pallet, event.c.name,
                   event.c.fields)
            .select_from(table)
            .join(event, and_(event.c.block == table.c.block, event.c.event == table.c.event))
            .join(block, block.c.number == event.c.block)
            .where(where)
            .limit(MAX_EVENTS)
        )  # fmt: skip
        for row in self._connection.execute(query):
            yield FoundEvent(*row[:6], fields_of(row.fields))


def _is_deposit(event: FoundEvent) -> bool:
    action = event.fields.get("action")
    is_credit = isinstance(action, tuple) and action[0] == "BoostersCredited"
    return event.name in _DEPOSITS and not is_credit


_BY_KIND: Final[dict[str, Callable[..., list[FoundEvent]]]] = {
    "channel": SwapEvents._channel,
    "address": SwapEvents._address,
    "request": SwapEvents._request,
    "swap": SwapEvents._swap,
    "transaction": SwapEvents._transaction,
    "egress": SwapEvents._egress,
    "broadcast": SwapEvents._broadcast,
    "fallback": SwapEvents._fallback,
    "credited": SwapEvents._credited,
}


def expect(database: Database, chain: str, channel: int, block: int, amount: int) -> None:
    """Keep the amount that is expected on a channel. Raises DatabaseError."""
    with database.writing() as connection:
        note_expected(connection, chain, channel, block, amount)


def note_expected(connection: Connection, chain: str, channel: int, block: int, amount: int) -> None:
    """`expect`, in a transaction of the caller's."""
    row = {"chain": chain, "channel": channel, "block": block, "amount": amount}
    table = schema.expectations
    same = (table.c.chain == chain, table.c.channel == channel, table.c.block == block)
    if connection.execute(select(table.c.amount).where(*same)).first() is None:
        connection.execute(insert(table), row)
