"""How do the swaps of a block run?

All that are due run as one batch, through USDC: first everything that is sold for USDC, one pool swap for
each asset with the proceeds shared out, then the fees, then everything that USDC buys. Whatever cannot run (a
pool without liquidity, an output below somebody's least price) is taken out, and the rest begins anew from
the state before: nobody's swap moves a price for the others and then does not happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime.frame import DispatchError
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.environment import Environment
from cfnode.devchain.runtime.pallets.pools.pallet import STABLE, LiquidityPools

from .fees import charge
from .gateway import keep_flip
from .oracle import Stale, Violated, delta_to_oracle, protected_delta, rounded
from .outcome import complete, fail, reschedule
from .storage import SwappingStorage

__all__ = ["run_due_swaps"]

Swap = dict[str, Any]


@dataclass(slots=True)
class Carried:
    """A swap on its way through the batch. Amounts of USDC in `stable`, fees in USDC too.

    `delta` is how much better its price is than the oracle's, in basis points.
    """

    swap: Swap
    request: dict[str, Any]
    stable: int = 0
    output: int = 0
    network_fee: int = 0
    broker_fee: int = 0
    delta: int | None = None
    delta_ex_fees: int | None = None


class _LegFailed(Exception):
    """A pool could not do one side of the batch."""

    def __init__(self, asset: str, leg: str, amount: int, largest: Swap) -> None:
        super().__init__(asset)
        self.asset, self.leg, self.amount, self.largest = asset, leg, amount, largest


class _PriceViolated(Exception):
    """Some swaps would give less than they accept."""

    def __init__(self, swaps: list[tuple[Swap, str]]) -> None:
        super().__init__()
        self.swaps = swaps


def run_due_swaps(swapping: SwappingStorage, now: int) -> None:
    """Run what is due at block `now`; retry, refund or go on, as each request says."""
    scheduled = swapping.ScheduledSwaps.get()
    due = [swap for _, swap in scheduled if swap["execute_at"] <= now]
    if not due:
        return
    swapping.ScheduledSwaps.put([entry for entry in scheduled if entry[1]["execute_at"] > now])
    if not swapping.other(Environment).safe_mode("swapping", "swaps_enabled"):
        for swap in due:
            reschedule(swapping, swap, "SafeModeActive")
        return
    done, failed = _run_batch(swapping, due)
    for carried in done:
        _settle(swapping, carried)
    for swap, reason in failed:
        fail(swapping, swap, reason, now)


def _run_batch(swapping: SwappingStorage, due: list[Swap]) -> tuple[list[Carried], list[tuple[Swap, str]]]:
    """Run as many swaps as can run together; those that cannot, with reasons."""
    waiting, failed = due, list[tuple[Swap, str]]()
    while waiting:
        out: list[tuple[Swap, str]]
        swapping.runtime.host.begin()
        try:
            done = _attempt(swapping, waiting)
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
            return done, failed
        failed += out
        gone = {swap["swap_id"] for swap, _ in out}
        waiting = [swap for swap in waiting if swap["swap_id"] not in gone]
    return [], failed


def _attempt(swapping: SwappingStorage, swaps: Sequence[Swap]) -> list[Carried]:
    requests = {
        number: swapping.SwapRequests.known(number) for number in {s["swap_request_id"] for s in swaps}
    }
    batch = [Carried(swap, requests[swap["swap_request_id"]]) for swap in swaps]
    for carried in batch:
        if carried.swap["from"] == STABLE:
            carried.stable = carried.swap["input_amount"]
    selling = [carried for carried in batch if carried.swap["from"] != STABLE]
    for carried, output in _leg(swapping, selling, "ToStable", lambda each: each.swap["input_amount"]):
        carried.stable = output
    for carried in batch:
        fees = charge(swapping, carried.request, carried.stable)
        carried.network_fee, carried.broker_fee = fees
        carried.stable -= sum(fees)
        if carried.swap["to"] == STABLE:
            carried.output = carried.stable
    buying = [carried for carried in batch if carried.swap["to"] != STABLE]
    for carried, output in _leg(swapping, buying, "FromStable", lambda each: each.stable):
        carried.output = output
    judged = [(carried.swap, _violation(swapping, carried)) for carried in batch]
    if violators := [(swap, reason) for swap, reason in judged if reason is not None]:
        raise _PriceViolated(violators)
    return batch


def _leg(
    swapping: SwappingStorage, batch: Iterable[Carried], leg: str, amount_of: Callable[[Carried], int]
) -> list[tuple[Carried, int]]:
    """One side of the batch: one pool swap for each asset; each swap's share of the output."""
    side = "from" if leg == "ToStable" else "to"
    groups: dict[str, list[Carried]] = {}
    for carried in batch:
        groups.setdefault(carried.swap[side], []).append(carried)
    shares = []
    for asset in sorted(groups, key=lambda name: ASSETS[name].index):
        group = groups[asset]
        amount = sum(map(amount_of, group))
        ends = (asset, STABLE) if leg == "ToStable" else (STABLE, asset)
        try:
            output = swapping.other(LiquidityPools).swap(*ends, amount)
        except DispatchError:
            # Of equal ones the last goes.
            raise _LegFailed(asset, leg, amount, max(reversed(group), key=amount_of).swap) from None
        shares += [(carried, amount_of(carried) * output // max(1, amount)) for carried in group]
    return shares


def _violates_price(carried: Carried) -> bool:
    refund = carried.swap["refund_params"]
    if refund is None:
        return False
    least = carried.swap["input_amount"] * refund["price_limits"]["min_price"] >> 128
    return carried.output < int(least)


def _violation(swapping: SwappingStorage, carried: Carried) -> str | None:
    """Why a swap does not accept its price, if so; what the oracle says is noted."""
    if _violates_price(carried):
        return "MinPriceViolation"
    gross = carried.stable + carried.network_fee + carried.broker_fee
    swap = carried.swap
    try:
        delta = protected_delta(swapping, swap, gross, carried.stable, carried.output)
    except Violated as violation:
        return str(violation)
    carried.delta_ex_fees = rounded(delta)
    with suppress(Stale):
        amount = swap["input_amount"]
        carried.delta = rounded(delta_to_oracle(swapping, swap["from"], amount, swap["to"], carried.output))
    return None


def _settle(swapping: SwappingStorage, carried: Carried) -> None:
    """Say what a swap gave, and pass the output on."""
    swap, request = carried.swap, carried.request
    through = STABLE not in (swap["from"], swap["to"])
    swapping.deposit(
        swapping.Event.SwapExecuted,
        swap_request_id=request["id"],
        swap_id=swap["swap_id"],
        input_asset=swap["from"],
        output_asset=swap["to"],
        input_amount=carried.stable if swap["from"] == STABLE else swap["input_amount"],
        network_fee=carried.network_fee,
        broker_fee=carried.broker_fee,
        intermediate_amount=carried.stable if through else None,
        output_amount=carried.output,
        oracle_delta=carried.delta,
        oracle_delta_ex_fees=carried.delta_ex_fees,
    )
    if request["state"] == "IngressEgressFee":
        swapping.other(AssetBalances).withhold(swap["to"], carried.output)
    elif request["state"] == "NetworkFee":
        keep_flip(swapping, carried.output)
    else:
        return complete(swapping, request, swap["swap_id"], carried.output)
    swapping.SwapRequests.remove(request["id"])
    swapping.deposit(swapping.Event.SwapRequestCompleted, swap_request_id=request["id"], reason="Executed")
    return None
