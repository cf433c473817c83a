"""Notifications of extrinsics from pool to pool: protocol `transactions/1`.

Substrate, network transactions. A notification is a SCALE Vec of opaque extrinsics; each keeps its own length
prefix, which is part of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.core.scale import ByteCursor, encode_compact
from cfnode.core.wire.errors import WireError, reading

__all__ = ["MAX_TRANSACTIONS_PER_MESSAGE", "SUFFIX", "decode_transactions", "encode_transactions"]

SUFFIX = "transactions/1"

MAX_TRANSACTIONS_PER_MESSAGE = 8_192
"""Extrinsics of one notification: as many as a Substrate node lets wait for its pool."""


def encode_transactions(extrinsics: Sequence[bytes]) -> bytes:
    """Return a notification of extrinsics, each with its length prefix."""
    return encode_compact(len(extrinsics)) + b"".join(extrinsics)


def decode_transactions(data: bytes) -> list[bytes]:
    """Return the extrinsics of a notification, each with its length prefix; raise WireError."""
    with reading("transactions"):
        cursor = ByteCursor(data)
        count = cursor.count()
        if count > MAX_TRANSACTIONS_PER_MESSAGE:
            raise WireError(f"transactions: {count} at once, more than {MAX_TRANSACTIONS_PER_MESSAGE}")
        extrinsics = []
        for _ in range(count):
            body = cursor.bytes()
            extrinsics.append(encode_compact(len(body)) + body)
        cursor.finish()
        return extrinsics
