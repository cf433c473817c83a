"""Events of a swap, found in the books by one of its names: the books as a `cfnode.swaps.record.SwapRecord`.

They are the events from which the facts with that name in the tables come. The names are those of the swap
service: channel, address, request, swap, transaction, egress, broadcast, fallback, credited. Each is looked
up by an index of its tables, however old the swap is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

import base58
from sqlalchemy import Connection, Select, Table, and_, bindparam, func, insert, select, union

from cfnode.core.addresses import NETWORKS, BitcoinNetwork, address_to_text, chain_of_address
from cfnode.core.assets import CHAINS
from cfnode.core.block import BlockRef
from cfnode.ledger import schema
from cfnode.ledger.database import Database
from cfnode.ledger.decoding import fields_of, fields_text
from cfnode.ledger.heights import heights
from cfnode.ledger.keys import key_change_of
from cfnode.swaps.events import Name, is_deposit
from cfnode.swaps.identity import ChannelId, Place, opened_channel
from cfnode.swaps.record import Entry

__all__ = ["ServiceChannel", "SwapEvents", "expect", "note_expected"]

MAX_FOUND_EVENTS: Final = 100_000
"""Most events of one name; a swap in 14,400 chunks has three for each."""
MAX_CHANNELS_OF_ADDRESS: Final = 100
"""Most channels with one address; the chain gives an address out again when its channel has expired."""
_OF_CHANNELS: Final = frozenset(
    (Name.REQUESTED, Name.DEPOSIT_FINALISED, Name.DEPOSIT_BOOSTED, Name.NOT_BOOSTED)
)
_LAST_INDEX: Final = 2**31 - 1
_CHANNELS: Final = (
    select(schema.channels.c.channel)
    .where(schema.channels.c.chain == bindparam("chain"), schema.channels.c.address == bindparam("address"))
    .order_by(schema.channels.c.block.desc())
    .limit(MAX_CHANNELS_OF_ADDRESS)
)
"""The channels of a chain with an address, the newest first."""
_NEWEST: Final = select(func.max(schema.blocks.c.number)).scalar_subquery()
_NOW: Final = select(schema.blocks.c.time).where(schema.blocks.c.number == _NEWEST)
_EXPECTATIONS: Final = schema.expectations.c
_JUST_OPENED: Final = (
    select(_EXPECTATIONS.block, _EXPECTATIONS.time, _EXPECTATIONS.opening)
    .where(_EXPECTATIONS.chain == bindparam("chain"), _EXPECTATIONS.channel == bindparam("channel"))
    .where(_EXPECTATIONS.opening.is_not(None), _EXPECTATIONS.block > _NEWEST)
    .order_by(_EXPECTATIONS.block)
)
"""Channels of a number that the swap service opened after the newest block of the books."""
_EXPECTED: Final = select(_EXPECTATIONS.amount).where(
    *(_EXPECTATIONS[name] == bindparam(name) for name in ("chain", "channel", "block"))
)


class SwapEvents:
    """Events of swaps in one transaction, which sees one state of the books. Blocks: use a thread."""

    chains = tuple(CHAINS)

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._swaps: dict[int, list[Entry]] = {}
        self._requests: dict[int, list[Entry]] = {}

    @cached_property
    def network(self) -> BitcoinNetwork:
        """The network that the chain's addresses belong to."""
        table = schema.ledger.c
        name = self._connection.execute(select(table.value).where(table.name == "network")).scalar()
        return NETWORKS[name or "Mainnet"]

    @cached_property
    def now(self) -> int:
        """The time of the newest block, Unix ms."""
        return self._connection.execute(_NOW).scalar() or 0

    def height(self, chain: str) -> int:
        """Return the last witnessed block of a foreign chain, 0 if none was witnessed."""
        return self._heights.get(chain, 0)

    @cached_property
    def _heights(self) -> dict[str, int]:
        return heights(self._connection)

    def error(self, entry: Entry) -> tuple[str, str]:
        """Return name and explanation of the module error in the `reason` of a payout that is not made.

        Returns ("Unknown", "") without one.
        """
        reason = entry.fields["reason"]
        if not (isinstance(reason, tuple) and reason[0] == "Module"):
            return "Unknown", ""
        table = schema.payouts.c
        is_at = (table.block == entry.block.number, table.event == entry.index)
        query = select(table.reason, table.explanation).where(*is_at)
        row = self._connection.execute(query).first()
        return ("Unknown", "") if row is None else (row.reason or "Unknown", row.explanation or "")

    def announced(self, address: Any) -> None:
        """Return None: no event of a finalized block states an unconfirmed deposit."""

    def expected(self, channel: ChannelId) -> int | None:
        """Return the amount that was expected on a channel of the swap service; None without one."""
        amount: int | None = self._connection.execute(_EXPECTED, _key_of(channel)).scalar()
        return amount

    def key_change(self) -> Place | None:
        """Return the place from which on the present key of the vaults may have signed.

        Returns None if the books have no rotation.
        """
        return key_change_of(self._connection)

    def find(self, kind: str, *key: Any) -> list[Entry]:
        """Return the events with a name: its kind, and the parts of its key; oldest first."""
        if kind == "swap" and key[0] in self._swaps:
            return self._swaps[key[0]]
        if kind == "request" and key[0] in self._requests:
            return self._requests[key[0]]
        if any(isinstance(part, int) and part >= 2**63 for part in key[:2]):
            return []
        events = _BY_KIND[kind](self, *key)
        if kind == "request":
            self._requests[key[0]] = events
            self._keep_swaps(events)
        return events

    def _keep_swaps(self, events: list[Entry]) -> None:
        """Cache the events of a request's chunks, which are usually asked for next."""
        for event in events:
            if event.pallet == "Swapping" and "swap_id" in event.fields:
                self._swaps.setdefault(event.fields["swap_id"], []).append(event)

    def _channel(self, chain: str, channel: int | None) -> list[Entry]:
        if channel is None:
            return []
        tables = ("channels", "requests", "deposits", "boosts")
        events = self._events(tables, chain=chain, channel=channel)
        events = [event for event in events if event.name in _OF_CHANNELS or _is_opening(event)]
        return events + self._just_opened(chain, channel)

    def _just_opened(self, chain: str, channel: int) -> list[Entry]:
        """Return openings by the swap service whose blocks are not in the books yet, as it stored them."""
        rows = self._connection.execute(_JUST_OPENED, {"chain": chain, "channel": channel})
        return [
            Entry(
                BlockRef(b"", row.block),
                row.time,
                _LAST_INDEX,
                "Swapping",
                Name.SWAP_CHANNEL,
                fields_of(row.opening),
            )
            for row in rows
        ]

    def _address(self, address: Any) -> list[Entry]:
        """Return the openings of channels with an address, and the failed deposits to these channels.

        Only those of the address's chain count, since EVM chains give out equal addresses.
        """
        at = {"chain": chain_of_address(address), "address": address_to_text(address)}
        events = [event for event in self._events(("channels",), **at) if _is_opening(event)]
        for channel in set(self._connection.execute(_CHANNELS, at).scalars()):
            rejected = self._events(("deposits",), **at, channel=channel, state="failed")
            events += [event for event in rejected if event.name == Name.DEPOSIT_FAILED]
        return sorted(events, key=lambda event: event.place)

    def _request(self, number: int) -> list[Entry]:
        tables = ("requests", "swaps", "payouts", "completions", "deposits")
        events = self._events(tables, request=number)
        return [
            event for event in events if event.pallet == "Swapping" or is_deposit(event.name, event.fields)
        ]

    def _swap(self, number: int) -> list[Entry]:
        return self._events(("swaps",), swap=number)

    def _transaction(self, data: bytes) -> list[Entry]:
        texts = (f"0x{data.hex()}", data[::-1].hex(), base58.b58encode(data).decode())
        events = [event for text in texts for event in self._events(("deposits",), transaction=text)]
        return sorted(events, key=lambda event: event.place)

    def _egress(self, chain: str, number: int) -> list[Entry]:
        return self._events(("broadcasts", "payouts"), chain=chain, egress=number)

    def _broadcast(self, chain: str, number: int) -> list[Entry]:
        return self._events(("outcomes", "broadcasts", "failures"), chain=chain, broadcast=number)

    def _fallback(self, asset: str, receiver: Any, amount: int) -> list[Entry]:
        transfer = {"destination": address_to_text(receiver), "asset": asset, "amount": amount}
        return self._events(("failures",), **transfer)

    def _credited(self, chain: str, prewitnessed: int) -> list[Entry]:
        return self._events(("deposits",), chain=chain, prewitnessed=prewitnessed, state="repaid")

    def _events(self, tables: tuple[str, ...], **values: Any) -> list[Entry]:
        """Return the events behind the rows of tables with these values, oldest first."""
        rows = self._connection.execute(_query(tables, tuple(values)), values)
        return [
            Entry(
                BlockRef(bytes.fromhex(row.hash[2:]), row.number),
                row.time,
                row.event,
                row.pallet,
                row.name,
                fields_of(row.fields),
            )
            for row in rows
        ]


