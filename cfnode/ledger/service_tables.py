"""Tables besides the chain's facts: webhooks, deliveries, partners, their channels, totals of days.

Their rows are kept when the books go back to a block, and do not follow from events alone.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Column, Index, Integer, String, Table

from cfnode.ledger.columns import amount, metadata, number, text

__all__ = [
    "NAMES",
    "attempts",
    "changes",
    "day_totals",
    "deliveries",
    "partner_channels",
    "partner_days",
    "partner_requests",
    "partners",
    "webhooks",
]

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", String(20), primary_key=True),
    text("url"),
    text("secret", 60),
    text("account", 60, null=True),
    number("created_at"),
    text("old_secret", 60, null=True),
    number("old_until", null=True),
    number("failing_since", null=True),
    number("disabled_at", null=True),
)
"""Receivers of webhooks; `secret` signs their deliveries, and until `old_until` also the secret before it.
With an `account` a receiver gets only what concerns that account. `failing_since` is the first failure since
a delivery was accepted; from `disabled_at` on nothing is sent. Times are the clock's, Unix ms."""

changes = Table(
    "changes",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    number("block"),
    number("event", null=True),
    text("type", 20),
    text("subject", 80),
    number("request", null=True),
    text("account", 60, null=True),
    text("state", 20),
    text("body"),
    Index("changes_by_request", "request", "id"),
    Index("changes_by_subject", "subject", "id"),
)
"""Changes that receivers of webhooks get, in the order in which they were written: of the state of a swap, of
a deposit, or of a channel. `body` is the JSON that is delivered. Changes of one `subject` (a channel with its
swaps, or a swap without a channel) are delivered in order. `event` is that of a deposit's or a channel's
fact in its block, `account` the one that it concerns."""

deliveries = Table(
    "deliveries",
    metadata,
    Column("webhook", String(20), primary_key=True),
    Column("change", BigInteger, primary_key=True, autoincrement=False),
    text("subject", 80),
    text("state", 10),
    number("attempts"),
    number("first_at", null=True),
    number("next_at"),
    number("ended_at", null=True),
    text("error", 200, null=True),
    Index("deliveries_by_webhook_next_at", "webhook", "state", "next_at"),
    Index("deliveries_by_webhook_subject", "webhook", "subject", "state"),
    Index("deliveries_by_webhook_state", "webhook", "state", "change"),
)
"""Deliveries of changes to webhooks; `state` is pending, delivered, or expired (after a day of attempts).
Times are the clock's, Unix ms; `next_at` is when the next attempt may begin."""

attempts = Table(
    "attempts",
    metadata,
    Column("webhook", String(20), primary_key=True),
    Column("change", BigInteger, primary_key=True, autoincrement=False),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    number("at"),
    number("took_ms"),
    number("status", null=True),
    text("error", 200, null=True),
    text("answer", null=True),
    Index("attempts_by_webhook_at", "webhook", "at"),
)
"""Attempts to deliver, of the last weeks: when each began (Unix ms), how long it took, the answer's status,
why it failed, and the beginning of an answer that did not accept."""

partners = Table(
    "partners",
    metadata,
    Column("name", String(64), primary_key=True),
    text("key_id", 12),
    text("key_hash", 64),
    number("commission_bps"),
    text("affiliate", 60, null=True),
    Column("affiliate_bps", BigInteger, nullable=False, server_default="0"),
    text("assets", null=True),
    number("rate"),
    number("full_at"),
    amount("budget", null=True),
    number("created_at"),
    number("revoked_at", null=True),
    text("old_key_id", 12, null=True),
    text("old_key_hash", 64, null=True),
    number("old_until", null=True),
    Index("partners_by_key_id", "key_id", unique=True),
    Index("partners_by_old_key_id", "old_key_id"),
)
"""Partners, with the id and the SHA-256 hash of their key, and until `old_until` of the one before. The
affiliate gets `affiliate_bps` besides the commission. `assets`: names with commas, NULL for all. `rate`:
requests a minute; `full_at`: when all of them are free again, Unix microseconds. `budget`: for the opening
costs of a month, in smallest units of FLIP. Other times are Unix ms."""

partner_channels = Table(
    "partner_channels",
    metadata,
    Column("id", String(32), primary_key=True),
    text("partner", 64),
    text("month", 7),
    text("state", 10),
    amount("cost"),
    text("chain", 12, null=True),
    number("channel", null=True),
    number("opened", null=True),
    number("at"),
    text("answer", null=True),
    text("reference", 200, null=True),
    Index("partner_channels_by_partner_month", "partner", "month"),
    Index("partner_channels_by_chain_channel", "chain", "channel"),
    Index("partner_channels_by_reference", "reference"),
)
"""Channels of partners and what they cost; `state` is reserved (being opened), opened, or released. `opened`
is the block of the channel's opening. `answer` is the JSON that the partner got for an opened one.
`reference` is the Idempotency-Key of the partner's request, which stays when the request is deleted."""

partner_requests = Table(
    "partner_requests",
    metadata,
    Column("partner", String(64), primary_key=True),
    Column("key", String(200), primary_key=True),
    text("digest", 64),
    text("state", 10),
    text("owner", 32),
    number("beats"),
    text("reservation", 32),
    number("block", null=True),
    number("at"),
    Index("partner_requests_by_owner", "owner"),
    Index("partner_requests_by_at", "at"),
    Index("partner_requests_by_key", "key"),
)
"""Requests for channels by their Idempotency-Key; `digest` is the SHA-256 hash of the request. `state` is
sending, opened, or unknown (sent, and no answer came). `owner` is the process that works on the request and
counts `beats` meanwhile; `reservation` is a row of `partner_channels`. `block` is a best block of the
broker's node from before the request was sent. `at` is the database's clock, Unix ms."""

partner_days = Table(
    "partner_days",
    metadata,
    Column("partner", String(64), primary_key=True),
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("code", String(40), primary_key=True),
    number("count"),
)
"""Requests of partners of the last months, by day (since 1970, UTC) and code: `ok`, or that of the error."""

day_totals = Table(
    "day_totals",
    metadata,
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("measure", String(20), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("asset", String(12), primary_key=True),
    number("count"),
    text("amount"),
    text("value"),
)
"""Sums of the facts of a day (`day` since 1970, UTC), which `day_totals.py` counts, and can count again.
`amount`, in smallest units of the asset, and `value`, in those of USDC, are decimal digits: a sum may have
more of them than an amount."""

NAMES: Final = (
    *("webhooks", "changes", "deliveries", "attempts", "partners", "partner_channels", "partner_requests"),
    *("partner_days", "day_totals"),
)
