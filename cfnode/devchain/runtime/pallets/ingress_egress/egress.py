"""Queueing of transfers out of a chain's vault."""

from __future__ import annotations

from dataclasses import dataclass

from cfnode.devchain.runtime import values

from .batching import BatchPayment, with_message
from .deposits import Account
from .fees import egress_estimate, withhold
from .storage import IngressEgressStorage

__all__ = ["ScheduledEgress", "schedule_egress"]


@dataclass(frozen=True, slots=True)
class ScheduledEgress:
    """Result of scheduling a transfer: its id, the arriving amount, and the fee in the egress asset."""

    egress_id: tuple[str, int]
    amount: int
    fee: int


def schedule_egress(
    pallet: IngressEgressStorage,
    asset: str,
    amount: int,
    destination: Account,
    ccm: values.CheckedCcmDeposit | None = None,
) -> ScheduledEgress:
    """Queue a transfer of `amount` less the fee.

    Fails with BelowEgressDustLimit if too little would arrive, ChainDeprecated on a chain that the release
    has left.
    """
    pallet.ensure(pallet.chain.name not in pallet.runtime.release.left, pallet.Error.ChainDeprecated)
    number = pallet.EgressIdCounter.mutate(lambda last: last + 1)
    estimate = egress_estimate(pallet, asset, None if ccm is None else ccm.channel_metadata)
    after_fee = withhold(pallet, asset, amount, estimate)
    if after_fee.remaining < pallet.EgressDustLimit.get(asset):
        # As on the main net the id is given back, and a fee swap already begun is not.
        pallet.EgressIdCounter.put(number - 1)
        pallet.fail(pallet.Error.BelowEgressDustLimit)
    egress_id = (pallet.chain.name, number)
    if ccm is None:
        transfer = values.FetchOrTransferTransfer(
            egress_id=egress_id, asset=asset, destination_address=destination, amount=after_fee.remaining
        )
        pallet.ScheduledEgressFetchOrTransfer.mutate(lambda queue: [*queue, transfer])
    else:
        message = with_message(egress_id, BatchPayment(asset, after_fee.remaining, destination), ccm)
        pallet.ScheduledEgressCcm.mutate(lambda queue: [*queue, message])
    return ScheduledEgress(egress_id, after_fee.remaining, after_fee.fee)
