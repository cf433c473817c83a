"""Where does a swap's output go, and where what was not swapped?

To an address on its chain, to an account of this one, or, as FLIP, into an account's own balance: that is
how an account that a deposit in another asset has created is funded. A refund goes to an address or an
account.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import DispatchError
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.funding import Funding
from cfnode.devchain.runtime.pallets.ingress_egress.pallet import INGRESS_EGRESS, ScheduledEgress

from .conversion import input_for_output
from .gateway import keep_flip
from .requests import request_network_fee_swap
from .storage import SwappingStorage

__all__ = ["give_back", "pass_on"]

Request = dict[str, Any]
_STABLE = "Usdc"


# The output


def pass_on(swapping: SwappingStorage, request: Request) -> None:
    """Give what a user's request has bought to whom it is for."""
    _, state = request["state"]
    kind, terms = state["output_action"]
    _ACTIONS[kind](swapping, request, terms, state["dca_state"]["accumulated_output_amount"])


def _send(swapping: SwappingStorage, request: Request, terms: dict[str, Any], amount: int) -> None:
    asset = request["output_asset"]
    pallet = swapping.other(INGRESS_EGRESS[ASSETS[asset].chain])
    try:
        egress = pallet.schedule_egress(
            asset, amount, terms["output_address"][1], terms["ccm_deposit_metadata"]
        )
    except DispatchError as error:
        _ignored(swapping, swapping.Event.SwapEgressIgnored, request["id"], asset, amount, error)
        return
    swapping.deposit(swapping.Event.SwapEgressScheduled, **_sent(request["id"], egress, asset))


def _credit(swapping: SwappingStorage, request: Request, terms: dict[str, Any], amount: int) -> None:
    owner, asset = terms["account_id"], request["output_asset"]
    swapping.deposit(
        swapping.Event.CreditedOnChain,
        swap_request_id=request["id"],
        account_id=owner,
        asset=asset,
        amount=amount,
    )
    swapping.other(AssetBalances).credit(owner, asset, amount)


def _fund(swapping: SwappingStorage, request: Request, terms: dict[str, Any], amount: int) -> None:
    """The account has had a little FLIP in advance, which the network gets back first."""
    advance = terms["flip_to_subtract_from_swap_output"]
    paid = 0 if swapping.runtime.release.rules.funding_moves_flip else advance
    swapping.owe_gateway(paid + max(0, amount - advance))
    if amount < advance:
        keep_flip(swapping, amount - advance)
        return
    source = values.FundingSourceSwap(request["id"])
    swapping.other(Funding).fund_account(terms["account_id"], amount - advance, source)


_ACTIONS: dict[str, Callable[[SwappingStorage, Request, dict[str, Any], int], None]] = {
    "Egress": _send,
    "CreditOnChain": _credit,
    "CreditFlipAndTransferToGateway": _fund,
}


# The refund


def give_back(swapping: SwappingStorage, request: Request, amount: int) -> None:
    """Return what was not swapped, less the network fee's minimum."""
    asset, left = request["input_asset"], amount - _refund_fee(swapping, request, amount)
    if not left:
        nothing = swapping.error(swapping.Error.NoRefundAmountRemaining)
        _ignored(swapping, swapping.Event.RefundEgressIgnored, request["id"], asset, left, nothing)
        return
    _, expiry = request["state"][1]["price_limits_and_expiry"]["expiry_behaviour"]
    kind, owner = expiry["refund_address"]
    if kind == "ExternalAddress":
        _send_back(swapping, request, expiry, amount, left)
        return
    swapping.deposit(
        swapping.Event.RefundedOnChain,
        swap_request_id=request["id"],
        account_id=owner,
        asset=asset,
        amount=left,
        refund_fee=amount - left,
    )
    swapping.other(AssetBalances).credit(owner, asset, left)


def _refund_fee(swapping: SwappingStorage, request: Request, amount: int) -> int:
    internal = request["state"][1]["output_action"][0] == "CreditOnChain"
    minimum = (swapping.InternalSwapNetworkFee if internal else swapping.NetworkFee).get()["minimum"]
    asset = request["input_asset"]
    fee = min(amount, input_for_output(swapping, asset, _STABLE, minimum, with_fee=False))
    if fee:
        request_network_fee_swap(swapping, asset, fee)
    return fee


def _send_back(
    swapping: SwappingStorage, request: Request, expiry: dict[str, Any], amount: int, left: int
) -> None:
    asset, (_, address) = request["input_asset"], expiry["refund_address"]
    pallet = swapping.other(INGRESS_EGRESS[ASSETS[asset].chain])
    try:
        egress = pallet.schedule_egress(asset, left, address[1], expiry["refund_ccm_metadata"])
    except DispatchError as error:
        _ignored(swapping, swapping.Event.RefundEgressIgnored, request["id"], asset, left, error)
        return
    sent = _sent(request["id"], egress, asset)
    swapping.deposit(swapping.Event.RefundEgressScheduled, **sent, refund_fee=amount - left)


def _sent(request_id: int, egress: ScheduledEgress, asset: str) -> dict[str, Any]:
    return {
        "swap_request_id": request_id,
        "egress_id": egress.egress_id,
        "asset": asset,
        "amount": egress.amount,
        "egress_fee": (egress.fee, asset),
    }


def _ignored(
    swapping: SwappingStorage, what: Any, request_id: int, asset: str, amount: int, error: DispatchError
) -> None:
    """So little is left that sending it is not worth the fee: it stays."""
    swapping.deposit(what, swap_request_id=request_id, asset=asset, amount=amount, reason=error.value)
