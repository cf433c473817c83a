"""When is a deposit boosted that has been seen?

At once, or some blocks later if governance wants to have time. Until then the deposit itself waits, as it
was seen, and its channel (or the vault's name for it) says so: nobody else is boosted there. If it is final
before its block has come, there is nothing left to boost.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cfnode.devchain.runtime.pallets.swapping.requests import LAST_BLOCK
from cfnode.devchain.runtime.pallets.system import System

from .boost import prewitness, remember_boost
from .deposits import CHANNEL, VAULT, Deposit, channel_origin, vault_origin

if TYPE_CHECKING:
    from .pallet import IngressEgress

__all__ = ["admit_prewitnessed", "cancel_boost", "process_prewitnessed"]

PENDING, NOT_BOOSTED = "BoostPending", "NotBoosted"


def admit_prewitnessed(pallet: IngressEgress, deposit: Deposit) -> None:
    """A deposit has been seen that is not yet final."""
    delay = pallet.BoostDelayBlocks.get()
    if not delay:
        return prewitness(pallet, deposit)
    if deposit.boost_status != NOT_BOOSTED:
        return None
    due = min(int(pallet.other(System).Number.get()) + delay, LAST_BLOCK)
    entry = {"boost_status_lookup": _place(deposit), "deposit": _waiting(deposit)}
    pallet.PendingPrewitnessedDeposits.mutate(due, lambda before: [*before, entry])
    waits = {"amount": deposit.amount, "process_at_block": due}
    return remember_boost(pallet, deposit, (PENDING, waits))


def process_prewitnessed(pallet: IngressEgress, number: int) -> None:
    """Boost what has waited for this block."""
    for entry in pallet.PendingPrewitnessedDeposits.take(number):
        deposit = _as_seen(pallet, entry)
        if deposit is not None and deposit.boost_status[0] == PENDING:
            remember_boost(pallet, deposit, NOT_BOOSTED)
            prewitness(pallet, replace(deposit, boost_status=NOT_BOOSTED))


def cancel_boost(pallet: IngressEgress, deposit: Deposit) -> None:
    """A deposit is final: if it was to be boosted, that is over."""
    status = deposit.boost_status
    if status[0] != PENDING or status[1]["amount"] != deposit.amount:
        return
    place, queue = _place(deposit), pallet.PendingPrewitnessedDeposits
    due = status[1]["process_at_block"]
    left = [each for each in queue.take(due) if each["boost_status_lookup"] != place]
    if left:
        queue.put(due, left)
    remember_boost(pallet, deposit, NOT_BOOSTED)


def _place(deposit: Deposit) -> Any:
    """Where a deposit's `BoostStatus` is written down: a `BoostStatusLookup`."""
    if deposit.channel is None:
        return "Vault", {"tx_id": deposit.transaction}
    return "Channel", {"deposit_address": deposit.address}


def _waiting(deposit: Deposit) -> dict[str, Any]:
    """A `PendingPrewitnessedDeposit`."""
    origin: tuple[str, dict[str, Any]]
    if deposit.channel is None:
        origin = VAULT, {"tx_id": deposit.transaction, "broker_id": deposit.broker}
    else:
        origin = (
            CHANNEL,
            {
                "deposit_address": deposit.address,
                "channel_id": deposit.channel_id,
                "deposit_block_height": deposit.height,
                "broker_id": deposit.broker,
            },
        )
    return {
        "block_height": deposit.height,
        "amount": deposit.amount,
        "asset": deposit.asset,
        "deposit_details": deposit.details,
        "deposit_address": deposit.address,
        "action": deposit.action,
        "boost_fee": deposit.max_boost_fee,
        "channel_id": deposit.channel_id,
        "origin": origin,
    }


def _as_seen(pallet: IngressEgress, entry: dict[str, Any]) -> Deposit | None:
    """The deposit of a `PendingPrewitnessedDepositEntry`; None if its channel is gone."""
    (kind, where), seen = entry["boost_status_lookup"], entry["deposit"]
    (place,) = where.values()
    broker = seen["origin"][1]["broker_id"]
    if kind == "Vault":
        channel, status = None, pallet.BoostedVaultTransactions.get(place)
        origin = vault_origin(pallet, place, broker)
    else:
        channel = pallet.DepositChannelLookup.get(place)
        if channel is None:
            return None
        status, origin = channel["boost_status"], channel_origin(pallet, channel, seen["block_height"])
    return Deposit(
        seen["asset"],
        seen["amount"],
        seen["deposit_details"],
        seen["block_height"],
        seen["action"],
        origin,
        broker,
        seen["boost_fee"],
        status,
        None,  # a deposit that is not final cannot fail
        seen["deposit_address"],
        channel and channel["deposit_channel"],
        seen["channel_id"],
        place if kind == "Vault" else None,
        is_marked=bool(channel and channel["is_marked_for_rejection"]),
    )
