"""How does a swap come into being?

A swap request is what somebody wants; it is carried out by one or more swaps, scheduled by block. Users'
swaps come from deposits, or from what a provider owns on the chain; the runtime itself swaps withheld fees
into the coin of their chain, and network fees into FLIP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cfnode.devchain.runtime.pallets.addresses import encoded
from cfnode.devchain.runtime.pallets.system import System

from .fees import network_fee, tracker_of
from .storage import SwappingStorage

__all__ = [
    "LAST_BLOCK",
    "SWAP_DELAY",
    "UserSwap",
    "ccm_deposit",
    "price_limits",
    "request_fee_swap",
    "request_network_fee_swap",
    "request_swap",
    "schedule_chunk",
]

SWAP_DELAY = 2
"""Blocks from the request to the first swap."""
LAST_BLOCK = 2**32 - 1
"""What is put off further than that is put off until then, which never comes."""


@dataclass(frozen=True, slots=True)
class UserSwap:
    """A swap that somebody has paid for.

    `output_action` is a value of `SwapOutputActionGeneric`, its address and message in their checked form,
    `limits` one of `PriceLimitsAndExpiry`; without limits a swap is tried until it runs.
    """

    input_asset: str
    input_amount: int
    output_asset: str
    output_action: tuple[str, Any]
    origin: Any
    limits: Any
    broker_fees: Sequence[Any] = ()
    dca: Any = None
    pays_network: bool = True


def ccm_deposit(metadata: Any, source_chain: str) -> Any:
    """A channel's message as one that has come with a deposit, or None."""
    if metadata is None:
        return None
    return {"channel_metadata": metadata, "source_chain": source_chain, "source_address": None}


def price_limits(terms: Mapping[str, Any], refund_to: tuple[str, Any], message: Any = None) -> dict[str, Any]:
    """`PriceLimitsAndExpiry` of terms with a least price and a time; `refund_to` is an `AccountOrAddress`."""
    expiry = {
        "retry_duration": terms["retry_duration"],
        "refund_address": refund_to,
        "refund_ccm_metadata": message,
    }
    return {
        "expiry_behaviour": ("RefundIfExpires", expiry),
        "min_price": terms["min_price"],
        "max_oracle_price_slippage": terms["max_oracle_price_slippage"],
    }


def request_swap(swapping: SwappingStorage, swap: UserSwap) -> int:
    """Begin a user's swap: its id. The first chunk runs two blocks later."""
    request_id = _next_id(swapping)
    amount = _confiscate_excess(swapping, request_id, swap)
    dca = _reduced(swapping, swap)
    _announce(swapping, request_id, swap, dca)
    state = {
        "price_limits_and_expiry": swap.limits,
        "output_action": swap.output_action,
        "dca_state": {
            "scheduled_chunks": [],
            "remaining_input_amount": amount,
            "remaining_chunks": dca["number_of_chunks"] if dca else 1,
            "chunk_interval": dca["chunk_interval"] if dca else SWAP_DELAY,
            "accumulated_output_amount": 0,
        },
        "fees": _fees(swapping, swap),
    }
    assets = {"input_asset": swap.input_asset, "output_asset": swap.output_asset}
    request = {"id": request_id, **assets, "state": ("UserSwap", state)}
    schedule_chunk(swapping, request, SWAP_DELAY)
    if dca and dca["chunk_interval"] == 1 and next_chunk(request):
        # A chunk takes two blocks, so a new one each block means that two are always on their way.
        schedule_chunk(swapping, request, SWAP_DELAY + 1)
    swapping.SwapRequests.put(request_id, request)
    return request_id


def schedule_chunk(swapping: SwappingStorage, request: dict[str, Any], delay: int) -> None:
    """Schedule the next chunk of a user's request, `delay` blocks from now; its state changes in place."""
    _, state = request["state"]
    dca, amount = state["dca_state"], next_chunk(request)
    dca["remaining_input_amount"] -= amount
    dca["remaining_chunks"] -= 1
    execute_at = min(swapping.other(System).Number.get() + delay, LAST_BLOCK)
    refund = _refund_of(state["price_limits_and_expiry"], execute_at)
    swap_id = _schedule(swapping, request, "Swap", amount, refund, execute_at)
    dca["scheduled_chunks"] = [*dca["scheduled_chunks"], swap_id]


def _refund_of(limits: Any, execute_at: int) -> dict[str, Any] | None:
    """The `SwapRefundParameters` of a chunk."""
    if limits is None:
        return None
    _, expiry = limits["expiry_behaviour"]
    prices = {name: limits[name] for name in ("min_price", "max_oracle_price_slippage")}
    last = min(execute_at + expiry["retry_duration"], LAST_BLOCK)
    return {"refund_block": last, "price_limits": prices}


