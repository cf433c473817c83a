"""Scheduling of fetches, which bring deposits into the vault."""

from __future__ import annotations

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage

from .deposits import Account, PendingDeposit
from .storage import IngressEgressStorage

__all__ = ["schedule_fetch"]


def schedule_fetch(pallet: IngressEgressStorage, deposit: PendingDeposit) -> None:
    """Have a channel's deposit brought into the vault; Bitcoin spends it from where it lies."""
    if deposit.channel is not None:
        _fetch_from(pallet, deposit.channel, deposit)
    if isinstance(utxo := deposit.details, values.Utxo):
        pallet.other(EnvironmentStorage).BitcoinAvailableUtxos.mutate(lambda known: [*known, utxo])


def _fetch_from(
    pallet: IngressEgressStorage, channel: values.DepositChannel, deposit: PendingDeposit
) -> None:
    channel_asset, address = channel.asset, channel.address
    if pallet.chain.is_evm and deposit.asset != channel_asset and channel.state in ("Undeployed", "Pending"):
        # The contract's constructor fetches its own asset, and it must be there to fetch another.
        _queue_fetch(pallet, channel_asset, address, 0)
    _queue_fetch(pallet, deposit.asset, address, deposit.amount)
    pallet.deposit(pallet.Event.DepositFetchesScheduled, channel_id=channel.channel_id, asset=deposit.asset)


def _queue_fetch(pallet: IngressEgressStorage, asset: str, address: Account, amount: int) -> None:
    fetch = values.FetchOrTransferFetch(
        asset=asset, deposit_address=address, deposit_fetch_id=None, amount=amount
    )
    pallet.ScheduledEgressFetchOrTransfer.mutate(lambda queue: [*queue, fetch])
