"""Delay between the prewitnessing of a deposit and its boost.

A deposit is boosted at once, or some blocks later if governance sets a delay. Until then the deposit waits,
as it was seen, and its channel (or the vault's name for it) has the status `BoostPending`: no other deposit
is boosted there. A deposit that is final before its block has come is not boosted any more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.pallets.swap_requests.requests import LAST_BLOCK
from cfnode.devchain.runtime.pallets.system import System

from .boost import prewitness, remember_boost
from .deposits import PendingDeposit, Transaction, channel_origin, vault_origin
from .storage import IngressEgressStorage

__all__ = ["admit_prewitnessed", "cancel_boost", "process_prewitnessed"]

NOT_BOOSTED: Final = "NotBoosted"


def admit_prewitnessed(pallet: IngressEgressStorage, deposit: PendingDeposit) -> None:
    """Boost a deposit that is not yet final, at once or after the delay."""
    delay = pallet.BoostDelayBlocks.get()
    if not delay:
        return prewitness(pallet, deposit)
    if deposit.boost_status != NOT_BOOSTED:
        return None
    due_block = min(int(pallet.other(System).Number.get()) + delay, LAST_BLOCK)
    entry = values.PendingPrewitnessedDepositEntry(
        boost_status_lookup=_place(deposit), deposit=_waiting(deposit)
    )
    pallet.PendingPrewitnessedDeposits.mutate(due_block, lambda before: [*before, entry])
    waits = values.BoostStatusBoostPending(amount=deposit.amount, process_at_block=due_block)
    return remember_boost(pallet, deposit, waits)


def process_prewitnessed(pallet: IngressEgressStorage, number: int) -> None:
    """Boost the deposits that have waited for this block."""
    for entry in pallet.PendingPrewitnessedDeposits.take(number):
        deposit = _as_seen(pallet, entry)
        if deposit is not None and isinstance(deposit.boost_status, values.BoostStatusBoostPending):
            remember_boost(pallet, deposit, NOT_BOOSTED)
            prewitness(pallet, replace(deposit, boost_status=NOT_BOOSTED))


def cancel_boost(pallet: IngressEgressStorage, deposit: PendingDeposit) -> None:
    """Cancel the pending boost of a deposit that is final."""
    status = deposit.boost_status
    if not isinstance(status, values.BoostStatusBoostPending) or status.amount != deposit.amount:
        return
    lookup, queue = _place(deposit), pallet.PendingPrewitnessedDeposits
    due_block = status.process_at_block
    remaining = [pending for pending in queue.take(due_block) if pending.boost_status_lookup != lookup]
    if remaining:
        queue.put(due_block, remaining)
    remember_boost(pallet, deposit, NOT_BOOSTED)


def _place(deposit: PendingDeposit) -> values.BoostStatusLookup:
    """Return where a deposit's `BoostStatus` is stored."""
    if deposit.channel is None:
        return values.BoostStatusLookupVault(deposit.vault_transaction)
    return values.BoostStatusLookupChannel(deposit.channel_account)


def _waiting(deposit: PendingDeposit) -> values.PendingPrewitnessedDeposit:
    origin: values.DepositOrigin
    if deposit.channel is None:
        origin = values.DepositOriginVault(tx_id=deposit.vault_transaction, broker_id=deposit.broker)
    else:
        assert deposit.broker is not None
        origin = values.DepositOriginDepositChannel(
            deposit_address=deposit.channel_account,
            channel_id=deposit.channel.channel_id,
            deposit_block_height=deposit.height,
            broker_id=deposit.broker,
        )
    return values.PendingPrewitnessedDeposit(
        block_height=deposit.height,
        amount=deposit.amount,
        asset=deposit.asset,
        deposit_details=deposit.details,
        deposit_address=deposit.address,
        action=deposit.action,
        boost_fee=deposit.max_boost_fee,
        channel_id=deposit.channel_id,
        origin=origin,
    )


def _as_seen(
    pallet: IngressEgressStorage, entry: values.PendingPrewitnessedDepositEntry
) -> PendingDeposit | None:
    """Return the deposit that waits; None if its channel no longer exists."""
    deposit = entry.deposit
    match entry.boost_status_lookup:
        case values.BoostStatusLookupVault(transaction):
            return _deposit(
                deposit,
                vault_origin(pallet, transaction, deposit.origin.broker_id),
                pallet.BoostedVaultTransactions.get(transaction),
                transaction=transaction,
            )
        case values.BoostStatusLookupChannel(account):
            channel = pallet.DepositChannelLookup.get(account)
            if channel is None:
                return None
            return _deposit(
                deposit,
                channel_origin(pallet, channel, deposit.block_height),
                channel.boost_status,
                channel=channel.deposit_channel,
                is_marked=channel.is_marked_for_rejection,
            )


def _deposit(
    seen: values.PendingPrewitnessedDeposit,
    origin: values.SwapOrigin[bytes],
    status: values.BoostStatus[int, int],
    *,
    channel: values.DepositChannel | None = None,
    transaction: Transaction | None = None,
    is_marked: bool = False,
) -> PendingDeposit:
    return PendingDeposit(
        asset=seen.asset,
        amount=seen.amount,
        details=seen.deposit_details,
        height=seen.block_height,
        action=seen.action,
        origin=origin,
        broker=seen.origin.broker_id,
        max_boost_fee=seen.boost_fee,
        boost_status=status,
        failed=None,  # a deposit that is not final cannot fail
        address=seen.deposit_address,
        channel=channel,
        channel_id=seen.channel_id,
        transaction=transaction,
        is_marked=is_marked,
    )
