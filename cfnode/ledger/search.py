"""Search of the books for swaps and channels, by anything that a customer or a partner has of them.

A term is tried as the id of a channel, as the number of a swap request or of a chunk, as an address of a
deposit or a payout on each chain, as an account, as a transaction on each chain, and as a partner's own
reference, the Idempotency-Key of its request. Each is looked up by an index, and gives at most `MAX_MATCHES`,
the newest ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Connection, Select, Table, select

from cfnode.core import ss58
from cfnode.ledger import schema
from cfnode.ledger.open_channels import partners_of
from cfnode.ledger.recent_swaps import SwapNow, swaps_now
from cfnode.ledger.reports import related
from cfnode.ledger.rows.known import OTHER
from cfnode.ledger.service_tables import partner_channels, partner_requests
from cfnode.ledger.swap_list import with_times
from cfnode.swaps.addresses import stored_texts
from cfnode.swaps.events import transaction_texts
from cfnode.swaps.identity import ChannelId, UnknownChain

__all__ = [
    "MAX_TERM_CHARACTERS",
    "ChannelLine",
    "LoneDeposit",
    "PartnerRequest",
    "SearchResult",
    "channel_lines",
    "search_books",
]

MAX_TERM_CHARACTERS: Final = 200
"""Maximum characters of a term; no address, transaction or key has more."""
MAX_MATCHES: Final = 50
"""Maximum swaps, and maximum channels, that are returned."""
MAX_NUMBER_DIGITS: Final = 18
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChannelLine:
    """Channel of a list; `time` is that of its opening, Unix ms."""

    id: ChannelId
    time: int
    kind: str
    account: str
    partner: str | None
    source: str | None
    target: str | None
    address: str | None
    destination: str | None


@dataclass(frozen=True, slots=True)
class PartnerRequest:
    """Request of a partner that has the term as its key, and whose channel is not known (yet)."""

    partner: str
    state: str


@dataclass(frozen=True, slots=True)
class LoneDeposit:
    """Deposit without a swap or a channel of the books, such as one that a vault rejected."""

    block: int
    event: int
    time: int
    chain: str
    state: str
    asset: str
    amount: int
    reason: str | None
    transaction: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Matches of a term. `fault` is the reason why the books were not searched; empty if they were.

    `account` is the term's account, if it has swaps or channels; `is_cut` says that there are more matches.
    """

    swaps: list[SwapNow] = field(default_factory=list)
    channels: list[ChannelLine] = field(default_factory=list)
    requests: list[PartnerRequest] = field(default_factory=list)
    deposits: list[LoneDeposit] = field(default_factory=list)
    account: str | None = None
    is_cut: bool = False
    fault: str = ""

    @property
    def count(self) -> int:
        """Number of matches."""
        on_pages = len(self.swaps) + len(self.channels) + (self.account is not None)
        return on_pages + len(self.requests) + len(self.deposits)


def search_books(connection: Connection, term: str) -> SearchResult:
    """Return the swaps and channels that a term names."""
    term = term.strip()
    if len(term) > MAX_TERM_CHARACTERS:
        return SearchResult(fault=f"A search term has at most {MAX_TERM_CHARACTERS} characters.")
    if not term or not term.isprintable():
        return SearchResult(
            fault="A search term is a number, an address, a transaction, a channel or a reference."
        )
    search = _TermSearch(connection)
    try:
        channel = ChannelId.parse(term)
    except UnknownChain as error:
        return SearchResult(fault=str(error))
    if channel is not None:
        search.add_channels([channel])
    elif term.isascii() and term.isdigit() and len(term) <= MAX_NUMBER_DIGITS:
        search.add_number(int(term))
    search.add_addresses(stored_texts(term) | {term})
    search.add_transactions(transaction_texts(term))
    search.add_key(term)
    return search.result(_account(term))


def _account(term: str) -> str | None:
    """Return an account of the State Chain in its usual spelling; None for another text."""
    try:
        prefix, account = ss58.decode(term)
    except ValueError:
        return None
    return ss58.encode(account) if prefix == ss58.CHAINFLIP_PREFIX else None


