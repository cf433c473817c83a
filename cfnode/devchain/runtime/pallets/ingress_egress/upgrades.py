"""What becomes of Assethub's pending deposits when a release names them by block and extrinsic?

Until 2.2.9 a deposit was named by its extrinsic alone; the block is the one in which it was seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame.stored import StoredMap
from cfnode.devchain.runtime.releases import codec_in

from .storage import IngressEgressStorage

__all__ = ["name_deposits_by_block"]


def name_deposits_by_block(pallet: IngressEgressStorage) -> None:
    """Rewrite what is pending; rejections that wait are dropped, as on the chain."""
    _rewrite(pallet, pallet.PendingPrewitnessedDeposits, _entry)
    for stored in (pallet.PendingDepositChannelDeposits, pallet.PendingVaultDeposits):
        _rewrite(pallet, stored, _pair)
    pallet.ScheduledTransactionsForRejection.kill()
    pallet.FailedRejections.kill()


def _rewrite(
    pallet: IngressEgressStorage, stored: StoredMap[int, Any, Any], named: Callable[[Any], Any]
) -> None:
    codec = codec_in("2.2.9", stored.item.value, pallet.names)
    for key, raw in list(stored.raw_items()):
        stored.put(key, [named(each) for each in codec.decode(raw)])


def _entry(entry: Any) -> Any:
    deposit = entry["deposit"]
    return entry | {"deposit": _named(deposit, deposit["block_height"])}


def _pair(pair: Any) -> Any:
    witness, height = pair
    return _named(witness, height), height


def _named(deposit: Any, height: int) -> Any:
    return deposit | {
        "deposit_details": values.TxId(block_number=height, extrinsic_index=deposit["deposit_details"])
    }
