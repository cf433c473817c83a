"""Registry of webhooks: receivers by URL, each with a secret of its own. Every function blocks."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from sqlalchemy import Connection, delete, func, insert, literal, or_, select, update

from cfnode.ledger import schema
from cfnode.ledger.database import Database
from cfnode.ledger.errors import LedgerError
from cfnode.ledger.service_tables import attempts, changes, deliveries, webhooks
from cfnode.ledger.webhooks.queue import DAY_MS, DISABLE_AFTER_MS
from cfnode.ledger.webhooks.signing import new_secret
from cfnode.swaps.documents.webhook import sample_body

__all__ = ["Chosen", "Webhook", "add", "checked_url", "disable", "enable", "listed", "remove", "replay"]
__all__ += ["require", "rotate", "send_test"]

MAX_WEBHOOKS: Final = 200
MAX_URL_CHARACTERS: Final = 2_000
MAX_COUNTED_DELIVERIES: Final = 100_000
"""Most deliveries of a webhook in one state that are counted."""
TEST: Final = "webhook.test"
"""Type of a change that an operator asked for, to see whether a receiver gets it."""
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class Webhook:
    """Receiver, with the numbers of its deliveries by state, and the error of its newest failed delivery.

    Times are Unix ms: `old_until` until the secret before the last rotation is valid, `failing_since` the
    first failure since a delivery was accepted, `disabled_at` when it was switched off.
    """

    id: str
    url: str
    account: str | None
    created_at: int
    old_until: int | None
    failing_since: int | None
    disabled_at: int | None
    pending: int
    delivered: int
    expired: int
    error: str | None

    @property
    def state(self) -> str:
        """What holds now: `on`, `failing`, or `off`."""
        if self.disabled_at is not None:
            return "off"
        return "on" if self.failing_since is None else "failing"

    @property
    def disabled_from(self) -> int | None:
        """When it will be switched off unless it accepts a delivery, Unix ms; None if it does not fail."""
        is_failing = self.failing_since is not None and self.disabled_at is None
        return (self.failing_since or 0) + DISABLE_AFTER_MS if is_failing else None


@dataclass(frozen=True, slots=True)
class Chosen:
    """Selection of changes that are delivered again.

    They are those of a swap request, of blocks in a period (Unix ms), or one change by its number. If all is
    None, they are those whose delivery has expired.
    """

    request: int | None = None
    start: int | None = None
    end: int | None = None
    change: int | None = None

    @property
    def is_expired_only(self) -> bool:
        """Whether nothing is named, so that only expired deliveries count."""
        return (self.request, self.start, self.end, self.change) == (None, None, None, None)


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
    query = _HOOKS.order_by(webhooks.c.created_at, webhooks.c.id)
    with database.reading() as connection:
        return [_webhook(connection, row) for row in connection.execute(query).all()]


_NAMES: Final = ("id", "url", "account", "created_at", "old_until", "failing_since", "disabled_at")
_HOOKS: Final = select(*(webhooks.c[name] for name in _NAMES))


def _webhook(connection: Connection, row: Any) -> Webhook:
    values = {name: getattr(row, name) for name in _NAMES} | _counts(connection, row.id)
    return Webhook(**values, error=_last_error(connection, row.id))


def _counts(connection: Connection, webhook: str) -> dict[str, int]:
    """Return the numbers of pending, delivered and expired deliveries, each counted up to a bound."""
    delivery, counts = deliveries.c, dict[str, int]()
    for state in ("pending", "delivered", "expired"):
        rows = select(delivery.change).where(delivery.webhook == webhook, delivery.state == state)
        counted = select(func.count()).select_from(rows.limit(MAX_COUNTED_DELIVERIES).subquery())
        counts[state] = connection.execute(counted).scalar_one()
    return counts


def _last_error(connection: Connection, webhook: str) -> str | None:
    """Return the error of the newest delivery that waits or has expired with one."""
    delivery, newest = deliveries.c, list[Any]()
    for state in ("pending", "expired"):
        own = (delivery.webhook == webhook, delivery.state == state, delivery.error.is_not(None))
        query = select(delivery.change, delivery.error).where(*own).order_by(delivery.change.desc()).limit(1)
        newest += connection.execute(query).all()
    return max(newest, default=(0, None))[1]


def require(database: Database, webhook: str) -> Webhook:
    """Return a receiver. Raises LedgerError if it is unknown."""
    with database.reading() as connection:
        _require(connection, webhook)
        row = connection.execute(_HOOKS.where(webhooks.c.id == webhook)).one()
        return _webhook(connection, row)


def remove(database: Database, webhook: str) -> None:
    """Remove a receiver and its deliveries. Raises LedgerError."""
    with database.writing() as connection:
        _require(connection, webhook)
        connection.execute(delete(attempts).where(attempts.c.webhook == webhook))
        connection.execute(delete(deliveries).where(deliveries.c.webhook == webhook))
        connection.execute(delete(webhooks).where(webhooks.c.id == webhook))


def rotate(database: Database, webhook: str, *, keeps_old: bool = True) -> str:
    """Give a receiver a new secret, and return it. Raises LedgerError.

    For a day deliveries are signed with the secret before it, too, unless that one is to end at once.
    """
    secret, now = new_secret(), _now()
    hook, values = webhooks.c, {"secret": secret, "old_until": now + DAY_MS if keeps_old else None}
    database.make_private()
    with database.writing() as connection:
        _require(connection, webhook)
        old = connection.execute(select(hook.secret).where(hook.id == webhook)).scalar_one()
        values["old_secret"] = old if keeps_old else None
        connection.execute(update(webhooks).where(hook.id == webhook).values(**values))
    return secret


def disable(database: Database, webhook: str) -> None:
    """Switch a receiver off: its deliveries wait. Raises LedgerError."""
    hook = webhooks.c
    with database.writing() as connection:
        _require(connection, webhook)
        is_on = (hook.id == webhook, hook.disabled_at.is_(None))
        connection.execute(update(webhooks).where(*is_on).values(disabled_at=_now()))


def enable(database: Database, webhook: str) -> None:
    """Switch a receiver on again, which gets all that waits for it. Raises LedgerError."""
    hook, delivery = webhooks.c, deliveries.c
    with database.writing() as connection:
        _require(connection, webhook)
        values = {"disabled_at": None, "failing_since": None}
        connection.execute(update(webhooks).where(hook.id == webhook).values(**values))
        waiting = (delivery.webhook == webhook, delivery.state == "pending")
        connection.execute(update(deliveries).where(*waiting).values(next_at=_now()))


def send_test(database: Database, webhook: str) -> str:
    """Queue a test for a receiver, and return the id of its delivery. Raises LedgerError."""
    now = _now()
    with database.writing() as connection:
        _require(connection, webhook)
        number = (connection.execute(select(func.max(changes.c.id))).scalar() or 0) + 1
        newest = connection.execute(select(func.max(schema.blocks.c.number))).scalar() or 0
        subject = f"test-{number}"
        change = {"id": number, "block": newest, "type": TEST, "subject": subject, "state": "test",
                  "body": sample_body(TEST, now)}  # fmt: skip
        delivery = {"webhook": webhook, "change": number, "subject": subject, "state": "pending",
                    "attempts": 0, "next_at": now}  # fmt: skip
        connection.execute(insert(changes), change)
        connection.execute(insert(deliveries), delivery)
    return f"{webhook}.{number}"


def replay(database: Database, webhook: str, selection: Chosen) -> int:
    """Queue changes for delivery again, also those from before the webhook was added; return how many.

    Those of a channel are delivered in their order. Raises LedgerError.
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
                changes.c.subject,
                literal("pending"),
                literal(0),
                literal(now),
            ).where(changes.c.id.in_(select(numbers.c.id)), changes.c.id.not_in(queued))
            names = ["webhook", "change", "subject", "state", "attempts", "next_at"]
            count += connection.execute(select(func.count()).select_from(missing.subquery())).scalar_one()
            connection.execute(insert(deliveries).from_select(names, missing))
    return count


def _numbers(selection: Chosen, account: str | None) -> Any:
    """Return a query for the ids of the chosen changes."""
    blocks = schema.blocks.c
    query = select(changes.c.id).outerjoin(schema.blocks, blocks.number == changes.c.block)
    if selection.change is not None:
        query = query.where(changes.c.id == selection.change)
    elif not selection.is_expired_only:
        query = query.where(changes.c.type != TEST)
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
        is_own = changes.c.account == account
        query = query.where(or_(is_own, changes.c.request.in_(owners[0].union(owners[1]))))
    return query


def _require(connection: Connection, webhook: str) -> str | None:
    """Return the account of a webhook, None for all. Raises LedgerError if the webhook is unknown."""
    row = connection.execute(select(webhooks.c.account).where(webhooks.c.id == webhook)).one_or_none()
    if row is None:
        raise LedgerError(f"no webhook {webhook[:40]!r}: `cfnode ledger webhook list` prints the ids")
    account: str | None = row.account
    return account


def _now() -> int:
    return time.time_ns() // 1_000_000
