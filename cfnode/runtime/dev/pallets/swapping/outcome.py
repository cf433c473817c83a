"""What comes after a swap has run, or has not?

After a chunk that ran comes the next one, or the output is sent. A swap that did not run is tried again every
five blocks as long as its refund block allows; then everything that has not been swapped goes back, less the
fee of a refund, and what has been swapped goes on.
"""

from __future__ import annotations

from typing import Any

from cfnode.core.assets import ASSETS
from cfnode.runtime.dev.frame import DispatchError
from cfnode.runtime.dev.pallets.ingress_egress.pallet import INGRESS_EGRESS, ScheduledEgress

from .conversion import input_for_output
from .requests import request_network_fee_swap, schedule_chunk
from .storage import SwappingStorage

__all__ = ["complete", "fail", "reschedule"]

Swap = dict[str, Any]
_STABLE = "Usdc"


def complete(swapping: SwappingStorage, request: dict[str, Any], swap_id: int, output: int) -> None:
    """Go on with a user's request after one of its chunks has given `output`."""
    _, state = request["state"]
    dca = state["dca_state"]
    on_their_way = len(dca["scheduled_chunks"])
    dca["scheduled_chunks"] = [each for each in dca["scheduled_chunks"] if each != swap_id]
    dca["accumulated_output_amount"] += output
    if dca["remaining_chunks"]:
        schedule_chunk(swapping, request, on_their_way * dca["chunk_interval"])
    if dca["scheduled_chunks"]:
        swapping.SwapRequests.put(request["id"], request)
        return
    _send_output(swapping, request)
    _close(swapping, request, "Executed")


def fail(swapping: SwappingStorage, swap: Swap, reason: str, now: int) -> None:
    """Try a swap that did not run once more, or give the money back."""
    refund = swap["refund_params"]
    if refund is not None and refund["refund_block"] < now + _delay(swapping):
        _refund(swapping, swap, reason)
    else:
        reschedule(swapping, swap, reason)


def reschedule(swapping: SwappingStorage, swap: Swap, reason: str) -> None:
    """Put a swap that was due back, for a later block; the chunks behind it are late by as much."""
    behind = _scheduled_of(swapping, swap["swap_request_id"])
    _postpone(swapping, swap, reason)
    for other in behind:
        _unschedule(swapping, other)
        _postpone(swapping, other, "PredecessorSwapFailure")


def _postpone(swapping: SwappingStorage, swap: Swap, reason: str) -> None:
    later = swap | {"execute_at": swap["execute_at"] + _delay(swapping)}
    entry = (swap["swap_id"], later)
    swapping.ScheduledSwaps.mutate(lambda swaps: sorted([*swaps, entry], key=lambda each: each[0]))
    swapping.deposit(
        swapping.Event.SwapRescheduled,
        swap_id=swap["swap_id"],
        execute_at=later["execute_at"],
        reason=reason,
    )


def _delay(swapping: SwappingStorage) -> int:
    return max(1, int(swapping.SwapRetryDelay.get()))


def _refund(swapping: SwappingStorage, swap: Swap, reason: str) -> None:
    request = swapping.SwapRequests.get(swap["swap_request_id"])
    amount = swap["input_amount"]
    swapping.deposit(swapping.Event.SwapAborted, swap_id=swap["swap_id"], reason=reason)
    for other in _scheduled_of(swapping, request["id"]):
        _unschedule(swapping, other)
        amount += other["input_amount"]
        swapping.deposit(
            swapping.Event.SwapAborted, swap_id=other["swap_id"], reason="PredecessorSwapFailure"
        )
    amount += request["state"][1]["dca_state"]["remaining_input_amount"]
    _send_refund(swapping, request, amount)
    if request["state"][1]["dca_state"]["accumulated_output_amount"]:
        _send_output(swapping, request)
    _close(swapping, request, "Expired")


def _send_refund(swapping: SwappingStorage, request: dict[str, Any], amount: int) -> None:
    """Send back what was not swapped, less the network fee's minimum."""
    asset = request["input_asset"]
    wanted = input_for_output(swapping, asset, _STABLE, swapping.NetworkFee.get()["minimum"], with_fee=False)
    fee = min(amount, wanted)
    if fee:
        request_network_fee_swap(swapping, asset, fee)
    left = amount - fee
    try:
        swapping.ensure(left, swapping.Error.NoRefundAmountRemaining)
        egress = _refund_egress(swapping, request, left)
    except DispatchError as error:
        _ignored(swapping, swapping.Event.RefundEgressIgnored, request["id"], asset, left, error)
        return
    swapping.deposit(
        swapping.Event.RefundEgressScheduled,
        **_sent(request["id"], egress, asset),
        refund_fee=fee,
    )


def _refund_egress(swapping: SwappingStorage, request: dict[str, Any], amount: int) -> ScheduledEgress:
    _, expiry = request["state"][1]["price_limits_and_expiry"]["expiry_behaviour"]
    address = expiry["refund_address"][1]
    pallet = swapping.other(INGRESS_EGRESS[ASSETS[request["input_asset"]].chain])
    return pallet.schedule_egress(request["input_asset"], amount, address[1], expiry["refund_ccm_metadata"])


def _send_output(swapping: SwappingStorage, request: dict[str, Any]) -> None:
    _, state = request["state"]
    _, action = state["output_action"]
    asset, amount = request["output_asset"], state["dca_state"]["accumulated_output_amount"]
    pallet = swapping.other(INGRESS_EGRESS[ASSETS[asset].chain])
    try:
        egress = pallet.schedule_egress(
            asset, amount, action["output_address"][1], action["ccm_deposit_metadata"]
        )
    except DispatchError as error:
        _ignored(swapping, swapping.Event.SwapEgressIgnored, request["id"], asset, amount, error)
        return
    swapping.deposit(swapping.Event.SwapEgressScheduled, **_sent(request["id"], egress, asset))


def _sent(request_id: int, egress: ScheduledEgress, asset: str) -> dict[str, Any]:
    return {
        "swap_request_id": request_id,
        "egress_id": egress.egress_id,
        "asset": asset,
        "amount": egress.amount,
        "egress_fee": (egress.fee, asset),
    }


def _ignored(
    swapping: SwappingStorage, what: Any, request_id: int, asset: str, amount: int, error: DispatchError
) -> None:
    """So little is left that sending it is not worth the fee: it stays."""
    swapping.deposit(what, swap_request_id=request_id, asset=asset, amount=amount, reason=error.value)


def _close(swapping: SwappingStorage, request: dict[str, Any], reason: str) -> None:
    swapping.SwapRequests.remove(request["id"])
    swapping.deposit(swapping.Event.SwapRequestCompleted, swap_request_id=request["id"], reason=reason)


def _scheduled_of(swapping: SwappingStorage, request_id: int) -> list[Swap]:
    return [swap for _, swap in swapping.ScheduledSwaps.get() if swap["swap_request_id"] == request_id]


def _unschedule(swapping: SwappingStorage, swap: Swap) -> None:
    swapping.ScheduledSwaps.mutate(lambda swaps: [each for each in swaps if each[0] != swap["swap_id"]])
