"""Registry of partners: each has a key and the terms of its channels. Functions block."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import Connection, insert, select, update

from cfnode.core.assets import ASSETS
from cfnode.ledger.database import Database
from cfnode.ledger.errors import LedgerError
from cfnode.ledger.partners.keys import hash_of, id_of, new_key
from cfnode.ledger.service_tables import (
    day_totals,
    partner_channels,
    partner_days,
    partner_requests,
    partners,
)
from cfnode.swaps.limits import MAX_COMMISSION_BPS

__all__ = ["OLD_KEY_MS", "Partner", "add", "change", "listed", "partner_of", "remove", "require", "revoke"]
__all__ += ["rotate"]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MAX_RATE_PER_MINUTE: Final = 60_000
OLD_KEY_MS: Final = 86_400_000
"""Milliseconds for which a key is still valid after it was replaced."""
MAX_KEPT_NAME: Final = 51
"""Characters of a removed partner's name that stay, before the id of its key."""


@dataclass(frozen=True, slots=True)
class Partner:
    """Partner and its terms.

    Commissions are in basis points; the `affiliate` (SS58) has its own. `assets` are variant names, None for
    all. `rate` is requests a minute; `budget` is for the opening costs of a month, in smallest units of FLIP,
    None for no limit. `key_id` is the public part of the key; until `old_until` the key before it is valid,
    too. Times are Unix ms.
    """

    name: str
    commission_bps: int
    affiliate: str | None = None
    assets: frozenset[str] | None = None
    rate: int = 60
    budget: int | None = None
    created_at: int = 0
    revoked_at: int | None = None
    affiliate_bps: int = 0
    key_id: str = ""
    old_until: int | None = None

    def allows(self, *assets: str) -> bool:
        """Return whether the partner may swap all of these assets."""
        return self.assets is None or self.assets.issuperset(assets)


def add(database: Database, partner: Partner) -> str:
    """Add a partner, and return its key. Raises ValueError for bad terms, LedgerError for a used name."""
    _check(partner)
    key = new_key()
    row = {
        "name": partner.name,
        "key_id": id_of(key),
        "key_hash": hash_of(key),
        "full_at": 0,
        "created_at": _now(),
        **_terms(partner),
    }
    database.make_private()
    with database.writing() as connection:
        if connection.execute(select(partners.c.name).where(partners.c.name == partner.name)).first():
            raise LedgerError(
                f"partner {partner.name!r} exists already: choose another name, or remove that partner first"
            )
        connection.execute(insert(partners), row)
    return key


def _terms(partner: Partner) -> dict[str, Any]:
    """Return the columns of a partner's terms."""
    return {
        "commission_bps": partner.commission_bps,
        "affiliate": partner.affiliate,
        "affiliate_bps": partner.affiliate_bps,
        "assets": None if partner.assets is None else ",".join(sorted(partner.assets)),
        "rate": partner.rate,
        "budget": partner.budget,
    }


def change(database: Database, name: str, **terms: Any) -> Partner:
    """Change terms of a partner, by their names, from its next request on; return the partner.

    Raises ValueError for bad terms, LedgerError for an unknown partner. Of two changes at once each changes
    the terms that it names.
    """
    with database.writing() as connection:
        changed = replace(partner_of(_required(connection, name)), **terms)
        _check(changed)
        connection.execute(update(partners).where(partners.c.name == name).values(**_terms(changed)))
    return changed


def rotate(database: Database, name: str, *, keeps_old: bool = True) -> str:
    """Give a partner a new key, and return it. Raises LedgerError, also for a revoked partner.

    The old key is valid for a day, unless it is to end at once.
    """
    key, table = new_key(), partners.c
    with database.writing() as connection:
        row = _required(connection, name)
        if row.revoked_at is not None:
            raise LedgerError(f"the key of {name!r} is revoked: remove the partner, and add it anew")
        values = {"key_id": id_of(key), "key_hash": hash_of(key), "old_key_id": None, "old_key_hash": None,
                  "old_until": None}  # fmt: skip
        if keeps_old:
            values |= {"old_key_id": row.key_id, "old_key_hash": row.key_hash}
            values["old_until"] = _now() + OLD_KEY_MS  # type: ignore[assignment]
        connection.execute(update(partners).where(table.name == name).values(**values))
    return key


