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
from cfnode.ledger.swap_events import FoundEvent, ServiceChannel, note_expected

__all__ = [
    "KEEP_MS",
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

MAX_NAMES: Final = 200
"""Requests of one statement."""
KEEP_MS: Final = 7 * 86_400_000
"""How long a key and its answer are kept, from the request on."""


@dataclass(frozen=True, slots=True)
class Order:
    """A request that this process works on."""

    partner: str
    key: str
    owner: str
    reservation: Reservation


@dataclass(frozen=True, slots=True)
class Kept:
    """An opened channel: what it cost, and the answer to the partner."""

    opened: ServiceChannel
    cost: int
    answer: str


@dataclass(frozen=True, slots=True)
class Opened:
    """The answer that the first request got."""

    answer: str


@dataclass(frozen=True, slots=True)
class Running:
    """Another process works on it; alive while `beats` grows."""

    owner: str
    beats: int


@dataclass(frozen=True, slots=True)
class Unknown:
    """It was sent to the broker, and no answer came."""


@dataclass(frozen=True, slots=True)
class Reused:
    """The key was used for another request."""


class TakenOver(LedgerError):
    """An order is another process's by now."""


Wanted: TypeAlias = tuple[str, str, Callable[[Mapping[str, Any]], bool]]
"""Source and target of a lost channel, and whether it is the one, by the fields of its event."""
KeptOf: TypeAlias = Callable[[FoundEvent], Kept]
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
    """Note that a request is sent now, and reserve its cost; or what became of the first one with this key.

    `head` is a best block of the broker's node from before; `now`: Unix s.
    """
    with database.writing() as connection:
        moment = _clock(connection) if now is None else int(now * 1000)
        _expire(connection, moment - KEEP_MS)
        found = _found(connection, partner.name, key, digest)
        if found is not None:
            return found
        reservation = reserved(connection, partner, cost, now)
        if isinstance(reservation, Refusal):
            return reservation
        row = {"partner": partner.name, "key": key, "digest": digest, "state": "sending", "owner": owner,
               "beats": 0, "reservation": reservation.id, "block": head, "at": moment}  # fmt: skip
        connection.execute(insert(partner_requests), row)
    return Order(partner.name, key, owner, reservation)


def _clock(connection: Connection) -> int:
    """The time in Unix ms: the server's, as a process with a wrong clock would forget all keys."""
    if connection.dialect.name == "sqlite":
        return time.time_ns() // 1_000_000
    return int(connection.execute(text("SELECT extract(epoch FROM clock_timestamp()) * 1000")).scalar_one())


def _expire(connection: Connection, before: int) -> None:
    """Forget old requests."""
    connection.execute(delete(partner_requests).where(_table.at < before))


def look(database: Database, partner: str, key: str, digest: str) -> Found | None:
    """What became of a request; None if it opened nothing, or is not known."""
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
    """End the request of a process whose beats have stopped: it is unknown.

    None for one that was not sent, as earlier versions wrote it: its key is free again, and its cost.
    """
    with database.writing() as connection:
        found = _found(connection, partner, key, digest)
        if found != dead:
            return found
        mine = (_table.partner == partner, _table.key == key)
        row = connection.execute(select(_table.block, _table.reservation).where(*mine)).one()
        if row.block is None:
            connection.execute(delete(partner_requests).where(*mine))
            ended(connection, Reservation(row.reservation), state="released")
            return None
        connection.execute(update(partner_requests).where(*mine).values(state="unknown"))
    return Unknown()


def beat(database: Database, owner: str, names: Sequence[tuple[str, str]]) -> None:
    """Show that a process works on the requests of these partners and keys."""
    running = (_table.owner == owner, _table.state == "sending")
    with database.writing(durable=False) as connection:
        for start in range(0, len(names), MAX_NAMES):
            mine = tuple_(_table.partner, _table.key).in_(names[start : start + MAX_NAMES])
            query = update(partner_requests).where(*running, mine)
            connection.execute(query.values(beats=_table.beats + 1))


def finish(database: Database, order: Order, opened: Kept) -> None:
    """The channel was opened; also if others took the request for lost."""
    with database.writing() as connection:
        _change(connection, order, ("sending", "unknown"), state="opened")
        _keep(connection, order, opened)


def _keep(connection: Connection, order: Order, opened: Kept) -> None:
    """Raises LedgerError if another request has that channel: one that was taken for lost."""
    channel = opened.opened.channel
    if connection.execute(select(partner_channels.c.id).where(is_channel(channel))).first() is not None:
        raise LedgerError(f"channel {channel} is another request's")
    values = {"chain": channel.chain, "channel": channel.number, "opened": channel.block}
    ended(connection, order.reservation, state="opened", cost=opened.cost, answer=opened.answer, **values)
    note_expected(connection, opened.opened)


def resolve(
    database: Database, partner: str, key: str, digest: str, wanted: Wanted, kept: KeptOf
) -> Found | None:
    """What the books say by now about an unknown request: opened; None if it can never be, and is free again.

    While an equal request is being sent, a channel may be that one's.
    """
    with database.writing() as connection:
        found = _found(connection, partner, key, digest)
        same = select(_table.key).where(_table.digest == digest, _table.state == "sending")
        if not isinstance(found, Unknown) or connection.execute(same).first() is not None:
            return found
        mine = (_table.partner == partner, _table.key == key)
        row = connection.execute(select(partner_requests).where(*mine)).one()
        order = Order(partner, key, row.owner, Reservation(row.reservation))
        event = lost_channel(connection, row.block, *wanted)
        if event is not None:
            _change(connection, order, ("unknown",), state="opened")
            _keep(connection, order, opened := kept(event))
            return Opened(opened.answer)
        if not is_past(connection, row.block):
            return found
        _change(connection, order, ("unknown",), remove=True)
        ended(connection, order.reservation, state="released")
    return None


def lose(database: Database, order: Order) -> None:
    """It is not known whether the channel was opened; its cost stays reserved."""
    with database.writing() as connection:
        _change(connection, order, ("sending", "unknown"), state="unknown")


def give_up(database: Database, order: Order) -> None:
    """Nothing was opened: the key is free again, and the cost."""
    with database.writing() as connection:
        _change(connection, order, ("sending", "unknown"), remove=True)
        ended(connection, order.reservation, state="released")


def _change(
    connection: Connection, order: Order, states: tuple[str, ...], *, remove: bool = False, **values: Any
) -> None:
    """Raises TakenOver if the order is another process's by now."""
    mine = (_table.partner == order.partner, _table.key == order.key, _table.owner == order.owner)
    change = delete(partner_requests) if remove else update(partner_requests).values(**values)
    if not connection.execute(change.where(*mine, _table.state.in_(states))).rowcount:
        raise TakenOver("another process has taken this request over")
