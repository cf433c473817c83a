"""Look-ups of the swap, channel or payout that an event names by its number.

Rows of the current block are in the caches, older ones in the database. With chosen accounts, what is not in
either belongs to others, and the event is left out. What an event adds can be taken back (`mark`, `undo`): it
may turn out to be unreadable half way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, case, exists, select, tuple_

from cfnode.core.addresses import BitcoinNetwork
from cfnode.core.bounded import BoundedDict
from cfnode.ledger import schema
from cfnode.swaps.identity import Place
from cfnode.swaps.timing import is_removed

__all__ = ["OTHER", "Known", "KnownChannel", "KnownPayout", "KnownRequest"]

CACHE_ENTRIES: Final = 50_000
"""Entries of each cache."""
MAX_EQUAL_PAYOUTS: Final = 1_000
"""Equal payouts to one receiver that are looked at."""
BOOST_POOL: Final = "BoostPool"
"""The source of a boost that is no lending pool."""
OTHER: Final = "other"
"""The kind of a channel of an account that is not kept."""
K = TypeVar("K")
V = TypeVar("V")
Journal = list[tuple["BoundedDict[Any, Any]", Any, Any]]
"""Caches, keys, and the values that they had before; `_NONE` for none."""
_NONE: Final = object()


def _nothing() -> None:
    """Do nothing: no rows wait."""


class _Cache(BoundedDict[K, V]):
    """A cache whose additions are in a journal."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(CACHE_ENTRIES)
        self._journal = journal

    def put_last(self, key: K, value: V) -> None:
        self._journal.append((self, key, self.get(key, _NONE)))
        super().put_last(key, value)


@dataclass(frozen=True, slots=True)
class KnownRequest:
    """A swap request; `shares` are accounts with a commission, broker first."""

    account: str | None
    source: str
    target: str
    destination: str | None
    refund_address: str | None
    shares: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KnownChannel:
    """A deposit channel; `opened` is the block of its opening, `expiry` the block of its own chain.

    `is_other`: of an account that is not kept.
    """

    number: int
    account: str
    opened: int
    expiry: int | None = None
    is_other: bool = False


@dataclass(frozen=True, slots=True)
class KnownPayout:
    """A scheduled payout."""

    kind: str
    request: int | None
    account: str | None
    asset: str
    amount: int | None
    destination: str | None


