"""Queue of webhook deliveries: the oldest one of each subject, claimed in the database before it is sent.

A claim moves the time of the next attempt behind the end of this one. So no two processes send the same
delivery at once, and a delivery whose process is killed between sending and marking is sent again. Every
function blocks.

A receiver that has accepted nothing for three days is switched off: its deliveries wait until an
operator switches it on again.

A clock may be wrong and set right later. So a time that is further ahead than any pause counts as past, and a
delivery expires only after as many attempts as a day has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, func, insert, or_, select, update

from cfnode.ledger.database import Database
from cfnode.ledger.service_tables import attempts, changes, deliveries, webhooks

__all__ = ["DAY_MS", "DISABLE_AFTER_MS", "Attempt", "Claim", "Marked", "claimed", "due_webhooks", "mark"]

DAY_MS: Final = 86_400_000
CLOCK_MARGIN_MS: Final = 3_600_000
"""Milliseconds that the clock of a machine may be behind that of another one, which replaced a secret."""
DELIVERY_LIFETIME_MS: Final = DAY_MS
"""Milliseconds for which a delivery is tried, from its first attempt."""
MAX_DELIVERY_WAIT_MS: Final = 2 * 3_600_000
"""Milliseconds, longer than any pause."""
ATTEMPTS_OF_A_DAY: Final = 20
"""Attempts of a day, in which pauses grow from seconds to an hour."""
MAX_DELIVERY_ERROR_CHARACTERS: Final = 200
DISABLE_AFTER_MS: Final = 3 * DAY_MS
"""Milliseconds without an accepted delivery after which a receiver is switched off."""
KEPT_ATTEMPTS_MS: Final = 30 * DAY_MS
"""Milliseconds for which attempts are kept."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Delivery that this process may send now, signed with each secret that is valid.

    Times are Unix ms; `repr` contains no secret.
    """

    webhook: str
    change: int
    url: str
    secrets: tuple[str, ...]
    body: bytes
    attempts: int
    first_at: int

    @property
    def delivery(self) -> str:
        """The id of the delivery, equal at each attempt."""
        return f"{self.webhook}.{self.change}"

    def __repr__(self) -> str:
        """Return the delivery alone, so that no log contains a secret."""
        return f"Claim({self.delivery})"


@dataclass(frozen=True, slots=True)
class Attempt:
    """Attempt to deliver: the status of the answer, None without one, and why it failed, None if accepted.

    `answer` is the beginning of the body of an answer that did not accept.
    """

    status: int | None
    error: str | None = None
    answer: str = ""
    took_ms: int = 0


@dataclass(frozen=True, slots=True)
class Marked:
    """State of a delivery after an attempt, and whether its receiver was switched off by it."""

    state: str
    is_disabled: bool = False


def _is_due(next_at: ColumnElement[int], now: int) -> ColumnElement[bool]:
    return or_(next_at <= now, next_at > now + MAX_DELIVERY_WAIT_MS)


def due_webhooks(database: Database, now: int) -> list[str]:
    """Return the webhooks that have a due delivery; it may still wait for an earlier one of its subject.

    However many deliveries wait, an index answers for each webhook.
    """
    hook, delivery = webhooks.c, deliveries.c
    waiting = exists().where(delivery.webhook == hook.id, delivery.state == "pending")
    is_past, is_wrong = delivery.next_at <= now, delivery.next_at > now + MAX_DELIVERY_WAIT_MS
    query = select(hook.id).where(
        hook.disabled_at.is_(None), or_(waiting.where(is_past), waiting.where(is_wrong))
    )
    with database.reading() as connection:
        return list(connection.execute(query).scalars())


def claimed(database: Database, webhook: str, now: int, lease_ms: int, limit: int) -> list[Claim]:
    """Claim and return the oldest due deliveries of a webhook, at most one of each subject."""
    delivery, earlier = deliveries.c, deliveries.alias().c
    behind = exists().where(
        earlier.webhook == delivery.webhook,
        earlier.subject == delivery.subject,
        earlier.state == "pending",
        earlier.change < delivery.change,
    )
    query = (
        select(
            changes.c.body,
            *(webhooks.c[name] for name in ("url", "secret", "old_secret", "old_until")),
            delivery.change,
            delivery.attempts,
            delivery.first_at,
        )
        .select_from(deliveries)
        .join(changes, changes.c.id == delivery.change)
        .join(webhooks, webhooks.c.id == delivery.webhook)
        .where(
            delivery.webhook == webhook,
            delivery.state == "pending",
            _is_due(delivery.next_at, now),
            ~behind,
            webhooks.c.disabled_at.is_(None),
        )
        .order_by(delivery.change)
        .limit(limit)
    )
    with database.reading() as connection:  # a read delays no writer
        if not connection.execute(query).first():
            return []
    with database.writing() as connection:
        claims = [
            Claim(webhook, row.change, row.url, _secrets(row, now), row.body.encode(), row.attempts + 1,
                  now if row.first_at is None else row.first_at)
            for row in connection.execute(query).all()
        ]  # fmt: skip
        for claim in claims:
            values = {"attempts": claim.attempts, "first_at": claim.first_at, "next_at": now + lease_ms}
            is_same = and_(delivery.webhook == webhook, delivery.change == claim.change)
            connection.execute(update(deliveries).where(is_same).values(**values))
    return claims


def _secrets(row: Any, now: int) -> tuple[str, ...]:
    """Return the valid secrets, the newest first: for a day also the one before."""
    is_old_valid = row.old_until is not None and now < row.old_until <= now + DAY_MS + CLOCK_MARGIN_MS
    return (row.secret, row.old_secret) if is_old_valid else (row.secret,)


def mark(database: Database, claim: Claim, attempt: Attempt, now: int, wait_ms: int) -> Marked:
    """Store an attempt and its outcome; after a day of failures the delivery has `expired`.

    `now` is the time after the attempt, and `wait_ms` the pause until the next one.
    """
    error = None if attempt.error is None else attempt.error[:MAX_DELIVERY_ERROR_CHARACTERS]
    values: dict[str, object] = {"state": "pending", "next_at": now + wait_ms, "error": error}
    if error is None:
        values = {"state": "delivered", "ended_at": now, "error": None}
    elif now - claim.first_at >= DELIVERY_LIFETIME_MS and claim.attempts >= ATTEMPTS_OF_A_DAY:
        values = {"state": "expired", "ended_at": now, "error": error}
    delivery = deliveries.c
    is_delivery = and_(delivery.webhook == claim.webhook, delivery.change == claim.change)
    is_claimed = and_(is_delivery, delivery.state == "pending", delivery.attempts == claim.attempts)
    is_disabled = False
    with database.writing() as connection:
        if connection.execute(update(deliveries).where(is_claimed).values(**values)).rowcount:
            _keep_attempt(connection, claim, attempt, error, now)
            is_disabled = _note_health(connection, claim.webhook, now, is_failure=error is not None)
            if values["state"] == "pending":
                _delay_later(connection, claim, now + wait_ms)
    return Marked(str(values["state"]), is_disabled)


def _delay_later(connection: Connection, claim: Claim, next_at: int) -> None:
    """Let the later deliveries of the subject wait as long as the one that failed."""
    delivery = deliveries.c
    subject = select(delivery.subject).where(
        delivery.webhook == claim.webhook, delivery.change == claim.change
    )
    behind = and_(delivery.webhook == claim.webhook, delivery.subject == subject.scalar_subquery())
    later = and_(behind, delivery.state == "pending", delivery.change > claim.change)
    connection.execute(update(deliveries).where(later).values(next_at=next_at))


def _keep_attempt(
    connection: Connection, claim: Claim, attempt: Attempt, error: str | None, now: int
) -> None:
    """Store an attempt, and delete the webhook's old ones."""
    table = attempts.c
    own = (table.webhook == claim.webhook, table.change == claim.change)
    last = connection.execute(select(func.max(table.number)).where(*own)).scalar() or 0
    row = {"webhook": claim.webhook, "change": claim.change, "number": last + 1, "error": error,
           "at": now - attempt.took_ms, "took_ms": attempt.took_ms, "status": attempt.status,
           "answer": attempt.answer or None}  # fmt: skip
    connection.execute(insert(attempts), row)
    old = (table.webhook == claim.webhook, table.at < now - KEPT_ATTEMPTS_MS)
    connection.execute(delete(attempts).where(*old))


def _note_health(connection: Connection, webhook: str, now: int, *, is_failure: bool) -> bool:
    """Note whether a receiver fails, and return whether it is switched off for that now."""
    hook = webhooks.c
    own = update(webhooks).where(hook.id == webhook)
    if not is_failure:
        connection.execute(own.where(hook.failing_since.is_not(None)).values(failing_since=None))
        return False
    is_wrong = or_(hook.failing_since.is_(None), hook.failing_since > now)
    connection.execute(own.where(is_wrong).values(failing_since=now))
    is_long = and_(hook.failing_since <= now - DISABLE_AFTER_MS, hook.disabled_at.is_(None))
    return bool(connection.execute(own.where(is_long).values(disabled_at=now)).rowcount)
