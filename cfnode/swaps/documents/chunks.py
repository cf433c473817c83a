"""Member of a status about the progress of a swap request, chunk by chunk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cfnode.swaps.events import Name
from cfnode.swaps.history import SwapHistory
from cfnode.swaps.record import Entry

__all__ = ["swap_progress"]


def swap_progress(swap: SwapHistory, request: Entry) -> dict[str, Any]:
    """Return the `swap` member of a status: the sums of a request's chunks, and single chunks."""
    scheduled = [entry for entry in swap.events if entry.name == Name.CHUNK_SCHEDULED]
    chunks = [_chunk(entry, swap.chunks[entry.fields["swap_id"]]) for entry in scheduled]
    executed = [chunk for chunk in chunks if "executedAt" in chunk]
    total = request.fields["input_amount"]
    swapped = sum(int(chunk["inputAmount"]) for chunk in executed)
    progress: dict[str, Any] = {
        "originalInputAmount": str(total),
        "remainingInputAmount": str(total - swapped),
        "swappedInputAmount": str(swapped),
        "swappedIntermediateAmount": str(sum(int(chunk.get("intermediateAmount", 0)) for chunk in executed)),
        "swappedOutputAmount": str(sum(int(chunk["outputAmount"]) for chunk in executed)),
    }
    dca = request.fields["dca_parameters"]
    if dca is None or dca["number_of_chunks"] <= 1:
        return progress | ({"regular": chunks[-1]} if chunks else {})
    waiting_chunks = [chunk for chunk in chunks if "executedAt" not in chunk and "abortedAt" not in chunk]
    progress["dca"] = {
        "lastExecutedChunk": executed[-1] if executed else None,
        "currentChunk": waiting_chunks[0] if waiting_chunks else None,
        "executedChunks": len(executed),
        "remainingChunks": dca["number_of_chunks"] - len(executed),
    }
    return progress


def _chunk(scheduled: Entry, entries: Sequence[Entry]) -> dict[str, Any]:
    chunk: dict[str, Any] = {
        "inputAmount": str(scheduled.fields["input_amount"]),
        "scheduledAt": scheduled.time,
        "scheduledBlockIndex": scheduled.block_index,
        "retryCount": sum(entry.name == Name.CHUNK_RESCHEDULED for entry in entries),
    }
    for entry in entries:
        if entry.name == Name.CHUNK_EXECUTED:
            chunk |= _executed(entry)
        elif entry.name == Name.CHUNK_RESCHEDULED:
            chunk |= _ended("latestSwapRescheduled", entry)
        elif entry.name == Name.CHUNK_ABORTED:
            chunk |= _ended("aborted", entry)
    return chunk


def _executed(entry: Entry) -> dict[str, Any]:
    chunk: dict[str, Any] = {"executedAt": entry.time, "executedBlockIndex": entry.block_index}
    chunk["outputAmount"] = str(entry.fields["output_amount"])
    if entry.fields["intermediate_amount"] is not None:
        chunk["intermediateAmount"] = str(entry.fields["intermediate_amount"])
    return chunk


def _ended(name: str, entry: Entry) -> dict[str, Any]:
    return {
        f"{name}At": entry.time,
        f"{name}BlockIndex": entry.block_index,
        f"{name}Reason": entry.fields["reason"],
    }
