"""Deliveries of a webhook for its operator: pages of them, and one with its request and attempts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, select

from cfnode.ledger.service_tables import attempts, changes, deliveries, webhooks
from cfnode.ledger.webhooks.outbox import SWAP_STATE

__all__ = ["DELIVERY_STATES", "DeliveryAttempt", "DeliveryLine", "WebhookDelivery", "delivery_lines"]
__all__ += ["delivery_number", "delivery_of", "lines_of_channel", "lines_of_swap"]

DELIVERY_STATES: Final = ("pending", "delivered", "expired")
MAX_LINES: Final = 200
"""Most deliveries of a swap or a channel that are returned."""
MAX_ATTEMPTS: Final = 100
"""Most attempts of a delivery that are returned, the newest ones."""
MAX_CHANGE: Final = 2**63


@dataclass(frozen=True, slots=True)
class DeliveryLine:
    """Delivery of a list: of which change, and how far it is. Times are the clock's, Unix ms."""

    webhook: str
    url: str
    change: int
    type: str
    what: str
    subject: str
    request: int | None
    state: str
    attempts: int
    next_at: int
    ended_at: int | None
    error: str | None

    @property
    def id(self) -> str:
        """The id of the delivery, which its receiver gets as `webhook-id`."""
        return f"{self.webhook}.{self.change}"

    @property
    def title(self) -> str:
        """What the change is: its type, and of a swap its state."""
        return f"swap.{self.what}" if self.type == SWAP_STATE else self.type


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """Attempt: when it began (Unix ms), the answer, and how long that took."""

    number: int
    at: int
    took_ms: int
    status: int | None
    error: str | None
    answer: str | None


@dataclass(frozen=True, slots=True)
class WebhookDelivery:
    """Delivery with the body of its request, and its attempts, the newest first."""

    line: DeliveryLine
    body: str
    attempts: tuple[DeliveryAttempt, ...]


def delivery_number(text: str) -> tuple[str, int] | None:
    """Return webhook and change of a delivery's id; None for a malformed one."""
    webhook, dot, number = text.partition(".")
    if not dot or not number.isascii() or not number.isdigit() or len(number) > 18:
        return None
    return webhook, int(number)


def delivery_lines(
    connection: Connection, webhook: str, state: str | None = None, before: int | None = None, limit: int = 50
) -> list[DeliveryLine]:
    """Return at most `limit` deliveries of a webhook, the newest change first.

    `before` is the change of the last one of the page before; `state` is one of `DELIVERY_STATES`.
    """
    delivery = deliveries.c
    query = _lines().where(delivery.webhook == webhook).order_by(delivery.change.desc()).limit(limit)
    if state is not None:
        query = query.where(delivery.state == state)
    if before is not None:
        query = query.where(delivery.change < before)
    return [DeliveryLine(*row) for row in connection.execute(query)]


def lines_of_channel(connection: Connection, channel: str) -> list[DeliveryLine]:
    """Return the deliveries of the changes of a channel and its swaps, oldest first."""
    return _of_changes(connection, changes.c.subject == channel)


def lines_of_swap(connection: Connection, request: int) -> list[DeliveryLine]:
    """Return the deliveries of the changes of a swap and its deposit, oldest first."""
    return _of_changes(connection, changes.c.request == request)


def _of_changes(connection: Connection, condition: ColumnElement[bool]) -> list[DeliveryLine]:
    """Return the deliveries of changes.

    They are looked up by their key, webhook and change: a planner that may choose reads all deliveries.
    """
    newest = select(changes.c.id).where(condition).order_by(changes.c.id.desc()).limit(MAX_LINES)
    numbers = list(connection.execute(newest).scalars())
    hooks = list(connection.execute(select(webhooks.c.id)).scalars())
    query = _lines().where(deliveries.c.webhook.in_(hooks), deliveries.c.change.in_(numbers))
    query = query.order_by(deliveries.c.change, deliveries.c.webhook).limit(MAX_LINES)
    return [DeliveryLine(*row) for row in connection.execute(query)]


def delivery_of(connection: Connection, webhook: str, change: int) -> WebhookDelivery | None:
    """Return a delivery; None if there is no such one."""
    if not 0 <= change < MAX_CHANGE:
        return None
    own = (deliveries.c.webhook == webhook, deliveries.c.change == change)
    row = connection.execute(_lines(changes.c.body).where(*own)).one_or_none()
    if row is None:
        return None
    *line, body = row
    return WebhookDelivery(DeliveryLine(*line), body, tuple(_attempts(connection, webhook, change)))


def _lines(*more: Any) -> Select[Any]:
    query = select(*_COLUMNS, *more).select_from(deliveries)
    query = query.join(changes, changes.c.id == deliveries.c.change)
    return query.join(webhooks, webhooks.c.id == deliveries.c.webhook)


_COLUMNS: Final[Sequence[Any]] = (
    *(deliveries.c.webhook, webhooks.c.url, deliveries.c.change),
    *(changes.c[name] for name in ("type", "state", "subject", "request")),
    *(deliveries.c[name] for name in ("state", "attempts", "next_at", "ended_at", "error")),
)
"""Columns of a DeliveryLine, in its order."""


def _attempts(connection: Connection, webhook: str, change: int) -> list[DeliveryAttempt]:
    table = attempts.c
    query = select(*(table[field.name] for field in fields(DeliveryAttempt)))
    query = query.where(table.webhook == webhook, table.change == change)
    rows = connection.execute(query.order_by(table.number.desc()).limit(MAX_ATTEMPTS))
    return [DeliveryAttempt(*row) for row in rows]
