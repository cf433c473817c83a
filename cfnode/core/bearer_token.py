"""Bearer tokens and the HTTP header that holds one (RFC 6750, section 2.1)."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["MAX_TOKEN", "authorization", "is_bearer_token"]

MAX_TOKEN: Final = 512
"""Characters of a token."""
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")


def is_bearer_token(text: str) -> bool:
    """Return whether a text has the characters of a token, and at most MAX_TOKEN of them."""
    return len(text) <= MAX_TOKEN and _TOKEN.fullmatch(text) is not None


def authorization(token: str) -> str:
    """Return the value of the header Authorization for a token."""
    return f"Bearer {token}"
