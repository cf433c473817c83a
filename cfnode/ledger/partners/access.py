"""Authentication, rate limit and budget of partners.

A server calls `authorize` for each request. Before it opens a channel it calls `reserve` with the cost, and
afterwards `settle`, or `release` if it was not opened. A reservation whose process was killed counts until
the end of its month: a channel may have been opened. Functions block.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal

from sqlalchemy import Connection, and_, case, insert, or_, select, update

from cfnode.ledger.amounts import exact_sum, whole
from cfnode.ledger.database import Database
from cfnode.ledger.errors import LedgerError
from cfnode.ledger.partners.keys import id_of, is_key_of
from cfnode.ledger.partners.registry import OLD_KEY_MS, Partner, partner_of
from cfnode.ledger.service_tables import partner_channels, partners
from cfnode.swaps.identity import ChannelId

__all__ = [
    "Refusal",
    "Reservation",
    "authorize",
    "ended",
    "release",
    "reserve",
    "reserved",
    "settle",
    "spent",
]

_MINUTE_US: Final = 60_000_000
CLOCK_MARGIN_MS: Final = 3_600_000
"""Milliseconds that the clock of a machine may be behind that of another one, which replaced a key."""
_MESSAGES: Final = {
    "unknown": "unknown API key",
    "revoked": "this API key was revoked",
    "rate": "too many requests; try again later",
    "budget": "the budget for opening channels is used up for this month",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Reason why a request is refused; for a rate with the seconds after which it may be repeated.

    `partner` is the name of the key's partner, if it is known.
    """

    reason: Literal["unknown", "revoked", "rate", "budget"]
    retry_after_s: float | None = None
    partner: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        """Return the message that the partner gets for the reason."""
        return _MESSAGES[self.reason]


@dataclass(frozen=True, slots=True)
class Reservation:
    """Reserved part of a budget, for a channel that is being opened."""

    id: str


def authorize(database: Database, key: str, now_us: int | None = None) -> Partner | Refusal:
    """Count a request, and return the partner of its key, or the refusal. `now_us`: Unix microseconds.

    Raises DatabaseError.
    """
    now = time.time_ns() // 1_000 if now_us is None else now_us
    number = id_of(key)
    if number is None:
        return Refusal("unknown")
    row = _row(database, number)
    if row is None or not _is_key(key, number, row, now // 1_000):
        return Refusal("unknown")
    if row.revoked_at is None and _count(database, row, now):
        return partner_of(row)
    row = _row(database, number)  # the key may have been revoked meanwhile
    if row is None or row.revoked_at is not None:
        return Refusal("revoked", partner=None if row is None else row.name)
    wait = max(row.full_at + _MINUTE_US // row.rate - _MINUTE_US - now, 0) / 1e6
    return Refusal("rate", wait, row.name)


def _row(database: Database, number: str) -> Any:
    """Return the partner that has, or until lately had, the key with an id; None without one."""
    table = partners.c
    with database.reading() as connection:
        for column in (table.key_id, table.old_key_id):
            row = connection.execute(select(partners).where(column == number).limit(1)).first()
            if row is not None:
                return row
    return None


def _is_key(key: str, number: str, row: Any, now: int) -> bool:
    """Return whether a key is the partner's, or the one before that is still valid. `now`: Unix ms."""
    if row.key_id == number:
        return is_key_of(key, row.key_hash)
    is_valid = row.old_until is not None and now < row.old_until <= now + OLD_KEY_MS + CLOCK_MARGIN_MS
    return is_valid and is_key_of(key, row.old_key_hash)


def _count(database: Database, row: Any, now: int) -> bool:
    """Count a request, in one statement; return False if the rate is used up or the key was revoked.

    Each request moves the time at which all requests are free again by its share of a minute. A time that is
    more than two minutes ahead was written by a clock that was wrong, and does not count.
    """
    table, share = partners.c, _MINUTE_US // row.rate
    is_wrong = table.full_at > now + 2 * _MINUTE_US
    start = case((and_(table.full_at > now, ~is_wrong), table.full_at), else_=now)
    is_free = or_(table.full_at <= now + _MINUTE_US - share, is_wrong)
    query = update(partners).where(table.name == row.name, table.revoked_at.is_(None), is_free)
    with database.writing(durable=False) as connection:
        return bool(connection.execute(query.values(full_at=start + share)).rowcount)


def reserve(
    database: Database, partner: Partner, cost: int, now: float | None = None
) -> Reservation | Refusal:
    """Reserve a channel's cost, in smallest units of FLIP, in the month's budget. `now`: Unix s."""
    with database.writing() as connection:
        return reserved(connection, partner, cost, now)


def reserved(
    connection: Connection,
    partner: Partner,
    cost: int,
    now: float | None = None,
    reference: str | None = None,
) -> Reservation | Refusal:
    """Reserve a channel's cost in a transaction of the caller's, for a request with a reference.

    `cost` is in smallest units of FLIP, `now` in Unix s.
    """
    moment = time.time() if now is None else now
    month = datetime.fromtimestamp(moment, UTC).strftime("%Y-%m")
    row = {"id": secrets.token_hex(16), "partner": partner.name, "month": month, "state": "reserved",
           "cost": cost, "at": int(moment * 1000), "reference": reference}  # fmt: skip
    names = ("budget", "revoked_at", "created_at")
    terms = select(*(partners.c[name] for name in names)).where(partners.c.name == partner.name)
    stored_terms = connection.execute(terms).one_or_none()
    if stored_terms is None or stored_terms.revoked_at is not None:
        return Refusal("revoked")
    if partner.created_at not in (0, stored_terms.created_at):  # another one has the name by now
        return Refusal("revoked")
    if (
        stored_terms.budget is not None
        and _spent(connection, partner.name, month) + cost > stored_terms.budget
    ):
        return Refusal("budget")
    connection.execute(insert(partner_channels), row)
    return Reservation(str(row["id"]))


def settle(database: Database, reservation: Reservation, channel: ChannelId, cost: int) -> None:
    """End a reservation whose channel was opened, with what it cost. Raises LedgerError."""
    values = {"chain": channel.chain, "channel": channel.number, "opened": channel.block}
    with database.writing() as connection:
        ended(connection, reservation, state="opened", cost=cost, **values)


def release(database: Database, reservation: Reservation) -> None:
    """End a reservation without a channel: its cost is free again. Raises LedgerError."""
    with database.writing() as connection:
        ended(connection, reservation, state="released")


def ended(connection: Connection, reservation: Reservation, **values: Any) -> None:
    """Set columns of a reservation, and so end it, in a transaction of the caller's. Raises LedgerError."""
    table = partner_channels.c
    conditions = (table.id == reservation.id, table.state == "reserved")
    if not connection.execute(update(partner_channels).where(*conditions).values(**values)).rowcount:
        raise LedgerError("this reservation has ended already")


def spent(database: Database, name: str, month: str) -> int:
    """Return the cost of a partner's channels of a month (`2026-11`), with those that are being opened.

    It is in smallest units of FLIP.
    """
    with database.reading() as connection:
        return _spent(connection, name, month)


def _spent(connection: Any, name: str, month: str) -> int:
    table = partner_channels.c
    sums = exact_sum(table.cost, connection.dialect.name)
    query = select(*sums).where(table.partner == name, table.month == month, table.state != "released")
    return whole(connection.execute(query).one())
