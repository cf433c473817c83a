"""What happens when a deposit has been seen on a channel?

In this order: is there such a channel, is the amount enough, has somebody asked to reject it; then it is
fetched into the vault, the fee is withheld, and what remains becomes a swap. A deposit in another asset of
the same chain is swapped as the asset that it is. Each deposit on a channel is a swap of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cfnode.core.addresses import EncodedAddress
from cfnode.core.assets import CHAINS
from cfnode.runtime.dev.frame import DispatchError
from cfnode.runtime.dev.pallets.environment import Environment
from cfnode.runtime.dev.pallets.swapping.requests import UserSwap, ccm_deposit, encoded, request_swap
from cfnode.runtime.dev.pallets.swapping.storage import SwappingStorage

from .fees import ingress_estimate, withhold

if TYPE_CHECKING:
    from .pallet import IngressEgress

__all__ = [
    "act",
    "channel_address",
    "deposit_failed",
    "finalised",
    "process_deposit",
    "schedule_fetch",
    "withhold_ingress_fee",
]


def process_deposit(pallet: IngressEgress, witness: dict[str, Any], height: int) -> None:
    """Take a `DepositWitness` that has reached the chain's safety margin at `height`."""
    channel = pallet.DepositChannelLookup.get(witness["deposit_address"])
    if channel is None:
        error = pallet.Error.InvalidDepositAddress
        reason = DispatchError.module(pallet.index, error.value, error.doc).value
        return deposit_failed(pallet, witness, height, ("DepositWitnessRejected", reason))
    if witness["amount"] < pallet.MinimumDeposit.get(witness["asset"]):
        return deposit_failed(pallet, witness, height, "BelowMinimumDeposit")
    if pallet.reject_or_boosted(channel, witness, height):
        return None
    schedule_fetch(pallet, channel["deposit_channel"], witness)
    available, fee = withhold_ingress_fee(pallet, witness["asset"], witness["amount"])
    if not available:
        return deposit_failed(pallet, witness, height, "NotEnoughToPayFees")
    finalised(
        pallet, channel, witness, height, fee, act(pallet, channel, witness["asset"], available, height)
    )
    return None


def withhold_ingress_fee(pallet: IngressEgress, asset: str, amount: int) -> tuple[int, int]:
    """What remains of a deposit, and the fee."""
    withheld = withhold(pallet, asset, amount, ingress_estimate(pallet, asset))
    return withheld.remaining, withheld.fee


def act(pallet: IngressEgress, channel: dict[str, Any], asset: str, amount: int, height: int) -> Any:
    """Do with an amount what the channel was opened for; the `DepositAction`."""
    _, action = channel["action"]
    deposited = channel["deposit_channel"]
    chain = pallet.chain.name
    refund = action["refund_params"]
    swap = UserSwap(
        input_asset=asset,
        input_amount=amount,
        output_asset=action["destination_asset"],
        output_address=action["destination_address"],
        message=ccm_deposit(action["channel_metadata"], chain),
        origin=(
            "DepositChannel",
            {
                "deposit_address": channel_address(pallet, deposited["address"]),
                "channel_id": deposited["channel_id"],
                "deposit_block_height": height,
                "broker_id": channel["owner"],
            },
        ),
        broker_fees=action["broker_fees"],
        refund=refund,
        refund_message=ccm_deposit(refund["refund_ccm_metadata"], chain),
        dca=action["dca_params"],
    )
    return "Swap", {"swap_request_id": request_swap(pallet.other(SwappingStorage), swap)}


def channel_address(pallet: IngressEgress, account: Any) -> EncodedAddress:
    """An account of the pallet's chain as extrinsics and events have it."""
    return encoded(pallet, (CHAINS[pallet.chain.name].address, account))


def finalised(
    pallet: IngressEgress,
    channel: dict[str, Any],
    witness: dict[str, Any],
    height: int,
    fee: int,
    action: Any,
) -> None:
    """Say what has become of a deposit."""
    pallet.deposit(
        pallet.Event.DepositFinalised,
        **witness,
        block_height=height,
        ingress_fee=fee,
        max_boost_fee_bps=channel["boost_fee"],
        action=action,
        channel_id=channel["deposit_channel"]["channel_id"],
        origin_type="DepositChannel",
    )


def deposit_failed(pallet: IngressEgress, witness: dict[str, Any], height: int, reason: Any) -> None:
    """Say why a deposit leads to nothing."""
    details = (f"DepositFailedDepositChannelVariant{pallet.chain.name}", {"deposit_witness": witness})
    pallet.deposit(pallet.Event.DepositFailed, block_height=height, reason=reason, details=details)


def schedule_fetch(pallet: IngressEgress, channel: dict[str, Any], witness: dict[str, Any]) -> None:
    """Have the deposit brought into the vault; Bitcoin spends it from where it lies."""
    own = channel["asset"]
    if pallet.chain.is_evm and witness["asset"] != own and channel["state"] == "Undeployed":
        # The contract's constructor fetches its own asset, and it must be there to fetch another.
        _schedule_fetch(pallet, own, channel["address"], 0)
    _schedule_fetch(pallet, witness["asset"], channel["address"], witness["amount"])
    pallet.deposit(
        pallet.Event.DepositFetchesScheduled, channel_id=channel["channel_id"], asset=witness["asset"]
    )
    if pallet.chain.name == "Bitcoin":
        utxos = pallet.other(Environment).BitcoinAvailableUtxos
        utxos.mutate(lambda known: [*known, witness["deposit_details"]])


def _schedule_fetch(pallet: IngressEgress, asset: str, address: Any, amount: int) -> None:
    fetch = {"asset": asset, "deposit_address": address, "deposit_fetch_id": None, "amount": amount}
    pallet.ScheduledEgressFetchOrTransfer.mutate(lambda queue: [*queue, ("Fetch", fetch)])
