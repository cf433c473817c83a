"""API keys of partners: an id and 256 random bits, stored as the id and the SHA-256 hash of the key.

A slow hash protects passwords, which can be guessed. 256 random bits cannot, so one SHA-256 is enough.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import Final

__all__ = ["hash_of", "id_of", "is_key_of", "new_key"]

_KEY: Final = re.compile(r"cfp_([0-9a-f]{12})_[A-Za-z0-9_-]{43}")


def new_key() -> str:
    """Return a new key: `cfp_`, its id of 12 hex digits, and 256 random bits."""
    return f"cfp_{secrets.token_hex(6)}_{secrets.token_urlsafe(32)}"


def id_of(key: str) -> str | None:
    """Return the id of a key; None for a malformed one."""
    match = _KEY.fullmatch(key)
    return match[1] if match else None


def hash_of(key: str) -> str:
    """Return the SHA-256 hash of a key, in hex."""
    return hashlib.sha256(key.encode()).hexdigest()


def is_key_of(key: str, stored: str) -> bool:
    """Return whether a key has the stored hash, in a time that does not depend on the answer."""
    return hmac.compare_digest(hash_of(key), stored)