def next_chunk(request: dict[str, Any]) -> int:
    """How much the next chunk of a user's request sells; 0 after the last."""
    dca = request["state"][1]["dca_state"]
    return int(dca["remaining_input_amount"] // dca["remaining_chunks"]) if dca["remaining_chunks"] else 0


def request_fee_swap(swapping: SwappingStorage, input_asset: str, amount: int, output_asset: str) -> None:
    """Have a fee for the foreign chain swapped into the chain's own coin."""
    _request_internal(swapping, "IngressEgressFee", input_asset, amount, output_asset)


def request_network_fee_swap(swapping: SwappingStorage, input_asset: str, amount: int) -> int:
    """Have a network fee swapped into FLIP, to be burned: the swap's id."""
    return _request_internal(swapping, "NetworkFee", input_asset, amount, "Flip")


def _request_internal(
    swapping: SwappingStorage, kind: str, input_asset: str, amount: int, output_asset: str
) -> int:
    request_id = _next_id(swapping)
    swapping.deposit(
        swapping.Event.SwapRequested,
        swap_request_id=request_id,
        input_asset=input_asset,
        input_amount=amount,
        output_asset=output_asset,
        origin="Internal",
        request_type=kind,
        broker_fees=[],
        price_limits_and_expiry=None,
        dca_parameters=None,
    )
    request = {"id": request_id, "input_asset": input_asset, "output_asset": output_asset, "state": kind}
    swapping.SwapRequests.put(request_id, request)
    _schedule(swapping, request, kind, amount, None, swapping.other(System).Number.get() + SWAP_DELAY)
    return request_id


def _next_id(swapping: SwappingStorage) -> int:
    request_id: int = swapping.SwapRequestIdCounter.mutate(lambda last: last + 1)
    return request_id


def _confiscate_excess(swapping: SwappingStorage, request_id: int, swap: UserSwap) -> int:
    """What may be swapped of the input; the rest is kept."""
    amount, most = swap.input_amount, swapping.MaximumSwapAmount.get(swap.input_asset)
    if most is None or amount <= most:
        return amount
    swapping.CollectedRejectedFunds.mutate(swap.input_asset, lambda kept: kept + amount - most)
    swapping.deposit(
        swapping.Event.SwapAmountConfiscated,
        swap_request_id=request_id,
        asset=swap.input_asset,
        total_amount=amount,
        confiscated_amount=amount - most,
    )
    return int(most)


def _reduced(swapping: SwappingStorage, swap: UserSwap) -> Any:
    """The DCA parameters with no more chunks than are worth it, by all that was paid."""
    if swap.dca is None:
        return None
    least = swapping.MinimumChunkSize.get(swap.input_asset)
    chunks = max(1, swap.dca["number_of_chunks"])
    if least:
        chunks = min(chunks, max(1, swap.input_amount // least))
    return swap.dca | {"number_of_chunks": chunks}


def _fees(swapping: SwappingStorage, swap: UserSwap) -> list[tuple[str, Any]]:
    fees: list[tuple[str, Any]] = []
    if swap.pays_network:
        internal = swap.output_action[0] == "CreditOnChain"
        due = network_fee(swapping, swap.input_asset, swap.output_asset, internal=internal)
        fees.append(("NetworkFee", tracker_of(due)))
    if swap.broker_fees:
        fees.append(("BrokerFee", list(swap.broker_fees)))
    return fees


def _announce(swapping: SwappingStorage, request_id: int, swap: UserSwap, dca: Any) -> None:
    kind, terms = swap.output_action
    if kind == "Egress":
        terms = terms | {"output_address": encoded(swapping, terms["output_address"])}
    paid_for = "Regular" if swap.pays_network else "RegularNoNetworkFee"
    swapping.deposit(
        swapping.Event.SwapRequested,
        swap_request_id=request_id,
        input_asset=swap.input_asset,
        input_amount=swap.input_amount,
        output_asset=swap.output_asset,
        origin=swap.origin,
        request_type=(paid_for, {"output_action": (kind, terms)}),
        broker_fees=list(swap.broker_fees),
        price_limits_and_expiry=swap.limits,
        dca_parameters=dca,
    )


def _schedule(
    swapping: SwappingStorage, request: Any, swap_type: str, amount: int, refund: Any, execute_at: int
) -> int:
    swap_id: int = swapping.SwapIdCounter.mutate(lambda last: last + 1)
    swap = {
        "swap_id": swap_id,
        "swap_request_id": request["id"],
        "from": request["input_asset"],
        "to": request["output_asset"],
        "input_amount": amount,
        "refund_params": refund,
        "execute_at": execute_at,
    }
    # Ids only grow, so the map stays in the order of its keys.
    swapping.ScheduledSwaps.mutate(lambda swaps: [*swaps, (swap_id, swap)])
    swapping.deposit(
        swapping.Event.SwapScheduled,
        swap_request_id=request["id"],
        swap_id=swap_id,
        input_amount=amount,
        swap_type=swap_type,
        execute_at=execute_at,
    )
    return swap_id
