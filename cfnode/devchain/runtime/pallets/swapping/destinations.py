"""Outputs and refunds of swaps: where they are sent or credited.

An output goes to an address on its chain, to an account's balance of the asset, or, as FLIP, into an
account's own balance: that is how an account that a deposit in another asset has created is funded. A refund
goes to an address or an account.
"""

from __future__ import annotations

from cfnode.core.addresses import ForeignAddress
from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import DispatchError
from cfnode.devchain.runtime.frame.declarations import EventDef
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.funded_accounts import FundedAccounts
from cfnode.devchain.runtime.pallets.ingress_egress.egress import ScheduledEgress, schedule_egress
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from cfnode.devchain.runtime.pallets.swap_requests.conversion import input_for_output
from cfnode.devchain.runtime.pallets.swap_requests.requests import request_network_fee_swap, user_swap
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage

from .gateway import keep_flip

__all__ = ["egress_output", "refund"]

_STABLE = "Usdc"


# The output


def egress_output(swapping: SwappingStorage, request: values.SwapRequest) -> None:
    """Send or credit what a user's request has bought."""
    state = user_swap(request)
    amount = state.dca_state.accumulated_output_amount
    match state.output_action:
        case values.SwapOutputActionEgress() as egress:
            _send(swapping, request, egress, amount)
        case values.SwapOutputActionCreditOnChain(account_id=owner):
            _credit(swapping, request, owner, amount)
        case values.SwapOutputActionCreditFlipAndTransferToGateway() as funding:
            _fund(swapping, request, funding, amount)
        case values.SwapOutputActionCreditLendingPool():
            raise NotImplementedError("nothing is lent on a development chain")


def _send(
    swapping: SwappingStorage,
    request: values.SwapRequest,
    terms: values.SwapOutputActionEgress[ForeignAddress],
    amount: int,
) -> None:
    asset = request.output_asset
    pallet = swapping.other(INGRESS_EGRESS[ASSETS[asset].chain])
    try:
        egress = schedule_egress(pallet, asset, amount, terms.output_address[1], terms.ccm_deposit_metadata)
    except DispatchError as error:
        _ignored(swapping, swapping.Event.SwapEgressIgnored, request.id, asset, amount, error)
        return
    _sent(swapping, swapping.Event.SwapEgressScheduled, request.id, egress, asset)


def _credit(swapping: SwappingStorage, request: values.SwapRequest, owner: bytes, amount: int) -> None:
    asset = request.output_asset
    swapping.deposit(
        swapping.Event.CreditedOnChain,
        swap_request_id=request.id,
        account_id=owner,
        asset=asset,
        amount=amount,
    )
    swapping.other(AssetBalances).credit(owner, asset, amount)


def _fund(
    swapping: SwappingStorage,
    request: values.SwapRequest,
    terms: values.SwapOutputActionCreditFlipAndTransferToGateway[bytes],
    amount: int,
) -> None:
    """Fund an account with FLIP, less the advance that it has had from the network."""
    advance = terms.flip_to_subtract_from_swap_output
    paid = 0 if swapping.runtime.release.rules.funding_moves_flip else advance
    swapping.record_gateway_liability(paid + max(0, amount - advance))
    if amount < advance:
        keep_flip(swapping, amount - advance)
        return
    source = values.FundingSourceSwap(request.id)
    swapping.other(FundedAccounts).fund_account(terms.account_id, amount - advance, source)


# The refund


def refund(swapping: SwappingStorage, request: values.SwapRequest, amount: int) -> None:
    """Send back or credit what was not swapped, less the network fee's minimum."""
    asset, refund_amount = request.input_asset, amount - _refund_fee(swapping, request, amount)
    if not refund_amount:
        refusal = swapping.error(swapping.Error.NoRefundAmountRemaining)
        _ignored(swapping, swapping.Event.RefundEgressIgnored, request.id, asset, refund_amount, refusal)
        return
    limits = user_swap(request).price_limits_and_expiry
    assert limits is not None and limits.expiry_behaviour != "NoExpiry"  # else it is tried for ever
    expiry = limits.expiry_behaviour
    match expiry.refund_address:
        case values.ExternalAddress(address):
            _send_back(swapping, request, address, expiry.refund_ccm_metadata, amount, refund_amount)
        case values.InternalAccount(owner):
            _credit_back(swapping, request, owner, amount, refund_amount)


def _credit_back(
    swapping: SwappingStorage, request: values.SwapRequest, owner: bytes, amount: int, left: int
) -> None:
    asset = request.input_asset
    swapping.deposit(
        swapping.Event.RefundedOnChain,
        swap_request_id=request.id,
        account_id=owner,
        asset=asset,
        amount=left,
        refund_fee=amount - left,
    )
    swapping.other(AssetBalances).credit(owner, asset, left)


def _refund_fee(swapping: SwappingStorage, request: values.SwapRequest, amount: int) -> int:
    internal = isinstance(user_swap(request).output_action, values.SwapOutputActionCreditOnChain)
    minimum = (swapping.InternalSwapNetworkFee if internal else swapping.NetworkFee).get().minimum
    asset = request.input_asset
    fee = min(amount, input_for_output(swapping, asset, _STABLE, minimum, with_fee=False))
    if fee:
        request_network_fee_swap(swapping, asset, fee)
    return fee


def _send_back(
    swapping: SwappingStorage,
    request: values.SwapRequest,
    address: ForeignAddress,
    message: values.CheckedCcmDeposit | None,
    amount: int,
    left: int,
) -> None:
    asset = request.input_asset
    pallet = swapping.other(INGRESS_EGRESS[ASSETS[asset].chain])
    try:
        egress = schedule_egress(pallet, asset, left, address[1], message)
    except DispatchError as error:
        _ignored(swapping, swapping.Event.RefundEgressIgnored, request.id, asset, left, error)
        return
    _sent(swapping, swapping.Event.RefundEgressScheduled, request.id, egress, asset, refund_fee=amount - left)


def _sent(
    swapping: SwappingStorage,
    what: EventDef,
    request_id: int,
    egress: ScheduledEgress,
    asset: str,
    **refund_fee: int,
) -> None:
    swapping.deposit(
        what,
        swap_request_id=request_id,
        egress_id=egress.egress_id,
        asset=asset,
        amount=egress.amount,
        egress_fee=(egress.fee, asset),
        **refund_fee,
    )


def _ignored(
    swapping: SwappingStorage,
    what: EventDef,
    request_id: int,
    asset: str,
    amount: int,
    error: DispatchError,
) -> None:
    """Deposit the event of an amount that stays, since sending it is not worth the fee."""
    swapping.deposit(what, swap_request_id=request_id, asset=asset, amount=amount, reason=error.value)
