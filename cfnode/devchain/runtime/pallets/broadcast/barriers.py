"""Broadcast barriers: which transactions wait for a key rotation.

A transaction that the old key has signed is valid only before the rotation's transaction, one that the new
key has signed only after it. So on the EVM chains and on Solana the rotation's transaction waits for all
before it, and all later ones wait for it; on Assethub only the latter. On Bitcoin each output has its own
key: nothing waits. (pallet_cf_broadcast: barriers; the chains: maybe_broadcast_barriers_on_rotation.)
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["barriers_left", "barriers_of_rotation", "last_allowed"]

WAITS_FOR_THOSE_BEFORE = ("EvmCrypto", "SolanaCrypto")
NEVER_WAITS = "BitcoinCrypto"
UNBOUNDED = 2**32 - 1
"""Highest id that a broadcast can have."""


def barriers_of_rotation(crypto: str, broadcast_id: int, earliest: int) -> list[int]:
    """Return the barriers that a rotation's broadcast adds; `earliest` is the first pending broadcast."""
    barriers = [] if crypto == NEVER_WAITS else [broadcast_id]
    if crypto in WAITS_FOR_THOSE_BEFORE:
        barriers.append(broadcast_id - 1)
    return [barrier for barrier in barriers if barrier >= earliest]


def last_allowed(barriers: Sequence[int]) -> int:
    """Return the id of the last broadcast that no barrier holds back."""
    return barriers[0] if barriers else UNBOUNDED


def barriers_left(barriers: Sequence[int], pending: Sequence[int]) -> list[int]:
    """Return the barriers up to which a broadcast is pending; both arguments are sorted."""
    return [barrier for barrier in barriers if pending and pending[0] <= barrier]
