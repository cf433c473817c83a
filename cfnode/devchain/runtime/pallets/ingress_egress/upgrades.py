"""Migration of Assethub's pending deposits to names of block and extrinsic.

Until 2.2.9 a deposit was named by its extrinsic alone; the new name has the block in which it was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame.stored import StoredMap
from cfnode.devchain.runtime.releases import codec_in

from .storage import IngressEgressStorage

__all__ = ["name_deposits_by_block"]

T = TypeVar("T")
W = TypeVar("W", values.DepositWitness, values.VaultDepositWitness, values.PendingPrewitnessedDeposit)


def name_deposits_by_block(pallet: IngressEgressStorage) -> None:
    """Rename pending deposits; pending and failed rejections are dropped, as on the main net."""
    _rewrite(pallet, pallet.PendingPrewitnessedDeposits, _entry)
    _rewrite(pallet, pallet.PendingDepositChannelDeposits, _pair)
    _rewrite(pallet, pallet.PendingVaultDeposits, _pair)
    pallet.ScheduledTransactionsForRejection.kill()
    pallet.FailedRejections.kill()


def _rewrite(
    pallet: IngressEgressStorage,
    stored: StoredMap[int, Sequence[T], Sequence[T]],
    named: Callable[[T], T],
) -> None:
    codec = codec_in("2.2.9", stored.item.value, pallet.names)
    for key, raw in list(stored.raw_items()):
        stored.put(key, [named(entry) for entry in codec.decode(raw)])


def _entry(entry: values.PendingPrewitnessedDepositEntry) -> values.PendingPrewitnessedDepositEntry:
    return replace(entry, deposit=_named(entry.deposit, entry.deposit.block_height))


def _pair(pair: tuple[W, int]) -> tuple[W, int]:
    witness, height = pair
    return _named(witness, height), height


def _named(deposit: W, height: int) -> W:
    extrinsic = deposit.deposit_details
    assert isinstance(extrinsic, int)
    return replace(deposit, deposit_details=values.TxId(block_number=height, extrinsic_index=extrinsic))
