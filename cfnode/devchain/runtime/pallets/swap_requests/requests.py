"""Swap requests of users and of the runtime, and the scheduling of their chunks.

A swap request is carried out by one or more swaps, scheduled by block. Users' swaps come from deposits, or
from what a provider owns on the chain; the runtime itself swaps withheld fees into the coin of their chain,
and network fees into FLIP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from cfnode.core.addresses import EncodedAddress, ForeignAddress
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.pallets.addresses import encoded
from cfnode.devchain.runtime.pallets.system import System

from .fees import network_fee, tracker_of
from .storage import SwappingStorage

__all__ = [
    "LAST_BLOCK",
    "SWAP_DELAY",
    "UserSwap",
    "ccm_deposit",
    "limits_of",
    "next_chunk",
    "request_fee_swap",
    "request_network_fee_swap",
    "request_swap",
    "schedule_chunk",
    "user_swap",
]

SWAP_DELAY = 2
"""Blocks from the request to the first swap."""
LAST_BLOCK = 2**32 - 1
"""Last block that can be scheduled: what is due later waits for it, which never comes."""
Output = values.SwapOutputAction[ForeignAddress, bytes]
Internal = Literal["NetworkFee", "IngressEgressFee"]
"""Kinds of swaps that the runtime makes for itself."""


@dataclass(frozen=True, slots=True)
class UserSwap:
    """A swap that a user or a provider has paid for; without limits it is tried until it runs."""

    input_asset: str
    input_amount: int
    output_asset: str
    output_action: Output
    origin: values.SwapOrigin[bytes]
    limits: values.PriceLimitsAndExpiry | None
    broker_fees: Sequence[values.Beneficiary[bytes]] = ()
    dca: values.DcaParameters | None = None
    pays_network: bool = True


def ccm_deposit(metadata: values.CheckedCcm | None, source_chain: str) -> values.CheckedCcmDeposit | None:
    """Return a channel's message as one that has come with a deposit, or None."""
    if metadata is None:
        return None
    return values.CcmDepositMetadata(
        channel_metadata=metadata, source_chain=source_chain, source_address=None
    )


def limits_of(
    terms: values.PriceLimits | values.ChannelRefundParameters[object, object],
    retry_duration: int,
    refund_to: values.AccountOrAddress[bytes, ForeignAddress],
    message: values.CheckedCcmDeposit | None = None,
) -> values.PriceLimitsAndExpiry:
    """Return the price limits of `terms`, with a refund after `retry_duration` blocks."""
    expiry = values.ExpiryBehaviourRefundIfExpires(
        retry_duration=retry_duration, refund_address=refund_to, refund_ccm_metadata=message
    )
    return values.PriceLimitsAndExpiry(
        expiry_behaviour=expiry,
        min_price=terms.min_price,
        max_oracle_price_slippage=terms.max_oracle_price_slippage,
    )


def request_swap(swapping: SwappingStorage, swap: UserSwap) -> int:
    """Begin a user's swap, and return the request's id. The first chunk runs two blocks later."""
    request_id = _next_id(swapping)
    amount = _confiscate_excess(swapping, request_id, swap)
    dca = _reduced(swapping, swap)
    _report_request(swapping, request_id, swap, dca)
    request = values.SwapRequest(
        id=request_id,
        input_asset=swap.input_asset,
        output_asset=swap.output_asset,
        state=values.SwapRequestStateUserSwap(
            price_limits_and_expiry=swap.limits,
            output_action=swap.output_action,
            dca_state=_not_begun(amount, dca),
            fees=_fees(swapping, swap),
        ),
    )
    request = schedule_chunk(swapping, request, SWAP_DELAY)
    if dca and dca.chunk_interval == 1 and next_chunk(user_swap(request).dca_state):
        # A chunk takes two blocks, so a new one each block means that two are always on their way.
        request = schedule_chunk(swapping, request, SWAP_DELAY + 1)
    swapping.SwapRequests.put(request_id, request)
    return request_id


def _not_begun(amount: int, dca: values.DcaParameters | None) -> values.DcaState:
    return values.DcaState(
        scheduled_chunks=[],
        remaining_input_amount=amount,
        remaining_chunks=dca.number_of_chunks if dca else 1,
        chunk_interval=dca.chunk_interval if dca else SWAP_DELAY,
        accumulated_output_amount=0,
    )


def user_swap(request: values.SwapRequest) -> values.SwapRequestStateUserSwap:
    """Return the state of a user's request."""
    assert isinstance(request.state, values.SwapRequestStateUserSwap)
    return request.state


def schedule_chunk(swapping: SwappingStorage, request: values.SwapRequest, delay: int) -> values.SwapRequest:
    """Schedule the next chunk of a user's request, `delay` blocks from now. Return the changed request."""
    state = user_swap(request)
    dca, amount = state.dca_state, next_chunk(state.dca_state)
    execute_at = min(swapping.other(System).Number.get() + delay, LAST_BLOCK)
    refund = _refund_of(state.price_limits_and_expiry, execute_at)
    swap_id = _schedule(swapping, request, "Swap", amount, refund, execute_at)
    dca = replace(
        dca,
        remaining_input_amount=dca.remaining_input_amount - amount,
        remaining_chunks=dca.remaining_chunks - 1,
        scheduled_chunks=[*dca.scheduled_chunks, swap_id],
    )
    return replace(request, state=replace(state, dca_state=dca))


def _refund_of(
    limits: values.PriceLimitsAndExpiry | None, execute_at: int
) -> values.SwapRefundParameters | None:
    if limits is None or limits.expiry_behaviour == "NoExpiry":
        return None
    prices = values.PriceLimits(
        min_price=limits.min_price, max_oracle_price_slippage=limits.max_oracle_price_slippage
    )
    last_block = min(execute_at + limits.expiry_behaviour.retry_duration, LAST_BLOCK)
    return values.SwapRefundParameters(refund_block=last_block, price_limits=prices)


