"""Which transactions wait for a key rotation, and which key does a chain's contract or program have?

A transaction with a signature of the old key is good only before the rotation's, one of the new key only
after it. So on the EVM chains and on Solana the rotation waits until all before it are through, and what
comes later waits for the rotation; on Assethub only the latter. On Bitcoin each output has its own key:
nothing waits. (pallet_cf_broadcast: barriers; the chains: maybe_broadcast_barriers_on_rotation.)
"""

from __future__ import annotations

from collections.abc import Sequence

from .storage import BroadcasterStorage

__all__ = ["barriers_of_rotation", "last_allowed", "lift_barriers", "note_rotated"]

WAITS_FOR_THOSE_BEFORE = ("EvmCrypto", "SolanaCrypto")
NEVER_WAITS = "BitcoinCrypto"
UNBOUNDED = 2**32 - 1
"""No broadcast has a greater id."""


def barriers_of_rotation(broadcaster: BroadcasterStorage, broadcast_id: int) -> list[int]:
    """The barriers, once a rotation has begun with this broadcast, which is pending."""
    crypto, known = broadcaster.chain.family.crypto, broadcaster.BroadcastBarriers.get()
    barriers = [] if crypto == NEVER_WAITS else [broadcast_id]
    if crypto in WAITS_FOR_THOSE_BEFORE:
        barriers.append(broadcast_id - 1)
    earliest = broadcaster.PendingBroadcasts.get()[0]
    return sorted({*known, *(each for each in barriers if each >= earliest)})


def last_allowed(broadcaster: BroadcasterStorage) -> int:
    """The last broadcast that no barrier holds back."""
    barriers: Sequence[int] = broadcaster.BroadcastBarriers.get()
    return barriers[0] if barriers else UNBOUNDED


def lift_barriers(broadcaster: BroadcasterStorage) -> None:
    """Remove the barriers up to which nothing is pending any more."""
    barriers, pending = broadcaster.BroadcastBarriers.get(), broadcaster.PendingBroadcasts.get()
    if barriers:
        left = [each for each in barriers if pending and pending[0] <= each]
        broadcaster.BroadcastBarriers.put(left)


def note_rotated(broadcaster: BroadcasterStorage, broadcast_id: int) -> None:
    """If this was a rotation's transaction: the chain has the new key."""
    incoming = broadcaster.IncomingKeyAndBroadcastId.get()
    if incoming is not None and incoming[1] == broadcast_id:
        broadcaster.CurrentOnChainKey.put(incoming[0])
        broadcaster.IncomingKeyAndBroadcastId.kill()