@cache
def _query(tables: tuple[str, ...], columns: tuple[str, ...]) -> Select[Any]:
    """Return one query for the events behind the rows of tables, by the values of columns."""
    places = union(*(_places(schema.metadata.tables[name], columns) for name in tables)).subquery()
    event, block = schema.events.c, schema.blocks.c
    is_same = and_(event.block == places.c.block, event.event == places.c.event)
    return (
        select(block.number, block.hash, block.time, event.event, event.pallet, event.name, event.fields)
        .select_from(places)
        .join(schema.events, is_same)
        .join(schema.blocks, block.number == event.block)
        .order_by(event.block, event.event)
        .limit(MAX_FOUND_EVENTS)
    )


def _places(table: Table, columns: tuple[str, ...]) -> Select[Any]:
    """Return a query for block and event of a table's rows, by the values of columns."""
    conditions = [table.c[name] == bindparam(name, type_=table.c[name].type) for name in columns]
    return select(table.c.block, table.c.event).where(*conditions)


_BY_KIND: Final[dict[str, Callable[..., list[Entry]]]] = {
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


def _is_opening(event: Entry) -> bool:
    return opened_channel(event.name, event.fields) is not None


def _key_of(channel: ChannelId) -> dict[str, Any]:
    """Return the key of a channel in `expectations`."""
    return {"chain": channel.chain, "channel": channel.number, "block": channel.block}


@dataclass(frozen=True, slots=True)
class ServiceChannel:
    """Channel that the swap service opened; `fields` are those of its event, `time` is Unix ms.

    The fields answer for the channel until its block is in the books; None if the block is there already.
    """

    channel: ChannelId
    expected: int
    time: int = 0
    fields: Mapping[str, Any] | None = None


def expect(database: Database, opened: ServiceChannel) -> None:
    """Store the amount that is expected on a channel, with its fields. Raises DatabaseError."""
    with database.writing() as connection:
        note_expected(connection, opened)


def note_expected(connection: Connection, opened: ServiceChannel) -> None:
    """Store the amount that is expected on a channel, in a transaction of the caller's."""
    table, channel = schema.expectations, opened.channel
    if connection.execute(_EXPECTED, _key_of(channel)).first() is None:
        row = {**_key_of(channel), "amount": opened.expected, "time": opened.time,
               "opening": None if opened.fields is None else fields_text(opened.fields)}  # fmt: skip
        connection.execute(insert(table), row)
