"""Queue of webhook deliveries: the oldest one of each swap, claimed in the database before it is sent.

A claim moves the time of the next attempt behind the end of this one. So no two processes send the same
delivery at once, and a delivery whose process is killed between sending and marking is sent again. Every
function blocks.

A clock may be wrong and set right later. So a time that is further ahead than any pause counts as past, and a
delivery expires only after as many attempts as a day has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, and_, exists, or_, select, update

from cfnode.ledger.database import Database
from cfnode.ledger.service_tables import changes, deliveries, webhooks

__all__ = ["DELIVERY_LIFETIME_MS", "Claim", "claimed", "due_webhooks", "mark"]

DELIVERY_LIFETIME_MS: Final = 86_400_000
"""Milliseconds for which a delivery is tried, from its first attempt."""
MAX_DELIVERY_WAIT_MS: Final = 2 * 3_600_000
"""Milliseconds, longer than any pause."""
ATTEMPTS_OF_A_DAY: Final = 20
"""Attempts of a day, in which pauses grow from seconds to an hour."""
MAX_DELIVERY_ERROR_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class Claim:
    """Delivery that this process may send now. Times are Unix ms; `repr` does not contain the secret."""

    webhook: str
    change: int
    url: str
    secret: str
    body: bytes
    attempts: int
    first_at: int

    @property
    def delivery(self) -> str:
        """The id of the delivery, equal at each attempt."""
        return f"{self.webhook}.{self.change}"

    def __repr__(self) -> str:
        """Return the delivery alone, so that no log contains the secret."""
        return f"Claim({self.delivery})"


def _is_due(next_at: ColumnElement[int], now: int) -> ColumnElement[bool]:
    return or_(next_at <= now, next_at > now + MAX_DELIVERY_WAIT_MS)


def due_webhooks(database: Database, now: int) -> list[str]:
    """Return the webhooks that have a due delivery; it may still wait for an earlier one of its swap."""
    delivery = deliveries.c
    query = (
        select(delivery.webhook).where(delivery.state == "pending", _is_due(delivery.next_at, now)).distinct()
    )
    with database.reading() as connection:
        return list(connection.execute(query).scalars())


def claimed(database: Database, webhook: str, now: int, lease_ms: int, limit: int) -> list[Claim]:
    """Claim and return the oldest due deliveries of a webhook, at most one of each swap."""
    delivery, earlier = deliveries.c, deliveries.alias().c
    behind = exists().where(
        earlier.webhook == delivery.webhook,
        earlier.request == delivery.request,
        earlier.state == "pending",
        earlier.change < delivery.change,
    )
    query = (
        select(
            changes.c.body,
            webhooks.c.url,
            webhooks.c.secret,
            delivery.change,
            delivery.attempts,
            delivery.first_at,
        )
        .select_from(deliveries)
        .join(changes, changes.c.id == delivery.change)
        .join(webhooks, webhooks.c.id == delivery.webhook)
        .where(
            delivery.webhook == webhook, delivery.state == "pending", _is_due(delivery.next_at, now), ~behind
        )
        .order_by(delivery.change)
        .limit(limit)
    )
    with database.reading() as connection:  # a read delays no writer
        if not connection.execute(query).first():
            return []
    with database.writing() as connection:
        claims = [
            Claim(webhook, row.change, row.url, row.secret, row.body.encode(), row.attempts + 1,
                  now if row.first_at is None else row.first_at)
            for row in connection.execute(query).all()
        ]  # fmt: skip
        for claim in claims:
            values = {"attempts": claim.attempts, "first_at": claim.first_at, "next_at": now + lease_ms}
            is_same = and_(delivery.webhook == webhook, delivery.change == claim.change)
            connection.execute(update(deliveries).where(is_same).values(**values))
    return claims


def mark(database: Database, claim: Claim, error: str | None, now: int, wait_ms: int) -> str:
    """Store the outcome of an attempt, and return the delivery's state: after a day of failures `expired`."""
    values: dict[str, object]
    delivery = deliveries.c
    same_swap = select(delivery.request).where(
        delivery.webhook == claim.webhook, delivery.change == claim.change
    )
    behind = and_(delivery.webhook == claim.webhook, delivery.request == same_swap.scalar_subquery())
    if error is None:
        values = {"state": "delivered", "ended_at": now, "error": None}
    elif now - claim.first_at >= DELIVERY_LIFETIME_MS and claim.attempts >= ATTEMPTS_OF_A_DAY:
        values = {"state": "expired", "ended_at": now, "error": error[:MAX_DELIVERY_ERROR_CHARACTERS]}
    else:
        values = {
            "state": "pending",
            "next_at": now + wait_ms,
            "error": error[:MAX_DELIVERY_ERROR_CHARACTERS],
        }
    is_delivery = and_(delivery.webhook == claim.webhook, delivery.change == claim.change)
    is_claimed = and_(is_delivery, delivery.state == "pending", delivery.attempts == claim.attempts)
    with database.writing() as connection:
        changed = connection.execute(update(deliveries).where(is_claimed).values(**values))
        if changed.rowcount and values["state"] == "pending":  # later changes wait as long
            later = and_(behind, delivery.state == "pending", delivery.change > claim.change)
            connection.execute(update(deliveries).where(later).values(next_at=values["next_at"]))
    return str(values["state"])
