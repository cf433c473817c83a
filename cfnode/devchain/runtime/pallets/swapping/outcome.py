"""What comes after a swap has run, or has not?

After a chunk that ran comes the next one, or the output is sent. A swap that did not run is tried again every
five blocks as long as its refund block allows; then everything that has not been swapped goes back, less the
fee of a refund, and what has been swapped goes on.
"""

from __future__ import annotations

from typing import Any

from .destinations import give_back, pass_on
from .requests import LAST_BLOCK, schedule_chunk
from .storage import SwappingStorage

__all__ = ["complete", "fail", "reschedule"]

Swap = dict[str, Any]


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
    pass_on(swapping, request)
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
    later = swap | {"execute_at": min(swap["execute_at"] + _delay(swapping), LAST_BLOCK)}
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
    request = swapping.SwapRequests.known(swap["swap_request_id"])
    amount = swap["input_amount"]
    swapping.deposit(swapping.Event.SwapAborted, swap_id=swap["swap_id"], reason=reason)
    for other in _scheduled_of(swapping, request["id"]):
        _unschedule(swapping, other)
        amount += other["input_amount"]
        swapping.deposit(
            swapping.Event.SwapAborted, swap_id=other["swap_id"], reason="PredecessorSwapFailure"
        )
    amount += request["state"][1]["dca_state"]["remaining_input_amount"]
    give_back(swapping, request, amount)
    if request["state"][1]["dca_state"]["accumulated_output_amount"]:
        pass_on(swapping, request)
    _close(swapping, request, "Expired")


def _close(swapping: SwappingStorage, request: dict[str, Any], reason: str) -> None:
    swapping.SwapRequests.remove(request["id"])
    swapping.deposit(swapping.Event.SwapRequestCompleted, swap_request_id=request["id"], reason=reason)


def _scheduled_of(swapping: SwappingStorage, request_id: int) -> list[Swap]:
    return [swap for _, swap in swapping.ScheduledSwaps.get() if swap["swap_request_id"] == request_id]


def _unschedule(swapping: SwappingStorage, swap: Swap) -> None:
    swapping.ScheduledSwaps.mutate(lambda swaps: [each for each in swaps if each[0] != swap["swap_id"]])
