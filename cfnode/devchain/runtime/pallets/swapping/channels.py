"""Opening of deposit channels for swaps, with the checks of a broker's request.

The checks come in the order of the chain's own, since the first that fails names the error. Some things are
not checked on purpose: the boost fee, the least size of a chunk, whether an affiliate is registered, whether
source and destination differ, and the least price are the broker's business or are applied when the swap
runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cfnode.core.addresses import EncodedAddress, ForeignAddress, chain_of_address
from cfnode.core.assets import ASSETS, CHAINS, chains_of
from cfnode.core.scale import ScaleError
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import DispatchError
from cfnode.devchain.runtime.frame.calls import Arguments
from cfnode.devchain.runtime.pallets.addresses import decoded, encoded
from cfnode.devchain.runtime.pallets.ingress_egress.opening import ChannelOpening, open_channel
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from cfnode.devchain.runtime.pallets.swap_requests.ccm import (
    CcmError,
    check_ccm,
    check_ccm_bounds,
    supports_ccm,
)
from cfnode.devchain.runtime.pallets.swap_requests.parameters import (
    check_dca,
    check_price_protection,
    check_retry,
    destination_on,
)
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage
from cfnode.swaps.limits import MAX_AFFILIATES, MAX_COMMISSION_BPS

__all__ = ["SwapChannelRequest", "check_request_bounds", "open_swap_channel"]

# Chains whose accounts are the same thing under another name.
_SAME_ACCOUNTS = (set(chains_of("evm", "tron")), set(chains_of("substrate")))


@dataclass(frozen=True, slots=True)
class SwapChannelRequest:
    """Terms of a channel that a broker requests; values as the call has them."""

    source_asset: str
    destination_asset: str
    destination_address: EncodedAddress
    broker_commission: int
    channel_metadata: values.CcmMetadata | None
    boost_fee: int
    affiliate_fees: Sequence[values.Beneficiary[bytes]]
    refund_parameters: values.RefundParameters
    dca_parameters: values.DcaParameters | None


def check_request_bounds(arguments: Arguments) -> None:
    """Raise ScaleError if a list or a message of the request is longer than its type allows."""
    affiliates = len(arguments.get("affiliate_fees", ()))
    if affiliates > MAX_AFFILIATES:
        raise ScaleError(f"a swap has up to {MAX_AFFILIATES} affiliates, not {affiliates}")
    check_ccm_bounds(arguments["channel_metadata"])
    check_ccm_bounds(arguments["refund_parameters"].refund_ccm_metadata)


def open_swap_channel(swapping: SwappingStorage, broker: bytes, request: SwapChannelRequest) -> None:
    """Check the request, open the channel on the source chain, and report its address."""
    action = _checked_action(swapping, broker, request)
    pallet = swapping.other(INGRESS_EGRESS[ASSETS[request.source_asset].chain])
    channel = open_channel(pallet, broker, request.source_asset, action, request.boost_fee)
    _report_channel(swapping, broker, request, channel, action.channel_metadata)


def _checked_action(
    swapping: SwappingStorage, broker: bytes, request: SwapChannelRequest
) -> values.ChannelActionSwap[bytes, values.CheckedCcm]:
    """Return the action of the channel, once the whole request is checked."""
    broker_fee = values.Beneficiary(account=broker, bps=request.broker_commission)
    fees = [broker_fee, *request.affiliate_fees]
    total_bps = sum(fee.bps for fee in fees)
    swapping.ensure(total_bps <= MAX_COMMISSION_BPS, swapping.Error.BrokerCommissionBpsTooHigh)
    asset = request.destination_asset
    destination = destination_on(swapping, asset, request.destination_address)
    refund = request.refund_parameters
    refund_address = decoded(swapping, refund.refund_address, swapping.Error.InvalidRefundAddress)
    message = _checked_message(swapping, request.channel_metadata, asset, destination)
    _check_refund_chain(refund_address, request.source_asset)
    check_retry(swapping, refund.retry_duration)
    protection = refund.max_oracle_price_slippage
    check_price_protection(swapping, protection, request.source_asset, asset)
    check_dca(swapping, request.dca_parameters)
    refund_message = _checked_refund_message(swapping, refund, request.source_asset, refund_address)
    refund_terms = values.ChannelRefundParameters(
        retry_duration=refund.retry_duration,
        refund_address=refund_address,
        min_price=refund.min_price,
        refund_ccm_metadata=refund_message,
        max_oracle_price_slippage=refund.max_oracle_price_slippage,
    )
    return values.ChannelActionSwap(
        destination_asset=asset,
        destination_address=destination,
        broker_fees=fees,
        channel_metadata=message,
        refund_params=refund_terms,
        dca_params=request.dca_parameters,
    )


def _checked_message(
    swapping: SwappingStorage, ccm: values.CcmMetadata | None, asset: str, destination: ForeignAddress
) -> values.CheckedCcm | None:
    if ccm is None:
        return None
    swapping.ensure(supports_ccm(asset), swapping.Error.CcmUnsupportedForTargetChain)
    try:
        return check_ccm(swapping, ccm, asset, _account(destination))
    except CcmError:
        swapping.fail(swapping.Error.InvalidCcm)


def _check_refund_chain(address: ForeignAddress, source_asset: str) -> None:
    """Fail if the refund address cannot take a deposit back on the deposit's own chain."""
    chains = {chain_of_address(address), ASSETS[source_asset].chain}
    if len(chains) > 1 and not any(chains <= family for family in _SAME_ACCOUNTS):
        raise DispatchError("Other", "Invalid Refund address")


def _checked_refund_message(
    swapping: SwappingStorage, refund: values.RefundParameters, asset: str, address: ForeignAddress
) -> values.CheckedCcm | None:
    ccm = refund.refund_ccm_metadata
    if ccm is None:
        return None
    if not supports_ccm(asset):
        raise DispatchError("Other", "Invalid refund parameter: Ccm not supported for the refund chain.")
    try:
        return check_ccm(swapping, ccm, asset, _account(address))
    except CcmError as refusal:
        raise DispatchError("Other", str(refusal)) from None


def _account(address: ForeignAddress) -> bytes:
    """Return the raw account; a chain that takes messages always has one."""
    account = address[1]
    assert isinstance(account, bytes)
    return account


def _report_channel(
    swapping: SwappingStorage,
    broker: bytes,
    request: SwapChannelRequest,
    channel: ChannelOpening,
    message: values.CheckedCcm | None,
) -> None:
    variant = CHAINS[ASSETS[request.source_asset].chain].address
    swapping.deposit(
        swapping.Event.SwapDepositAddressReady,
        deposit_address=encoded(swapping, (variant, channel.address)),
        destination_address=request.destination_address,
        source_asset=request.source_asset,
        destination_asset=request.destination_asset,
        channel_id=channel.channel_id,
        broker_id=broker,
        broker_commission_rate=request.broker_commission,
        channel_metadata=message,
        source_chain_expiry_block=channel.expires_at,
        boost_fee=request.boost_fee,
        channel_opening_fee=channel.opening_fee,
        affiliate_fees=list(request.affiliate_fees),
        refund_parameters=request.refund_parameters,
        dca_parameters=request.dca_parameters,
    )
