"""Fallback calls for transfers and messages that failed on an EVM chain.

When a receiver rejects a transfer, its batch has succeeded and the money is still in the vault. So a call is
signed that pays it and that any account may send, with as much gas as it needs; the authorities do not send
it for the user. It is offered in the epoch in which the transfer failed, signed anew by the key of the
next epoch, and given up when the one after that begins. A message whose transaction no authority could send
is offered in the same way.
"""

from __future__ import annotations

from dataclasses import replace

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import DispatchError
from cfnode.devchain.runtime.pallets.broadcast.pallet import BROADCASTERS
from cfnode.devchain.runtime.pallets.validator_storage import ValidatorStorage

from .batching import evm_broadcaster, transfer_params
from .storage import IngressEgressStorage

__all__ = [
    "broadcast_aborted",
    "broadcast_succeeded",
    "failed_call",
    "review_failed_calls",
    "transfer_failed",
]


def transfer_failed(pallet: IngressEgressStorage, asset: str, amount: int, destination: bytes) -> None:
    """Have the fallback signed of a transfer that has failed on an EVM chain."""
    broadcaster = evm_broadcaster(pallet)
    arguments = values.TransferFallback(transfer_params(pallet, asset, destination, amount))
    broadcast_id = broadcaster.only_sign(broadcaster.bound_call(values.EvmApiTransferFallback, arguments))
    _remember(pallet, broadcast_id)
    pallet.deposit(
        pallet.Event.TransferFallbackRequested,
        asset=asset,
        amount=amount,
        destination_address=destination,
        broadcast_id=broadcast_id,
        egress_details=None,
    )


def broadcast_succeeded(pallet: IngressEgressStorage, broadcast_id: int) -> None:
    """Complete a broadcast that is on its chain, and note the contracts that it has deployed."""
    action = pallet.BroadcastActions.take(broadcast_id)
    if isinstance(action, values.BroadcastActionFinaliseFetch):
        deployed = values.DeploymentStatusDeployed(pallet.tracking.height())
        for address in action.value:
            channel = pallet.DepositChannelLookup.get(address)
            if channel is not None:
                deposit_channel = replace(channel.deposit_channel, state=deployed)
                pallet.DepositChannelLookup.put(address, replace(channel, deposit_channel=deposit_channel))
    pallet.other(BROADCASTERS[pallet.chain.name]).succeed(broadcast_id)


def broadcast_aborted(pallet: IngressEgressStorage, broadcast_id: int) -> None:
    """Offer an aborted broadcast to its user, if it carries a message."""
    if pallet.BroadcastActions.get(broadcast_id) == "CcmBroadcast":
        _remember(pallet, broadcast_id)
        pallet.deposit(pallet.Event.CcmBroadcastFailed, broadcast_id=broadcast_id)


def review_failed_calls(pallet: IngressEgressStorage) -> None:
    """Take one of the last epoch's failed calls: sign it anew, or give it up."""
    epoch = pallet.other(ValidatorStorage).CurrentEpoch.get()
    calls = pallet.FailedForeignChainCalls.get(epoch - 1)
    if not calls:
        return
    failed_call, remaining = calls[-1], calls[:-1]
    if remaining:
        pallet.FailedForeignChainCalls.put(epoch - 1, remaining)
    else:
        pallet.FailedForeignChainCalls.remove(epoch - 1)
    broadcast_id, broadcaster = failed_call.broadcast_id, evm_broadcaster(pallet)
    if epoch - failed_call.original_epoch > 1:
        broadcaster.forget(broadcast_id)
        pallet.BroadcastActions.remove(broadcast_id)
        pallet.deposit(pallet.Event.FailedForeignChainCallExpired, broadcast_id=broadcast_id)
        return
    try:
        request_id = broadcaster.re_sign(broadcast_id, request_broadcast=False, new_nonce=False)
    except DispatchError:
        return  # not signed yet, or on its way after all: the main net forgets it here too
    pallet.FailedForeignChainCalls.mutate(epoch, lambda known: [*known, failed_call])
    pallet.deposit(
        pallet.Event.FailedForeignChainCallResigned,
        broadcast_id=broadcast_id,
        threshold_signature_id=request_id,
    )


def failed_call(
    pallet: IngressEgressStorage, broadcast_id: int
) -> values.EvmTransaction | values.TronTransaction | None:
    """Return the transaction of a failed call, if it is offered in this epoch and has been signed."""
    offered = pallet.FailedForeignChainCalls.get(pallet.other(ValidatorStorage).CurrentEpoch.get())
    broadcaster = evm_broadcaster(pallet)
    api_call = broadcaster.PendingApiCalls.get(broadcast_id)
    if api_call is None or all(offer.broadcast_id != broadcast_id for offer in offered):
        return None
    return broadcaster.transaction(api_call)


def _remember(pallet: IngressEgressStorage, broadcast_id: int) -> None:
    epoch = pallet.other(ValidatorStorage).CurrentEpoch.get()
    failed_call = values.FailedForeignChainCall(broadcast_id=broadcast_id, original_epoch=epoch)
    pallet.FailedForeignChainCalls.mutate(epoch, lambda known: [*known, failed_call])
