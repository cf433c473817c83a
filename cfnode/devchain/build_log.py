"""Debug log lines for each block that an author has built, in the official node's words."""

from __future__ import annotations

import logging

from cfnode.core.hashing import blake2_256
from cfnode.core.header import Header
from cfnode.runtime.calls import BuiltBlock

__all__ = ["log_prepared"]

log = logging.getLogger("cfnode.aura")
authorship_log = logging.getLogger("cfnode.basic-authorship")


def log_prepared(built: BuiltBlock, header: Header, seconds: float) -> None:
    """Log a built block and its sealed header at the level debug."""
    hashes = ", ".join(_short(blake2_256(extrinsic)) for extrinsic in built.body)
    authorship_log.debug(
        "🎁 Prepared block for proposing at %d (%d ms) hash: 0x%s; parent_hash: %s; extrinsics_count: %d",
        built.header.number,
        round(seconds * 1000),
        built.header.hash.hex(),
        _short(built.header.parent_hash),
        len(built.body),
    )
    authorship_log.debug("Its extrinsics: [%s]", hashes)
    log.debug(
        "🔖 Pre-sealed block for proposal at %d. Hash now 0x%s, previously 0x%s.",
        header.number,
        header.hash.hex(),
        built.header.hash.hex(),
    )


def _short(block_hash: bytes) -> str:
    return f"0x{block_hash.hex()[:4]}…{block_hash.hex()[-4:]}"