def remove(database: Database, name: str) -> str:
    """Revoke a partner, and free its name; return the name under which its channels stay in the books.

    Raises LedgerError for an unknown partner, and while a request of it is being sent.
    """
    with database.writing() as connection:
        row = _required(connection, name)
        if "~" in name:
            raise LedgerError(f"{name!r} is removed already")
        sending = (partner_requests.c.partner == name, partner_requests.c.state == "sending")
        if connection.execute(select(partner_requests.c.key).where(*sending).limit(1)).first():
            raise LedgerError(f"a request of {name!r} is being sent: try again in a minute")
        kept = f"{name[:MAX_KEPT_NAME]}~{row.key_id}"
        values = {"name": kept, "revoked_at": _now() if row.revoked_at is None else row.revoked_at}
        connection.execute(update(partners).where(partners.c.name == name).values(**values))
        for table in (partner_channels, partner_requests, partner_days):
            connection.execute(update(table).where(table.c.partner == name).values(partner=kept))
        totals = day_totals.c
        own = (totals.name == name, totals.measure.in_(("partner", "earned_with")))
        connection.execute(update(day_totals).where(*own).values(name=kept))
    return kept


def _check(partner: Partner) -> None:
    if not _NAME.fullmatch(partner.name.partition("~")[0] if partner.revoked_at else partner.name):
        raise ValueError("the name must have 1 to 64 letters, digits, dots, dashes or underscores")
    if partner.commission_bps < 0 or partner.affiliate_bps < 0:
        raise ValueError(f"a commission must be 0 to {MAX_COMMISSION_BPS} basis points")
    if partner.commission_bps + partner.affiliate_bps > MAX_COMMISSION_BPS:
        raise ValueError(f"the commissions together must be at most {MAX_COMMISSION_BPS} basis points")
    if (partner.affiliate is None) != (partner.affiliate_bps == 0):
        raise ValueError("give an affiliate and its commission (in basis points) together")
    if not 1 <= partner.rate <= MAX_RATE_PER_MINUTE:
        raise ValueError(f"the rate must be 1 to {MAX_RATE_PER_MINUTE} requests a minute")
    if partner.budget is not None and not 0 <= partner.budget < 2**128:
        raise ValueError("the budget must be 0 to 2^128 - 1 base units")
    unknown = sorted((partner.assets or frozenset()) - set(ASSETS))
    if unknown:
        raise ValueError(f"unknown assets: {', '.join(unknown)}")
    if partner.assets == frozenset():
        raise ValueError("name at least one asset, or leave the assets out to allow all")


def listed(database: Database) -> list[Partner]:
    """Return all partners, by name."""
    with database.reading() as connection:
        return [partner_of(row) for row in connection.execute(select(partners).order_by(partners.c.name))]


def partner_of(row: Any) -> Partner:
    """Return a partner from its row."""
    assets = None if row.assets is None else frozenset(row.assets.split(","))
    return Partner(
        row.name,
        row.commission_bps,
        row.affiliate,
        assets,
        row.rate,
        row.budget,
        row.created_at,
        row.revoked_at,
        row.affiliate_bps,
        row.key_id,
        row.old_until,
    )


def require(database: Database, name: str) -> Partner:
    """Return the partner of a name. Raises LedgerError if it is unknown."""
    with database.reading() as connection:
        return partner_of(_required(connection, name))


def _required(connection: Connection, name: str) -> Any:
    row = connection.execute(select(partners).where(partners.c.name == name)).one_or_none()
    if row is None:
        raise LedgerError(f"no partner {name[:64]!r}: `cfnode ledger partner list` prints the names")
    return row


def revoke(database: Database, name: str) -> None:
    """Revoke a partner's key, from the next request on. Raises LedgerError for an unknown name."""
    require(database, name)
    with database.writing() as connection:
        conditions = (partners.c.name == name, partners.c.revoked_at.is_(None))
        connection.execute(update(partners).where(*conditions).values(revoked_at=_now()))


def _now() -> int:
    return time.time_ns() // 1_000_000