class _TermSearch:
    """Matches so far: places of requests, and channels."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._requests: set[int] = set()
        self._channels: set[ChannelId] = set()
        self._waiting: list[PartnerRequest] = []
        self._deposits: list[Record] = []

    def add_channels(self, channels: Iterable[ChannelId]) -> None:
        """Add channels; those that the books lack are left out later."""
        self._channels.update(channel for channel in channels if channel.number < 2**63)

    def add_number(self, number: int) -> None:
        """Add the swap request with a number, or else that of the chunk with the number."""
        request_query = select(schema.requests.c.request).where(schema.requests.c.request == number)
        chunk = select(schema.swaps.c.request).where(schema.swaps.c.swap == number).limit(1)
        request = self._connection.execute(request_query).scalar()
        request = self._connection.execute(chunk).scalar() if request is None else request
        self._requests.update(() if request is None else (request,))

    def add_addresses(self, texts: Iterable[str]) -> None:
        """Add the channels with an address, and the swaps and channels that pay to it, or back to it."""
        for text in texts:
            for column in (schema.channels.c.address, schema.channels.c.destination):
                self.add_channels(_channel(row) for row in self._rows(schema.channels, column == text))
            for column in (schema.requests.c.destination, schema.requests.c.refund_address):
                self._requests.update(row["request"] for row in self._rows(schema.requests, column == text))

    def add_transactions(self, texts: Iterable[str]) -> None:
        """Add the swaps and channels of deposits, and the swaps of payouts, with a transaction."""
        for text in texts:
            for row in self._rows(schema.deposits, schema.deposits.c.transaction == text):
                if row["request"] is not None:
                    self._requests.add(row["request"])
                elif row["opened"] is not None:
                    self.add_channels([ChannelId(row["chain"], row["channel"], row["opened"])])
                else:
                    self._deposits.append(row)
            outcomes = self._rows(schema.outcomes, schema.outcomes.c.transaction == text)
            self._requests.update(self._paid_by({(row["chain"], row["broadcast"]) for row in outcomes}))

    def _paid_by(self, broadcasts: set[tuple[str, int]]) -> Iterator[int]:
        """Yield the requests of the payouts of broadcasts, and of the failed ones that these pay again."""
        for chain, broadcast in broadcasts:
            carried: list[int] = []
            for table in (schema.broadcasts, schema.failures):
                conditions = (table.c.chain == chain, table.c.broadcast == broadcast)
                carried += [
                    row["egress"] for row in self._rows(table, *conditions) if row["egress"] is not None
                ]
            for payouts in related(self._connection, schema.payouts, "egress", carried, [chain]).values():
                yield from (row["request"] for row in payouts if row["request"] is not None)

    def add_key(self, key: str) -> None:
        """Add the channels of the partners' requests with an Idempotency-Key."""
        request, opened = partner_requests.c, partner_channels.c
        channels = select(opened.chain, opened.channel, opened.opened)
        channels = channels.where(opened.reference == key, opened.opened.is_not(None))
        newest = channels.order_by(opened.opened.desc()).limit(MAX_MATCHES)
        self.add_channels(ChannelId(*row) for row in self._connection.execute(newest))
        waiting = select(request.partner, request.state).where(request.key == key, request.state != "opened")
        self._waiting += [
            PartnerRequest(*row) for row in self._connection.execute(waiting.limit(MAX_MATCHES))
        ]

    def _rows(self, table: Table, *conditions: Any) -> list[Record]:
        """Return the newest rows that fit, one more than are returned in the end."""
        query: Select[Any] = select(table).where(*conditions).limit(MAX_MATCHES + 1)
        query = query.order_by(*(key.desc() for key in table.primary_key.columns))
        return [dict(row) for row in self._connection.execute(query).mappings()]

    # Result

    def result(self, account: str | None) -> SearchResult:
        """Return the matches; a channel whose swap is among them is reached by that swap."""
        table = schema.requests.c
        query = select(schema.requests).where(table.request.in_(sorted(self._requests)))
        query = query.order_by(table.block.desc(), table.event.desc())
        rows = [dict(row) for row in self._connection.execute(query).mappings()]
        reached = {(row["chain"], row["channel"], row["opened"]) for row in rows}
        other_channels = [
            channel
            for channel in self._channels
            if (channel.chain, channel.number, channel.block) not in reached
        ]
        swaps = swaps_now(self._connection, with_times(self._connection, rows[:MAX_MATCHES]))
        channels = channel_lines(self._connection, other_channels)
        return SearchResult(
            swaps,
            channels[:MAX_MATCHES],
            self._waiting,
            [_lone(row) for row in with_times(self._connection, self._deposits)],
            account if account is not None and self._has(account) else None,
            max(len(rows), len(channels)) > MAX_MATCHES,
        )

    def _has(self, account: str) -> bool:
        for table in (schema.requests, schema.channels):
            query = select(table.c.block).where(table.c.account == account).limit(1)
            if self._connection.execute(query).first() is not None:
                return True
        return False


def _lone(row: Record) -> LoneDeposit:
    return LoneDeposit(**{name: row[name] for name in LoneDeposit.__dataclass_fields__})


def _channel(row: Record) -> ChannelId:
    return ChannelId(row["chain"], row["channel"], row["block"])


def channel_lines(connection: Connection, channels: Iterable[ChannelId]) -> list[ChannelLine]:
    """Return channels that the books have, the newest first; another broker's are left out."""
    keys, table = set(channels), schema.channels.c
    query = select(schema.channels).where(
        table.chain.in_(sorted({channel.chain for channel in keys})),
        table.channel.in_(sorted({channel.number for channel in keys})),
        table.block.in_(sorted({channel.block for channel in keys})),
        table.kind != OTHER,
    )
    query = query.order_by(table.block.desc(), table.event.desc())
    rows = [dict(row) for row in connection.execute(query).mappings()] if keys else []
    rows = [row for row in rows if _channel(row) in keys]
    partners = partners_of(connection, [_channel(row) for row in rows])
    names = ("kind", "account", "source", "target", "address", "destination", "time")
    return [
        ChannelLine(_channel(row), partner=partners.get(_channel(row)), **{name: row[name] for name in names})
        for row in with_times(connection, rows)
    ]
