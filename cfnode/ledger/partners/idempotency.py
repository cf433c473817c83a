"""Idempotent channel requests of partners.

The partner's Idempotency-Key names a request, whichever process gets it, and after a process was killed.

A request is written as `sending` before it is sent to the broker, with the reservation of its cost in the
same transaction, and as `opened` with its answer. If its process is killed in `sending`, it is not known
whether a channel was opened: the request is `unknown` until the books answer that. A process proves that it
is alive by counting `beats`, so no clocks are compared. Functions block; the commits of `place` and `finish`
wait for the disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, delete, insert, select, text, tuple_, update

from cfnode.ledger.database import Database
from cfnode.ledger.errors import LedgerError
from cfnode.ledger.partners.access import Refusal, Reservation, ended, reserved
from cfnode.ledger.partners.channels import is_channel
from cfnode.ledger.partners.lost import is_past, lost_channel
from cfnode.ledger.partners.registry import Partner
from cfnode.ledger.service_tables import partner_channels, partner_requests
from cfnode.ledger.swap_events import ServiceChannel, note_expected
from cfnode.swaps.record import Entry

__all__ = [
    "KEY_LIFETIME_MS",
    "Found",
    "Kept",
    "Opened",
    "Order",
    "Outcome",
    "Reused",
    "Running",
    "TakenOver",
    "Unknown",
]
__all__ += ["beat", "finish", "give_up", "look", "lose", "place", "resolve", "take_over"]

MAX_BEAT_REQUESTS: Final = 200
"""Most requests of one statement."""
KEY_LIFETIME_MS: Final = 7 * 86_400_000
"""Milliseconds for which a key and its answer are kept, from the request on."""


@dataclass(frozen=True, slots=True)
class Order:
    """Request that this process works on."""

    partner: str
    key: str
    owner: str
    reservation: Reservation


@dataclass(frozen=True, slots=True)
class Kept:
    """Opened channel with its cost (smallest units of FLIP), and the answer to the partner (JSON)."""

    opened: ServiceChannel
    cost: int
    answer: str


@dataclass(frozen=True, slots=True)
class Opened:
    """Outcome of an answered request: the answer that the first request got."""

    answer: str


@dataclass(frozen=True, slots=True)
class Running:
    """Outcome of a request that the process `owner` works on; it is alive while `beats` grows."""

    owner: str
    beats: int


@dataclass(frozen=True, slots=True)
class Unknown:
    """Outcome of a request that was sent to the broker, and got no answer."""


@dataclass(frozen=True, slots=True)
class Reused:
    """Outcome of a request whose key was used for another request."""


class TakenOver(LedgerError):
    """Another process has taken over an order of this one."""


Wanted: TypeAlias = tuple[str, str, Callable[[Mapping[str, Any]], bool]]
"""Source and target of a lost channel, and whether the fields of an event are those of its opening."""
KeptOf: TypeAlias = Callable[[Entry], Kept]
Found: TypeAlias = Opened | Running | Unknown | Reused
Outcome: TypeAlias = Order | Found | Refusal
_table = partner_requests.c


def place(
    database: Database,
    partner: Partner,
    key: str,
    digest: str,
    owner: str,
    cost: int,
    head: int,
    now: float | None = None,
) -> Outcome:
    """Store that a request is sent now, with the reservation of its cost, and return its order.

    If the key was used before, returns the state of that request instead; or the refusal of partner or
    budget. `cost` is in smallest units of FLIP, `head` an earlier best block of the broker's node, `now` is
    in Unix s.
    """
    with database.writing() as connection:
        moment = _clock(connection) if now is None else int(now * 1000)
        _expire(connection, moment - KEY_LIFETIME_MS)
        earlier = _found(connection, partner.name, key, digest)
        if earlier is not None:
            return earlier
        reservation = reserved(connection, partner, cost, now, key)
        if isinstance(reservation, Refusal):
            return reservation
        row = {"partner": partner.name, "key": key, "digest": digest, "state": "sending", "owner": owner,
               "beats": 0, "reservation": reservation.id, "block": head, "at": moment}  # fmt: skip
        connection.execute(insert(partner_requests), row)
    return Order(partner.name, key, owner, reservation)


def _clock(connection: Connection) -> int:
    """Return the time in Unix ms: the server's, as a process with a wrong clock would forget all keys."""
    if connection.dialect.name == "sqlite":
        return time.time_ns() // 1_000_000
    return int(connection.execute(text("SELECT extract(epoch FROM clock_timestamp()) * 1000")).scalar_one())


def _expire(connection: Connection, before: int) -> None:
    """Delete the requests from before a time (Unix ms)."""
    connection.execute(delete(partner_requests).where(_table.at < before))


def look(database: Database, partner: str, key: str, digest: str) -> Found | None:
    """Return the state of a request; None if its key is unknown, or free again as nothing was opened."""
    with database.reading() as connection:
        return _found(connection, partner, key, digest)


