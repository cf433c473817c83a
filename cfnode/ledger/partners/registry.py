"""Registry of partners: each has a key and the terms of its channels. Functions block."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import insert, select, update

from cfnode.core.assets import ASSETS
from cfnode.ledger.database import Database
from cfnode.ledger.errors import LedgerError
from cfnode.ledger.partners.keys import hash_of, id_of, new_key
from cfnode.ledger.service_tables import partners
from cfnode.swaps.limits import MAX_COMMISSION_BPS

__all__ = ["Partner", "add", "listed", "partner_of", "require", "revoke"]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MAX_RATE_PER_MINUTE: Final = 60_000


@dataclass(frozen=True, slots=True)
class Partner:
    """Partner and its terms.

    Commissions are in basis points; the `affiliate` (SS58) has its own. `assets` are variant names, None for
    all. `rate` is requests a minute; `budget` is for the opening costs of a month, in smallest units of FLIP,
    None for no limit. Times are Unix ms.
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
        "commission_bps": partner.commission_bps,
        "affiliate": partner.affiliate,
        "affiliate_bps": partner.affiliate_bps,
        "assets": None if partner.assets is None else ",".join(sorted(partner.assets)),
        "rate": partner.rate,
        "full_at": 0,
        "budget": partner.budget,
        "created_at": _now(),
    }
    database.make_private()
    with database.writing() as connection:
        if connection.execute(select(partners.c.name).where(partners.c.name == partner.name)).first():
            raise LedgerError(
                f"partner {partner.name!r} exists already: choose another name (names cannot be reused)"
            )
        connection.execute(insert(partners), row)
    return key


def _check(partner: Partner) -> None:
    if not _NAME.fullmatch(partner.name):
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
    )


def require(database: Database, name: str) -> Partner:
    """Return the partner of a name. Raises LedgerError if it is unknown."""
    with database.reading() as connection:
        row = connection.execute(select(partners).where(partners.c.name == name)).one_or_none()
    if row is None:
        raise LedgerError(f"no partner {name[:64]!r}: `cfnode ledger partner list` prints the names")
    return partner_of(row)


def revoke(database: Database, name: str) -> None:
    """Revoke a partner's key, from the next request on. Raises LedgerError for an unknown name."""
    require(database, name)
    with database.writing() as connection:
        conditions = (partners.c.name == name, partners.c.revoked_at.is_(None))
        connection.execute(update(partners).where(*conditions).values(revoked_at=_now()))


def _now() -> int:
    return time.time_ns() // 1_000_000