class Known:
    """Look-ups by number. `accounts` None: the books are of all accounts.

    `has_all_credits`: blocks have the credits of all accounts, to which commissions are attributed.
    """

    def __init__(
        self, network: BitcoinNetwork, accounts: frozenset[bytes] | None, *, has_all_credits: bool = True
    ) -> None:
        self.network = network
        self.accounts = accounts
        self.has_all_credits = has_all_credits
        self._connection: Connection | None = None
        self._insert_waiting: Callable[[], None] = _nothing
        self._journal: Journal = []
        self._marked = accounts
        self._place: Place = (-1, -1)
        self.requests = _Cache[int, KnownRequest | None](self._journal)
        self.swaps = _Cache[int, int | None](self._journal)
        self.channels = _Cache[tuple[str, int], KnownChannel | None](self._journal)
        self.addresses = _Cache[tuple[str, str], KnownChannel | None](self._journal)
        self.payouts = _Cache[tuple[str, int], KnownPayout | None](self._journal)
        self.broadcasts = _Cache[tuple[str, int], bool](self._journal)
        self.prewitnessed = _Cache[tuple[str, int], int | None](self._journal)
        self.boosted = _Cache[tuple[str, int], int](self._journal)
        self.not_taken = _Cache[tuple[str, int], bool](self._journal)
        """Payouts that failed at their receivers, also in the block that is being read."""
        self.rejected = _Cache[tuple[str, str], tuple[str, str | None] | None](self._journal)
        self.balances = _Cache[tuple[str, str], int](self._journal)
        """Free balances, in releases whose events do not state them."""

    def at(self, connection: Connection, insert_waiting: Callable[[], None] = _nothing) -> Known:
        """Return this object, which from now on looks up older rows on a connection.

        `insert_waiting` is called before each look-up: it inserts rows that are not in the tables yet.
        """
        self._connection, self._insert_waiting = connection, insert_waiting
        return self

    @property
    def keeps_all(self) -> bool:
        """Whether the books are of all accounts."""
        return self.accounts is None

    def track(self, account: bytes) -> None:
        """Keep the events of a further account, an affiliate's, too."""
        if self.accounts is not None:
            self.accounts |= {account}

    def mark(self, place: Place) -> None:
        """Before an event, at its place: `undo` comes back to here."""
        self._place = place
        self._journal.clear()
        self._marked = self.accounts

    def undo(self) -> None:
        """Forget what was added since `mark`."""
        while self._journal:
            cache, key, value = self._journal.pop()
            del cache[key]
            if value is not _NONE:
                cache[key] = value
        self.accounts = self._marked

    def request(self, number: int) -> KnownRequest | None:
        """Return a swap request by its number."""
        if number not in self.requests:
            table = schema.requests.c
            row = self._first(
                select(table.account, table.source, table.target, table.destination, table.refund_address),
                table.request == number,
            )
            self.requests[number] = None if row is None else KnownRequest(*[*row, self._shares(number)])
        return self.requests[number]

    def _shares(self, number: int) -> tuple[str, ...]:
        table = schema.shares.c
        query = select(table.account).where(table.request == number).order_by(table.place)
        return tuple(row.account for row in self._execute(query))

    def request_of(self, swap: int) -> int | None:
        """Return the number of the request that a chunk belongs to."""
        if swap not in self.swaps:
            table = schema.swaps.c
            row = self._first(select(table.request), table.swap == swap, table.state == "scheduled")
            self.swaps[swap] = None if row is None else row.request
        return self.swaps[swap]

    def channel(self, chain: str, number: int | None, height: int | None = None) -> KnownChannel | None:
        """Return the channel of the books that had a number at the event, as `opening` does."""
        opening = self.opening(chain, number, height)
        return None if opening is None or opening.is_other else opening

    def opening(self, chain: str, number: int | None, height: int | None = None) -> KnownChannel | None:
        """Return the newest opening of a number at or before the event, of any account.

        `height` is the block of the foreign chain that the event is about. Returns None if the opening was
        gone by then: the number is that of a later one, which the books lack. It is in a gap of theirs, or of
        an account that they do not keep, and from before an upgrade.
        """
        if number is None:
            return None
        if (chain, number) not in self.channels:
            table = schema.channels.c
            self.channels[chain, number] = self._opening(table.chain == chain, table.channel == number)
        opening = self.channels[chain, number]
        is_gone = (
            opening is not None
            and opening.expiry is not None
            and height is not None
            and is_removed(chain, opening.expiry, height)
        )
        return None if is_gone else opening

    def channel_at(self, chain: str, address: str | None) -> KnownChannel | None:
        """Return the channel with an address at the event; EVM chains give out the same addresses."""
        if address is None:
            return None
        key, table = (chain, address), schema.channels.c
        if key not in self.addresses:
            self.addresses[key] = self._opening(table.chain == chain, table.address == address)
        opening = self.addresses[key]
        return None if opening is None or opening.is_other else opening

    def _opening(self, *where: ColumnElement[bool]) -> KnownChannel | None:
        table = schema.channels.c
        columns = (table.channel, table.account, table.block, table.expiry_block, table.kind == OTHER)
        query = select(*columns)
        query = query.where(tuple_(table.block, table.event) <= tuple_(*self._place))
        row = self._first(query.order_by(table.block.desc(), table.event.desc()), *where)
        return None if row is None else KnownChannel(*row)

    def payout(self, chain: str, egress: int) -> KnownPayout | None:
        """Return a payout by its egress id."""
        if (chain, egress) not in self.payouts:
            table = schema.payouts.c
            columns = (table.kind, table.request, table.account, table.asset, table.amount, table.destination)
            row = self._first(select(*columns), table.chain == chain, table.egress == egress)
            self.payouts[chain, egress] = None if row is None else KnownPayout(*row)
        return self.payouts[chain, egress]

    def broadcast(self, chain: str, number: int) -> bool:
        """Whether a broadcast pays something that the books have."""
        key = chain, number
        if key not in self.broadcasts:
            tables = (schema.broadcasts, schema.failures)
            self.broadcasts[key] = any(
                self._first(select(table.c.block), table.c.chain == chain, table.c.broadcast == number)
                for table in tables
            )
        return self.broadcasts[key]

    def boosted_request(self, chain: str, prewitnessed: int) -> int | None:
        """Return the number of the swap request of a boosted deposit."""
        key = chain, prewitnessed
        if key not in self.prewitnessed:
            table = schema.deposits.c
            row = self._first(
                select(table.request),
                table.chain == chain,
                table.prewitnessed == prewitnessed,
                table.state == "boosted",
            )
            self.prewitnessed[key] = None if row is None else row.request
        return self.prewitnessed[key]

    def boosted_amount(self, chain: str, prewitnessed: int) -> int:
        """Return what the boost pool gets back of a boosted deposit, its fee included."""
        key = chain, prewitnessed
        if key not in self.boosted:
            table = schema.boosts.c
            row = self._first(
                select(table.amount),
                table.chain == chain,
                table.prewitnessed == prewitnessed,
                table.source == BOOST_POOL,
                table.state == "lent",
            )
            self.boosted[key] = 0 if row is None else row.amount
        return self.boosted[key]

    def rejected_deposit(self, chain: str, transaction: str) -> tuple[str, str | None] | None:
        """Return asset and account of a deposit that its broker rejected: the newest of its transaction."""
        key = chain, transaction
        if key not in self.rejected:
            table = schema.deposits.c
            row = self._first(
                select(table.asset, table.account).order_by(table.block.desc(), table.event.desc()),
                table.chain == chain,
                table.transaction == transaction,
                table.state == "failed",
            )
            self.rejected[key] = None if row is None else (row.asset, row.account)
        return self.rejected[key]

    def balance(self, account: str, asset: str) -> int:
        """Return an account's newest free balance in the books."""
        if (key := (account, asset)) not in self.balances:
            moved, opened = schema.movements.c, schema.openings.c
            balances = [(-1, 0)]
            for table, amount in ((opened, opened.amount), (moved, moved.balance)):
                query = select(table.block, amount).where(table.account == account, table.asset == asset)
                places = [table.block.desc(), *([table.event.desc()] if table is moved else [])]
                balances += [tuple(row) for row in self._execute(query.order_by(*places).limit(1))]
            self.balances[key] = max(balances, key=lambda balance: balance[0])[1]
        return self.balances[key]

    def failed_payout(self, asset: str, amount: int, destination: str, succeeded: list[int]) -> int | None:
        """Return the egress of a transfer that its receiver rejected.

        The chain reports the rejection when the broadcast succeeds. So the egress is the first one of these
        members in a broadcast that succeeds in this block (`succeeded`), else the first whose broadcast had
        not succeeded by the block before, else the newest.
        """
        table, failed = schema.payouts.c, schema.failures.c
        earlier = select(failed.egress).where(failed.chain == table.chain, failed.egress == table.egress)
        broadcasts, ended = schema.broadcasts.c, schema.outcomes.c
        was_paid = exists().where(
            broadcasts.chain == table.chain,
            broadcasts.egress == table.egress,
            ended.chain == broadcasts.chain,
            ended.broadcast == broadcasts.broadcast,
            ended.state == "success",
        )
        is_paid_now = exists().where(
            broadcasts.chain == table.chain,
            broadcasts.egress == table.egress,
            broadcasts.broadcast.in_(succeeded),
        )
        query = (
            select(table.chain, table.egress)
            .order_by(~is_paid_now, was_paid, case((was_paid, -table.block), else_=table.block), table.event)
            .where(
                table.destination == destination,
                table.asset == asset,
                table.amount == amount,
                table.egress.is_not(None),
                ~earlier.exists(),
            )
        )
        for row in self._execute(query.limit(MAX_EQUAL_PAYOUTS)):
            if (key := (row.chain, row.egress)) not in self.not_taken:
                self.not_taken.put_last(key, True)
                return int(row.egress)
        return None

    def _first(self, query: Select[Any], *where: ColumnElement[bool]) -> Any:
        return next(iter(self._execute(query.where(*where).limit(1))), None)

    def _execute(self, query: Select[Any]) -> Iterable[Any]:
        if self._connection is None:
            return ()
        self._insert_waiting()
        return self._connection.execute(query)
