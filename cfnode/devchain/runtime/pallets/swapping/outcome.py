"""Outcome of a swap: the next chunk, completion, retry or refund.

After a chunk that ran comes the next one, or the output is sent. A swap that did not run is tried again every
five blocks as long as its refund block allows; then everything that has not been swapped goes back, less the
fee of a refund, and what has been swapped goes on.
"""

from __future__ import annotations

from dataclasses import replace

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.pallets.swap_requests.requests import LAST_BLOCK, schedule_chunk, user_swap
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage

from .destinations import egress_output, refund

__all__ = ["complete", "fail", "reschedule"]

Reason = values.SwapFailureReason


def complete(
    swapping: SwappingStorage, request: values.SwapRequest, swap_id: int, output: int
) -> values.SwapRequest:
    """Go on with a user's request after a chunk has given `output`. Return the changed request."""
    state = user_swap(request)
    dca = state.dca_state
    next_dca = replace(
        dca,
        scheduled_chunks=[chunk_id for chunk_id in dca.scheduled_chunks if chunk_id != swap_id],
        accumulated_output_amount=dca.accumulated_output_amount + output,
    )
    request = replace(request, state=replace(state, dca_state=next_dca))
    if next_dca.remaining_chunks:
        request = schedule_chunk(swapping, request, len(dca.scheduled_chunks) * dca.chunk_interval)
    if user_swap(request).dca_state.scheduled_chunks:
        swapping.SwapRequests.put(request.id, request)
        return request
    egress_output(swapping, request)
    _close(swapping, request, "Executed")
    return request


def fail(swapping: SwappingStorage, swap: values.Swap, reason: Reason, now: int) -> None:
    """Retry a swap that did not run, or refund it."""
    terms = swap.refund_params
    if terms is not None and terms.refund_block < now + _delay(swapping):
        _refund(swapping, swap, reason)
    else:
        reschedule(swapping, swap, reason)


def reschedule(swapping: SwappingStorage, swap: values.Swap, reason: Reason) -> None:
    """Reschedule a swap that was due; the chunks behind it are postponed by as much."""
    behind = _scheduled_of(swapping, swap.swap_request_id)
    _postpone(swapping, swap, reason)
    for successor in behind:
        _unschedule(swapping, successor)
        _postpone(swapping, successor, "PredecessorSwapFailure")


def _postpone(swapping: SwappingStorage, swap: values.Swap, reason: Reason) -> None:
    rescheduled = replace(swap, execute_at=min(swap.execute_at + _delay(swapping), LAST_BLOCK))
    entry = (swap.swap_id, rescheduled)
    swapping.ScheduledSwaps.mutate(lambda swaps: sorted([*swaps, entry], key=lambda scheduled: scheduled[0]))
    swapping.deposit(
        swapping.Event.SwapRescheduled,
        swap_id=swap.swap_id,
        execute_at=rescheduled.execute_at,
        reason=reason,
    )


def _delay(swapping: SwappingStorage) -> int:
    return max(1, swapping.SwapRetryDelay.get())


def _refund(swapping: SwappingStorage, swap: values.Swap, reason: Reason) -> None:
    request = swapping.SwapRequests.known(swap.swap_request_id)
    amount = swap.input_amount
    swapping.deposit(swapping.Event.SwapAborted, swap_id=swap.swap_id, reason=reason)
    for queued in _scheduled_of(swapping, request.id):
        _unschedule(swapping, queued)
        amount += queued.input_amount
        swapping.deposit(swapping.Event.SwapAborted, swap_id=queued.swap_id, reason="PredecessorSwapFailure")
    dca = user_swap(request).dca_state
    refund(swapping, request, amount + dca.remaining_input_amount)
    if dca.accumulated_output_amount:
        egress_output(swapping, request)
    _close(swapping, request, "Expired")


def _close(
    swapping: SwappingStorage, request: values.SwapRequest, reason: values.SwapRequestCompletionReason
) -> None:
    swapping.SwapRequests.remove(request.id)
    swapping.deposit(swapping.Event.SwapRequestCompleted, swap_request_id=request.id, reason=reason)


def _scheduled_of(swapping: SwappingStorage, request_id: int) -> list[values.Swap]:
    return [swap for _, swap in swapping.ScheduledSwaps.get() if swap.swap_request_id == request_id]


def _unschedule(swapping: SwappingStorage, swap: values.Swap) -> None:
    swapping.ScheduledSwaps.mutate(lambda swaps: [entry for entry in swaps if entry[0] != swap.swap_id])
