"""Which transactions wait for a key rotation, and which key does a chain's contract or program have?

A transaction with a signature of the old key is good only before the rotation's, one of the new key only
after it. So on the EVM chains and on Solana the rotation waits until all before it are through, and what
comes later waits for the rotation; on Assethub only the latter. On Bitcoin each output has its own key:
nothing waits. (pallet_cf_broadcast: barriers; the chains: maybe_broadcast_barriers_on_rotation.)
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["barriers_left", "barriers_of_rotation", "last_allowed"]

WAITS_FOR_THOSE_BEFORE = ("EvmCrypto", "SolanaCrypto")
NEVER_WAITS = "BitcoinCrypto"
UNBOUNDED = 2**32 - 1
"""No broadcast has a greater id."""


def barriers_of_rotation(crypto: str, broadcast_id: int, earliest: int) -> list[int]:
    """The barriers that a rotation adds with this broadcast; `earliest` is the first that is pending."""
    barriers = [] if crypto == NEVER_WAITS else [broadcast_id]
    if crypto in WAITS_FOR_THOSE_BEFORE:
        barriers.append(broadcast_id - 1)
    return [each for each in barriers if each >= earliest]


def last_allowed(barriers: Sequence[int]) -> int:
    """The last broadcast that no barrier holds back."""
    return barriers[0] if barriers else UNBOUNDED


def barriers_left(barriers: Sequence[int], pending: Sequence[int]) -> list[int]:
    """The barriers up to which something is pending; both are sorted."""
    return [each for each in barriers if pending and pending[0] <= each]
