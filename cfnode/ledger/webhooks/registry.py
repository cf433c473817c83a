"""Registry of webhooks: receivers by URL, each with a secret of its own. Every function blocks."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from sqlalchemy import case, delete, func, insert, literal, select, update

from cfnode.ledger import schema
from cfnode.ledger.database import Database
from cfnode.ledger.errors import LedgerError
from cfnode.ledger.service_tables import changes, deliveries, webhooks
from cfnode.ledger.webhooks.signing import new_secret

__all__ = ["Chosen", "Webhook", "add", "checked_url", "listed", "remove", "replay"]

MAX_WEBHOOKS: Final = 200
MAX_URL_CHARACTERS: Final = 2_000
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class Webhook:
    """Receiver, with the numbers of its deliveries by state, and the error of its newest failed delivery."""

    id: str
    url: str
    account: str | None
    created_at: int
    pending: int
    delivered: int
    expired: int
    error: str | None


@dataclass(frozen=True, slots=True)
class Chosen:
    """Selection of changes that are delivered again.

    They are those of a swap request, and of blocks in a period (Unix ms). If all is None, they are those
    whose delivery has expired.
    """

    request: int | None = None
    start: int | None = None
    end: int | None = None

    @property
    def is_expired_only(self) -> bool:
        """Whether neither a request nor a period is named, so that only expired deliveries count."""
        return self.request is None and self.start is None and self.end is None


def checked_url(url: str) -> str:
    """Return the URL of a receiver if it is acceptable. Raises ValueError."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError("not a URL such as https://example.com/webhooks") from None
    if (
        parts.scheme not in ("http", "https")
        or not host
        or len(url) > MAX_URL_CHARACTERS
        or not url.isprintable()
    ):
        raise ValueError("not a URL such as https://example.com/webhooks")
    if parts.username is not None or parts.fragment:
        raise ValueError("a URL with a user, password or fragment is refused: requests are signed instead")
    if parts.scheme == "http" and host not in _LOOPBACK:
        raise ValueError("http is for loopback addresses only: use https")
    return url


def add(database: Database, url: str, account: str | None = None) -> tuple[str, str]:
    """Add a receiver, and return its id and its secret. Raises ValueError, LedgerError."""
    row = {"id": f"wh_{secrets.token_hex(6)}", "url": checked_url(url), "secret": new_secret(),
           "account": account, "created_at": _now()}  # fmt: skip
    database.make_private()
    with database.writing() as connection:
        if connection.execute(select(func.count()).select_from(webhooks)).scalar_one() >= MAX_WEBHOOKS:
            raise LedgerError(f"the books already have {MAX_WEBHOOKS} webhooks: remove one first")
        connection.execute(insert(webhooks), row)
    return str(row["id"]), str(row["secret"])


def listed(database: Database) -> list[Webhook]:
    """Return all receivers, oldest first."""
    hook, delivery = webhooks.c, deliveries.c
    counts = [func.count(case((delivery.state == state, 1))) for state in ("pending", "delivered", "expired")]
    query = select(hook.id, hook.url, hook.account, hook.created_at, *counts)
    query = query.outerjoin(deliveries, delivery.webhook == hook.id).group_by(*hook)
    with database.reading() as connection:
        rows = connection.execute(query.order_by(hook.created_at, hook.id)).all()
        return [Webhook(*[*row, _last_error(connection, row[0])]) for row in rows]


def _last_error(connection: Any, webhook: str) -> str | None:
    delivery = deliveries.c
    query = select(delivery.error).where(delivery.webhook == webhook, delivery.error.is_not(None))
    error: str | None = connection.execute(query.order_by(delivery.change.desc()).limit(1)).scalar()
    return error


def remove(database: Database, webhook: str) -> None:
    """Remove a receiver and its deliveries. Raises LedgerError."""
    with database.writing() as connection:
        _require(connection, webhook)
        connection.execute(delete(deliveries).where(deliveries.c.webhook == webhook))
        connection.execute(delete(webhooks).where(webhooks.c.id == webhook))


def replay(database: Database, webhook: str, selection: Chosen) -> int:
    """Queue changes for delivery again, also those from before the webhook was added; return how many.

    Those of a swap are delivered in their order. Raises LedgerError.
    """
    now, delivery = _now(), deliveries.c
    with database.writing() as connection:
        account = _require(connection, webhook)
        numbers = _numbers(selection, account).subquery()
        is_chosen = delivery.change.in_(select(numbers.c.id))
        requeue = update(deliveries).where(delivery.webhook == webhook, is_chosen)
        if selection.is_expired_only:
            requeue = requeue.where(delivery.state == "expired")
        values = {"state": "pending", "attempts": 0, "first_at": None, "next_at": now, "ended_at": None}
        count = connection.execute(requeue.values(**values)).rowcount
        if not selection.is_expired_only:
            queued = select(delivery.change).where(delivery.webhook == webhook)
            missing = select(
                literal(webhook),
                changes.c.id,
                changes.c.request,
                literal("pending"),
                literal(0),
                literal(now),
            ).where(changes.c.id.in_(select(numbers.c.id)), changes.c.id.not_in(queued))
            names = ["webhook", "change", "request", "state", "attempts", "next_at"]
            count += connection.execute(select(func.count()).select_from(missing.subquery())).scalar_one()
            connection.execute(insert(deliveries).from_select(names, missing))
    return count


def _numbers(selection: Chosen, account: str | None) -> Any:
    """Return a query for the ids of the chosen changes."""
    blocks = schema.blocks.c
    query = select(changes.c.id).outerjoin(schema.blocks, blocks.number == changes.c.block)
    if selection.request is not None:
        query = query.where(changes.c.request == selection.request)
    if selection.start is not None:
        query = query.where(blocks.time >= selection.start)
    if selection.end is not None:
        query = query.where(blocks.time < selection.end)
    if account is not None:
        owners = [
            select(table.request).where(table.account == account)
            for table in (schema.requests.c, schema.shares.c)
        ]
        query = query.where(changes.c.request.in_(owners[0].union(owners[1])))
    return query


def _require(connection: Any, webhook: str) -> str | None:
    """Return the account of a webhook, None for all. Raises LedgerError if the webhook is unknown."""
    row = connection.execute(select(webhooks.c.account).where(webhooks.c.id == webhook)).one_or_none()
    if row is None:
        raise LedgerError(f"no webhook {webhook[:40]!r}: `cfnode ledger webhook list` prints the ids")
    account: str | None = row.account
    return account


def _now() -> int:
    return time.time_ns() // 1_000_000