def next_chunk(dca: values.DcaState) -> int:
    """Return how much the next chunk of a user's request sells; 0 after the last."""
    return dca.remaining_input_amount // dca.remaining_chunks if dca.remaining_chunks else 0


def request_fee_swap(swapping: SwappingStorage, input_asset: str, amount: int, output_asset: str) -> None:
    """Have a fee for the foreign chain swapped into the chain's own coin."""
    _request_internal(swapping, "IngressEgressFee", input_asset, amount, output_asset)


def request_network_fee_swap(swapping: SwappingStorage, input_asset: str, amount: int) -> int:
    """Have a network fee swapped into FLIP, to be burned or paid as reward. Return the request's id."""
    return _request_internal(swapping, "NetworkFee", input_asset, amount, "Flip")


def _request_internal(
    swapping: SwappingStorage, kind: Internal, input_asset: str, amount: int, output_asset: str
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
    request = values.SwapRequest(
        id=request_id, input_asset=input_asset, output_asset=output_asset, state=kind
    )
    swapping.SwapRequests.put(request_id, request)
    _schedule(swapping, request, kind, amount, None, swapping.other(System).Number.get() + SWAP_DELAY)
    return request_id


def _next_id(swapping: SwappingStorage) -> int:
    return swapping.SwapRequestIdCounter.mutate(lambda last: last + 1)


def _confiscate_excess(swapping: SwappingStorage, request_id: int, swap: UserSwap) -> int:
    """Return the part of the input that may be swapped; confiscate the rest."""
    amount, limit = swap.input_amount, swapping.MaximumSwapAmount.get(swap.input_asset)
    if limit is None or amount <= limit:
        return amount
    swapping.CollectedRejectedFunds.mutate(swap.input_asset, lambda kept: kept + amount - limit)
    swapping.deposit(
        swapping.Event.SwapAmountConfiscated,
        swap_request_id=request_id,
        asset=swap.input_asset,
        total_amount=amount,
        confiscated_amount=amount - limit,
    )
    return limit


def _reduced(swapping: SwappingStorage, swap: UserSwap) -> values.DcaParameters | None:
    """Return the DCA parameters with no more chunks than the least size allows, by all that was paid."""
    if swap.dca is None:
        return None
    minimum = swapping.MinimumChunkSize.get(swap.input_asset)
    chunks = max(1, swap.dca.number_of_chunks)
    if minimum:
        chunks = min(chunks, max(1, swap.input_amount // minimum))
    return replace(swap.dca, number_of_chunks=chunks)


def _fees(swapping: SwappingStorage, swap: UserSwap) -> list[values.FeeType]:
    fees = list[values.FeeType]()
    if swap.pays_network:
        internal = isinstance(swap.output_action, values.SwapOutputActionCreditOnChain)
        fee = network_fee(swapping, swap.input_asset, swap.output_asset, internal=internal)
        fees.append(values.FeeTypeNetworkFee(tracker_of(fee)))
    if swap.broker_fees:
        fees.append(values.FeeTypeBrokerFee(swap.broker_fees))
    return fees


def _report_request(
    swapping: SwappingStorage, request_id: int, swap: UserSwap, dca: values.DcaParameters | None
) -> None:
    paid_for = (
        values.SwapRequestTypeRegular if swap.pays_network else values.SwapRequestTypeRegularNoNetworkFee
    )
    swapping.deposit(
        swapping.Event.SwapRequested,
        swap_request_id=request_id,
        input_asset=swap.input_asset,
        input_amount=swap.input_amount,
        output_asset=swap.output_asset,
        origin=swap.origin,
        request_type=paid_for(_shown_output(swapping, swap.output_action)),
        broker_fees=list(swap.broker_fees),
        price_limits_and_expiry=swap.limits,
        dca_parameters=dca,
    )


def _shown_output(
    swapping: SwappingStorage, action: Output
) -> values.SwapOutputAction[EncodedAddress, bytes]:
    if isinstance(action, values.SwapOutputActionEgress):
        return values.SwapOutputActionEgress(
            ccm_deposit_metadata=_shown_message(swapping, action.ccm_deposit_metadata),
            output_address=encoded(swapping, action.output_address),
        )
    return action


def _shown_message(
    swapping: SwappingStorage, message: values.CheckedCcmDeposit | None
) -> values.CcmDepositMetadata[EncodedAddress, values.DecodedCcmAdditionalData] | None:
    if message is None:
        return None
    source = message.source_address
    return values.CcmDepositMetadata(
        channel_metadata=message.channel_metadata,
        source_chain=message.source_chain,
        source_address=None if source is None else encoded(swapping, source),
    )


def _schedule(
    swapping: SwappingStorage,
    request: values.SwapRequest,
    swap_type: str,
    amount: int,
    refund: values.SwapRefundParameters | None,
    execute_at: int,
) -> int:
    swap_id = swapping.SwapIdCounter.mutate(lambda last: last + 1)
    swap = values.Swap(
        swap_id=swap_id,
        swap_request_id=request.id,
        from_=request.input_asset,
        to=request.output_asset,
        input_amount=amount,
        refund_params=refund,
        execute_at=execute_at,
    )
    # Ids only grow, so the map stays in the order of its keys.
    swapping.ScheduledSwaps.mutate(lambda swaps: [*swaps, (swap_id, swap)])
    swapping.deposit(
        swapping.Event.SwapScheduled,
        swap_request_id=request.id,
        swap_id=swap_id,
        input_amount=amount,
        swap_type=swap_type,
        execute_at=execute_at,
    )
    return swap_id
