"""Processing of a deposit that is final, on a channel or by way of the vault.

In this order: the channel must exist, the amount must be large enough, and a deposit that is marked for
rejection is rejected. Then the deposit is fetched into the vault (if it is not there already). If it was
boosted, those who paid for it get it; else the fee is withheld, and what remains is swapped, credited or
refunded (`actions`). A deposit in another asset of the same chain is swapped as the asset that it is. Each
deposit on a channel is a swap of its own.
"""

from __future__ import annotations

from cfnode.devchain.runtime import values

from .actions import perform_action, withhold_ingress_fee
from .boost import finalise_boosted
from .boost_delay import cancel_boost
from .deposits import PendingDeposit, deposit_on, is_boosted, report_failed, report_finalised
from .fetches import schedule_fetch
from .rejection import reject_if_marked
from .storage import IngressEgressStorage

__all__ = ["process", "process_deposit"]


def process_deposit(pallet: IngressEgressStorage, witness: values.DepositWitness, height: int) -> None:
    """Process a deposit on a channel that has reached the chain's safety margin at `height`."""
    channel = pallet.DepositChannelLookup.get(witness.deposit_address)
    if channel is None:
        reason = pallet.error(pallet.Error.InvalidDepositAddress).value
        return report_failed(
            pallet, values.DepositFailedOnChannel(witness), height, ("DepositWitnessRejected", reason)
        )
    return process(pallet, deposit_on(pallet, channel, witness, height))


def process(pallet: IngressEgressStorage, deposit: PendingDeposit) -> None:
    """Process a deposit that is final."""
    boosted = is_boosted(deposit.boost_status)
    if not boosted and deposit.amount < pallet.MinimumDeposit.get(deposit.asset):
        return report_failed(pallet, deposit.failed, deposit.height, "BelowMinimumDeposit")
    if not boosted and (reason := reject_if_marked(pallet, deposit)):
        return report_failed(pallet, deposit.failed, deposit.height, reason)
    schedule_fetch(pallet, deposit)
    if (credited := finalise_boosted(pallet, deposit)) is not None:
        return report_finalised(pallet, deposit, 0, credited)
    available, fee = withhold_ingress_fee(pallet, deposit, deposit.amount)
    if not available:
        return report_failed(pallet, deposit.failed, deposit.height, "NotEnoughToPayFees")
    cancel_boost(pallet, deposit)
    return report_finalised(pallet, deposit, fee, perform_action(pallet, deposit, available))
