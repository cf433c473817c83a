"""How does a swap come into being?

A swap request is what somebody wants; it is carried out by one or more swaps, scheduled by block. So far only
the swaps that turn a withheld fee into the coin of its chain come from within the runtime.
"""

from __future__ import annotations

from typing import Any

from cfnode.runtime.dev.pallets.system import System

from .storage import SwappingStorage

__all__ = ["SWAP_DELAY", "request_fee_swap"]

SWAP_DELAY = 2
"""Blocks from the request to the first swap."""


def request_fee_swap(swapping: SwappingStorage, input_asset: str, amount: int, output_asset: str) -> None:
    """Have a fee for the foreign chain swapped into the chain's own coin."""
    request_id = swapping.SwapRequestIdCounter.mutate(lambda last: last + 1)
    swapping.deposit(
        swapping.Event.SwapRequested,
        swap_request_id=request_id,
        input_asset=input_asset,
        input_amount=amount,
        output_asset=output_asset,
        origin="Internal",
        request_type="IngressEgressFee",
        broker_fees=[],
        price_limits_and_expiry=None,
        dca_parameters=None,
    )
    assets = {"input_asset": input_asset, "output_asset": output_asset}
    swapping.SwapRequests.put(request_id, {"id": request_id, **assets, "state": "IngressEgressFee"})
    swap = {"from": input_asset, "to": output_asset, "input_amount": amount, "refund_params": None}
    _schedule(swapping, request_id, "IngressEgressFee", swap)


def _schedule(swapping: SwappingStorage, request_id: int, swap_type: str, swap: dict[str, Any]) -> None:
    swap_id = swapping.SwapIdCounter.mutate(lambda last: last + 1)
    execute_at = swapping.other(System).Number.get() + SWAP_DELAY
    identity = {"swap_id": swap_id, "swap_request_id": request_id, "execute_at": execute_at}
    # Ids only grow, so the map stays in the order of its keys.
    swapping.ScheduledSwaps.mutate(lambda swaps: [*swaps, (swap_id, swap | identity)])
    swapping.deposit(
        swapping.Event.SwapScheduled,
        swap_request_id=request_id,
        swap_id=swap_id,
        input_amount=swap["input_amount"],
        swap_type=swap_type,
        execute_at=execute_at,
    )
