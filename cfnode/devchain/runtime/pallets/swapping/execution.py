"""Execution of a block's due swaps as one batch through USDC.

First everything that is sold for USDC is swapped, one pool swap for each asset with the proceeds shared out,
then the fees are taken, then everything that USDC buys is swapped. A swap that cannot run (a pool without
liquidity, an output below its least price) is taken out, and the rest begins anew from the state before: no
swap moves a price for the others and then does not happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import DispatchError
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.pools import trading
from cfnode.devchain.runtime.pallets.pools.storage import PoolsStorage
from cfnode.devchain.runtime.pallets.pools.stored import STABLE
from cfnode.devchain.runtime.pallets.swap_requests.fees import charge
from cfnode.devchain.runtime.pallets.swap_requests.oracle import (
    Stale,
    Violated,
    delta_to_oracle,
    protected_delta,
    rounded,
)
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage

from .gateway import keep_flip
from .outcome import complete, fail, reschedule

__all__ = ["run_due_swaps"]

Requests = dict[int, values.SwapRequest]
"""The requests of a batch by their ids, as its swaps have left them."""
Failed = list[tuple[values.Swap, values.SwapFailureReason]]


@dataclass(slots=True)
class SwapState:
    """A swap on its way through the batch. Amounts of USDC in `stable`, fees in USDC too.

    `delta` is how much better its price is than the oracle's, in basis points.
    """

    swap: values.Swap
    stable: int = 0
    output: int = 0
    network_fee: int = 0
    broker_fee: int = 0
    delta: int | None = None
    delta_ex_fees: int | None = None


class _LegFailed(Exception):
    """A pool could not do one side of the batch."""

    def __init__(self, asset: str, leg: str, amount: int, largest: values.Swap) -> None:
        super().__init__(asset)
        self.asset, self.leg, self.amount, self.largest = asset, leg, amount, largest


class _PriceViolated(Exception):
    """Some swaps would give less than they accept."""

    def __init__(self, swaps: Failed) -> None:
        super().__init__()
        self.swaps = swaps


def run_due_swaps(swapping: SwappingStorage, now: int) -> None:
    """Run what is due at block `now`; retry, refund or go on, as each request says."""
    scheduled = swapping.ScheduledSwaps.get()
    due = [swap for _, swap in scheduled if swap.execute_at <= now]
    if not due:
        return
    swapping.ScheduledSwaps.put([entry for entry in scheduled if entry[1].execute_at > now])
    if not swapping.other(EnvironmentStorage).safe_mode("swapping", "swaps_enabled"):
        for swap in due:
            reschedule(swapping, swap, "SafeModeActive")
        return
    swapped, requests, failed = _run_batch(swapping, due)
    for state in swapped:
        _settle(swapping, requests, state)
    for swap, reason in failed:
        fail(swapping, swap, reason, now)


def _run_batch(swapping: SwappingStorage, due: list[values.Swap]) -> tuple[list[SwapState], Requests, Failed]:
    """Run as many swaps as can run together.

    Return them, their requests, and the swaps that cannot run, with reasons.
    """
    remaining, failed = due, Failed()
    while remaining:
        out: Failed
        swapping.runtime.host.begin()
        try:
            swapped, requests = _attempt(swapping, remaining)
        except _LegFailed as failure:
            swapping.runtime.host.rollback()
            asset, leg, amount = failure.asset, failure.leg, failure.amount
            swapping.deposit(swapping.Event.BatchSwapFailed, asset=asset, direction=leg, amount=amount)
            out = [(failure.largest, "PriceImpactLimit")]
        except _PriceViolated as violation:
            swapping.runtime.host.rollback()
            out = violation.swaps
        else:
            swapping.runtime.host.commit()
            return swapped, requests, failed
        failed += out
        out_ids = {swap.swap_id for swap, _ in out}
        remaining = [swap for swap in remaining if swap.swap_id not in out_ids]
    return [], {}, failed


def _attempt(swapping: SwappingStorage, swaps: Sequence[values.Swap]) -> tuple[list[SwapState], Requests]:
    numbers = {swap.swap_request_id for swap in swaps}
    requests = {number: swapping.SwapRequests.known(number) for number in numbers}
    batch = [SwapState(swap) for swap in swaps]
    for state in batch:
        if state.swap.from_ == STABLE:
            state.stable = state.swap.input_amount
    selling = [state for state in batch if state.swap.from_ != STABLE]
    for state, output in _leg(swapping, selling, "ToStable", lambda swap_state: swap_state.swap.input_amount):
        state.stable = output
    for state in batch:
        _take_fees(swapping, requests, state)
    buying = [state for state in batch if state.swap.to != STABLE]
    for state, output in _leg(swapping, buying, "FromStable", lambda swap_state: swap_state.stable):
        state.output = output
    judged = [(state.swap, _violation(swapping, state)) for state in batch]
    if violators := [(swap, reason) for swap, reason in judged if reason is not None]:
        raise _PriceViolated(violators)
    return batch, requests


def _take_fees(swapping: SwappingStorage, requests: Requests, state: SwapState) -> None:
    charged = charge(swapping, requests[state.swap.swap_request_id], state.stable)
    requests[charged.request.id] = charged.request
    state.network_fee, state.broker_fee = charged.network_fee, charged.broker_fee
    state.stable -= charged.network_fee + charged.broker_fee
    if state.swap.to == STABLE:
        state.output = state.stable


def _leg(
    swapping: SwappingStorage, batch: Iterable[SwapState], leg: str, amount_of: Callable[[SwapState], int]
) -> list[tuple[SwapState, int]]:
    """Run one side of the batch, one pool swap for each asset. Return each swap's share of the output."""
    groups: dict[str, list[SwapState]] = {}
    for state in batch:
        groups.setdefault(state.swap.from_ if leg == "ToStable" else state.swap.to, []).append(state)
    shares = []
    for asset in sorted(groups, key=lambda name: ASSETS[name].index):
        group = groups[asset]
        amount = sum(map(amount_of, group))
        assets = (asset, STABLE) if leg == "ToStable" else (STABLE, asset)
        try:
            output = trading.swap(swapping.other(PoolsStorage), *assets, amount)
        except DispatchError:
            # Of the largest swaps the last one is taken out.
            raise _LegFailed(asset, leg, amount, max(reversed(group), key=amount_of).swap) from None
        shares += [(state, amount_of(state) * output // max(1, amount)) for state in group]
    return shares


def _violates_price(state: SwapState) -> bool:
    refund = state.swap.refund_params
    if refund is None:
        return False
    return state.output < state.swap.input_amount * refund.price_limits.min_price >> 128


def _violation(swapping: SwappingStorage, state: SwapState) -> values.SwapFailureReason | None:
    """Return why a swap does not accept its price, or None; store its difference to the oracle."""
    if _violates_price(state):
        return "MinPriceViolation"
    gross = state.stable + state.network_fee + state.broker_fee
    swap = state.swap
    try:
        delta = protected_delta(swapping, swap, gross, state.stable, state.output)
    except Violated as violation:
        return violation.reason
    state.delta_ex_fees = rounded(delta)
    with suppress(Stale):
        difference = delta_to_oracle(swapping, swap.from_, swap.input_amount, swap.to, state.output)
        state.delta = rounded(difference)
    return None


def _settle(swapping: SwappingStorage, requests: Requests, state: SwapState) -> None:
    """Report what a swap gave, and send or keep the output."""
    swap, request = state.swap, requests[state.swap.swap_request_id]
    is_two_legged = STABLE not in (swap.from_, swap.to)
    swapping.deposit(
        swapping.Event.SwapExecuted,
        swap_request_id=request.id,
        swap_id=swap.swap_id,
        input_asset=swap.from_,
        output_asset=swap.to,
        input_amount=state.stable if swap.from_ == STABLE else swap.input_amount,
        network_fee=state.network_fee,
        broker_fee=state.broker_fee,
        intermediate_amount=state.stable if is_two_legged else None,
        output_amount=state.output,
        oracle_delta=state.delta,
        oracle_delta_ex_fees=state.delta_ex_fees,
    )
    if request.state == "IngressEgressFee":
        swapping.other(AssetBalances).accrue_fee(swap.to, state.output)
    elif request.state == "NetworkFee":
        keep_flip(swapping, state.output)
    else:
        requests[request.id] = complete(swapping, request, swap.swap_id, state.output)
        return
    swapping.SwapRequests.remove(request.id)
    swapping.deposit(swapping.Event.SwapRequestCompleted, swap_request_id=request.id, reason="Executed")
