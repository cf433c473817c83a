"""What does the chain store of broadcasts, and which events and errors do they have?

‹Chain›Broadcaster (pallet_cf_broadcast): storage, events and errors of all chains. What happens to a
broadcast is in `broadcaster`.
"""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import ErrorSet, EventSet, Map, OptionalValue, Value, enum, event
from cfnode.devchain.runtime.pallets.chain_pallet import ChainPallet

__all__ = ["BroadcasterStorage"]

enum("pallet_cf_broadcast::PalletConfigUpdate", "BroadcastTimeout{blocks: u32}", name="BroadcastConfigUpdate")


class BroadcasterStorage(ChainPallet):
    """Broadcasts of one chain: pending, waiting, aborted."""

    crate = "pallet_cf_broadcast"

    BroadcastIdCounter = Value[int]("u32")
    FailedBroadcasters = Map[int, Sequence[bytes]]("Twox64Concat", "u32", "BTreeSet<AccountId32>")
    DelayedBroadcastRetryQueue = Map[int, Sequence[int]]("Twox64Concat", "u32", "BTreeSet<u32>")
    Timeouts = Value[Sequence[tuple[int, int, bytes]]]("Vec<(Height, u32, AccountId32)>")
    PendingBroadcasts = Value[Sequence[int]]("BTreeSet<u32>")
    AbortedBroadcasts = Value[Sequence[int]]("BTreeSet<u32>")
    BroadcastBarriers = Value[Sequence[int]]("BTreeSet<u32>")
    IncomingKeyAndBroadcastId = OptionalValue[tuple[values.EvmAggKey | bytes | values.BtcAggKey, int]](
        "(AggKey, u32)"
    )
    CurrentOnChainKey = OptionalValue[values.EvmAggKey | bytes | values.BtcAggKey]("AggKey")
    BroadcastTimeout = Value[int]("Height", default=100)

    class Event(EventSet):
        BroadcastRetryScheduled = event(1, broadcast_id="u32", retry_block="u32")
        BroadcastTimeout = event(2, broadcast_id="u32")
        BroadcastAborted = event(3, broadcast_id="u32")
        BroadcastSuccess = event(
            4,
            broadcast_id="u32",
            transaction_out_id="TransactionOutId",
            transaction_ref="TransactionRef",
        )
        PalletConfigUpdated = event(9, update="BroadcastConfigUpdate")

    class Error(ErrorSet):
        InvalidPayload = "The provided payload is invalid."
        InvalidBroadcastId = "The provided broadcast id is invalid."
        ThresholdSignatureUnavailable = "A threshold signature was expected but not available."
        BroadcastStillPending = "Pending broadcasts cannot be re-signed."
        ApiCallUnavailable = "The broadcast's api call is no longer available."