def _found(connection: Connection, partner: str, key: str, digest: str) -> Found | None:
    query = select(partner_requests, partner_channels.c.answer)
    query = query.join(partner_channels, partner_channels.c.id == _table.reservation)
    row = connection.execute(query.where(_table.partner == partner, _table.key == key)).one_or_none()
    if row is None:
        return None
    if row.digest != digest:
        return Reused()
    if row.state == "opened":
        return Opened(row.answer)
    return Unknown() if row.state == "unknown" else Running(row.owner, row.beats)


def take_over(database: Database, partner: str, key: str, digest: str, dead: Running) -> Found | None:
    """End the request of a process whose beats have stopped, and return its state: Unknown.

    Returns the request's present state if that is no longer `dead`. Returns None for a request that was not
    sent, as earlier versions wrote it: its key and its cost are free again.
    """
    with database.writing() as connection:
        current = _found(connection, partner, key, digest)
        if current != dead:
            return current
        conditions = (_table.partner == partner, _table.key == key)
        row = connection.execute(select(_table.block, _table.reservation).where(*conditions)).one()
        if row.block is None:
            connection.execute(delete(partner_requests).where(*conditions))
            ended(connection, Reservation(row.reservation), state="released")
            return None
        connection.execute(update(partner_requests).where(*conditions).values(state="unknown"))
    return Unknown()


def beat(database: Database, owner: str, names: Sequence[tuple[str, str]]) -> None:
    """Count a beat for the requests (partner, key) that a process works on."""
    running = (_table.owner == owner, _table.state == "sending")
    with database.writing(durable=False) as connection:
        for start in range(0, len(names), MAX_BEAT_REQUESTS):
            is_named = tuple_(_table.partner, _table.key).in_(names[start : start + MAX_BEAT_REQUESTS])
            query = update(partner_requests).where(*running, is_named)
            connection.execute(query.values(beats=_table.beats + 1))


def finish(database: Database, order: Order, opened: Kept) -> None:
    """Store that an order's channel was opened, also if another process took the request for lost.

    Raises TakenOver, LedgerError.
    """
    with database.writing() as connection:
        _change(connection, order, ("sending", "unknown"), state="opened")
        _keep(connection, order, opened)


def _keep(connection: Connection, order: Order, opened: Kept) -> None:
    """Store an opened channel. Raises LedgerError if another request, taken for lost, has that channel."""
    channel = opened.opened.channel
    if connection.execute(select(partner_channels.c.id).where(is_channel(channel))).first() is not None:
        raise LedgerError(f"channel {channel} belongs to another request")
    values = {"chain": channel.chain, "channel": channel.number, "opened": channel.block}
    ended(connection, order.reservation, state="opened", cost=opened.cost, answer=opened.answer, **values)
    note_expected(connection, opened.opened)


def resolve(
    database: Database, partner: str, key: str, digest: str, criteria: Wanted, kept_of: KeptOf
) -> Found | None:
    """Look for the channel of an unknown request in the books, and return the request's state.

    It is Opened if the books have the channel. None: the channel can never be opened any more, and the key is
    free again. Nothing is changed while an equal request is being sent, since a channel may be that one's.
    """
    with database.writing() as connection:
        current = _found(connection, partner, key, digest)
        sending = select(_table.key).where(_table.digest == digest, _table.state == "sending")
        if not isinstance(current, Unknown) or connection.execute(sending).first() is not None:
            return current
        conditions = (_table.partner == partner, _table.key == key)
        row = connection.execute(select(partner_requests).where(*conditions)).one()
        order = Order(partner, key, row.owner, Reservation(row.reservation))
        event = lost_channel(connection, row.block, *criteria)
        if event is not None:
            _change(connection, order, ("unknown",), state="opened")
            _keep(connection, order, opened := kept_of(event))
            return Opened(opened.answer)
        if not is_past(connection, row.block):
            return current
        _change(connection, order, ("unknown",), remove=True)
        ended(connection, order.reservation, state="released")
    return None


def lose(database: Database, order: Order) -> None:
    """Store that it is not known whether the channel was opened; its cost stays reserved."""
    with database.writing() as connection:
        _change(connection, order, ("sending", "unknown"), state="unknown")


def give_up(database: Database, order: Order) -> None:
    """End an order without a channel: its key and its cost are free again."""
    with database.writing() as connection:
        _change(connection, order, ("sending", "unknown"), remove=True)
        ended(connection, order.reservation, state="released")


def _change(
    connection: Connection, order: Order, states: tuple[str, ...], *, remove: bool = False, **values: Any
) -> None:
    """Change or remove an order in one of these states. Raises TakenOver if another process has it."""
    conditions = (_table.partner == order.partner, _table.key == order.key, _table.owner == order.owner)
    change = delete(partner_requests) if remove else update(partner_requests).values(**values)
    if not connection.execute(change.where(*conditions, _table.state.in_(states))).rowcount:
        raise TakenOver("another process has taken this request over")
