"""FLIP that the vault owes to the gateway contract, and the rewards of an epoch.

The gateway contract backs what accounts have on the chain. What accounts are given out of the vault is added
up. When an epoch ends and rewards are paid, all of it is sent at once, if the transfer's fee is small against
it (pallet_cf_swapping: maybe_trigger_flip_to_gateway_egress).
"""

from __future__ import annotations

from cfnode.devchain.runtime.frame import DispatchError
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.flip import Flip
from cfnode.devchain.runtime.pallets.ingress_egress.egress import ScheduledEgress, schedule_egress
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage
from cfnode.devchain.runtime.pallets.validator_storage import ValidatorStorage

__all__ = ["keep_flip", "pay_rewards"]

MIN_MULTIPLE = 100
"""Least size of a transfer to the gateway, as a multiple of its fee."""


def keep_flip(swapping: SwappingStorage, amount: int) -> None:
    """Keep FLIP that was bought, or lost (below 0), for rewards if they are paid, else to burn."""
    flip = swapping.other(Flip)
    if flip.pays_rewards:
        flip.collect(amount)
    else:
        swapping.FlipToBurn.mutate(lambda held: held + amount)


def pay_rewards(swapping: SwappingStorage, epoch: int) -> None:
    """Pay the authorities of an epoch that ends, and send what the gateway is owed."""
    flip = swapping.other(Flip)
    if not flip.pays_rewards:
        return
    swapping.record_gateway_liability(
        flip.distribute(swapping.other(ValidatorStorage).HistoricalAuthorities.get(epoch))
    )
    flip.collect(-_send_to_gateway(swapping))


def _send_to_gateway(swapping: SwappingStorage) -> int:
    """Send all that the gateway is owed. Return the fee of the transfer, 0 if there is none."""
    host = swapping.runtime.host
    host.begin()
    try:
        egress = _scheduled(swapping)
    except DispatchError as error:
        host.rollback()
        swapping.deposit(swapping.Event.FlipTransferToGatewaySkipped, reason=error.value)
        return 0
    host.commit()
    swapping.FlipToBeSentToGateway.put(egress.fee)
    sent = swapping.Event.SentFlipToGateway
    swapping.deposit(sent, amount=egress.amount, egress_id=egress.egress_id)
    return egress.fee


def _scheduled(swapping: SwappingStorage) -> ScheduledEgress:
    gateway = swapping.other(EnvironmentStorage).EthereumStateChainGatewayAddress.get()
    owed = swapping.FlipToBeSentToGateway.take()
    egress = schedule_egress(swapping.other(INGRESS_EGRESS["Ethereum"]), "Flip", owed, gateway)
    if egress.amount < MIN_MULTIPLE * egress.fee:
        raise DispatchError("Other", "flip to gateway multiple below threshold")
    return egress
