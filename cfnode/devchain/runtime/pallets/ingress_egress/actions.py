"""Actions on a deposit's amount: swap, credit to a provider, or refund.

The ingress fee is withheld first; the action takes what remains.
"""

from __future__ import annotations

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import DispatchError
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.swap_requests.requests import UserSwap, limits_of, request_swap
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage

from .account_creation import create_account
from .deposits import Account, PendingDeposit
from .egress import schedule_egress
from .fees import ingress_estimate, withhold
from .storage import IngressEgressStorage

__all__ = ["perform_action", "withhold_ingress_fee"]


def withhold_ingress_fee(
    pallet: IngressEgressStorage, deposit: PendingDeposit, amount: int
) -> tuple[int, int]:
    """Withhold the ingress fee of a deposit. Return what remains of the amount, and the fee."""
    estimate = ingress_estimate(pallet, deposit.asset, deposit.origin_type)
    after_fee = withhold(pallet, deposit.asset, amount, estimate)
    return after_fee.remaining, after_fee.fee


def perform_action(
    pallet: IngressEgressStorage, deposit: PendingDeposit, amount: int
) -> values.DepositAction:
    """Swap, credit or refund an amount, as the deposit's action says."""
    match deposit.action:
        case values.ChannelActionSwap() as terms:
            return _swap(pallet, deposit, terms, amount)
        case values.ChannelActionLiquidityProvision() as terms:
            return _provide(pallet, deposit, terms, amount)
        case values.ChannelActionRefund() as terms:
            return _refund(pallet, deposit, terms, amount)
    return "Unrefundable"


def _swap(
    pallet: IngressEgressStorage,
    deposit: PendingDeposit,
    terms: values.ChannelActionSwap[bytes, values.CheckedCcmDeposit],
    amount: int,
) -> values.DepositAction:
    refund = terms.refund_params
    destination = values.SwapOutputActionEgress(
        ccm_deposit_metadata=terms.channel_metadata, output_address=terms.destination_address
    )
    refund_address = values.ExternalAddress(refund.refund_address)
    swap = UserSwap(
        input_asset=deposit.asset,
        input_amount=amount,
        output_asset=terms.destination_asset,
        output_action=destination,
        origin=deposit.origin,
        limits=limits_of(refund, refund.retry_duration, refund_address, refund.refund_ccm_metadata),
        broker_fees=terms.broker_fees,
        dca=terms.dca_params,
    )
    return values.DepositActionSwap(request_swap(pallet.other(SwappingStorage), swap))


def _refund(
    pallet: IngressEgressStorage,
    deposit: PendingDeposit,
    terms: values.ChannelActionRefund[Account, values.CheckedCcmDeposit],
    amount: int,
) -> values.DepositAction:
    try:
        egress_id = schedule_egress(
            pallet, deposit.asset, amount, terms.refund_address, terms.refund_ccm_metadata
        ).egress_id
    except DispatchError:  # too little to be sent
        egress_id = None
    return values.DepositActionRefund(egress_id=egress_id, reason=terms.reason, amount=amount)


def _provide(
    pallet: IngressEgressStorage,
    deposit: PendingDeposit,
    terms: values.ChannelActionLiquidityProvision[bytes],
    amount: int,
) -> values.DepositAction:
    account = terms.lp_account
    spent = create_account(pallet, deposit, terms, amount)
    pallet.other(AssetBalances).credit(account, deposit.asset, amount - spent)
    return values.DepositActionLiquidityProvision(account)
