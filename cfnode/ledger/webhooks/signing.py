"""Signatures of webhooks: HMAC-SHA256 over a delivery's id, its time and its body.

This is the Standard Webhooks specification: `webhook-signature: v1,BASE64` over `ID.TIMESTAMP.BODY`, and
several with blanks between them while a secret is being replaced. Unlike passwords, secrets have to be stored
as they are, since each delivery is signed with them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Final

__all__ = ["new_secret", "signed_headers"]

_PREFIX: Final = "whsec_"


def new_secret() -> str:
    """Return a new secret of 256 bits: `whsec_` and base64."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def signed_headers(
    valid_secrets: Sequence[str], delivery: str, timestamp: int, body: bytes
) -> dict[str, str]:
    """Return the headers of a delivery, with a signature by each secret; `timestamp` is in Unix seconds."""
    return {
        "webhook-id": delivery,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(
            _signature(secret, delivery, timestamp, body) for secret in valid_secrets
        ),
        "content-type": "application/json",
        "user-agent": "cfnode",
    }


def _signature(secret: str, delivery: str, timestamp: int, body: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    mac = hmac.new(key, f"{delivery}.{timestamp}.".encode() + body, hashlib.sha256)
    return "v1," + base64.b64encode(mac.digest()).decode()
