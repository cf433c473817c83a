"""Creation of a liquidity provider's account by its first deposit.

The account gets an address for refunds and a hundredth of a FLIP at once, and as much of the deposit is
swapped as buys the minimum funding of an account; the advance is taken off the output of that swap. A deposit
of FLIP needs no swap.
"""

from __future__ import annotations

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.pallets.account_roles import AccountRoles
from cfnode.devchain.runtime.pallets.funded_accounts import FundedAccounts
from cfnode.devchain.runtime.pallets.lp_storage import ProviderStorage
from cfnode.devchain.runtime.pallets.swap_requests.conversion import input_for_output
from cfnode.devchain.runtime.pallets.swap_requests.requests import UserSwap, request_swap
from cfnode.devchain.runtime.pallets.swap_requests.storage import FLIP, SwappingStorage
from cfnode.devchain.runtime.pallets.system import System

from .deposits import PendingDeposit
from .storage import IngressEgressStorage

__all__ = ["create_account"]

ADVANCE = FLIP // 100


def create_account(
    pallet: IngressEgressStorage,
    deposit: PendingDeposit,
    terms: values.ChannelActionLiquidityProvision[bytes],
    amount: int,
) -> int:
    """Create the account of a `LiquidityProvision` if that is asked for. Return what is spent on it."""
    who, additional = terms.lp_account, terms.additional_action
    if additional is None or pallet.other(System).exists(who):
        return 0
    credit = additional.flip_amount_to_credit
    is_flip = deposit.asset == "Flip"
    source = values.FundingSourceInitialFunding(channel_id=deposit.channel_id, asset=deposit.asset)
    funded = min(credit, amount) if is_flip else ADVANCE
    pallet.other(FundedAccounts).fund_account(who, funded, source)
    if pallet.runtime.release.rules.funding_moves_flip:
        pallet.other(SwappingStorage).record_gateway_liability(funded)
    pallet.other(System).inc_nonce(who)  # the owner's signature has used nonce 0
    pallet.other(AccountRoles).register(who, "LiquidityProvider")
    pallet.other(ProviderStorage).register_refund_address(who, terms.refund_address)
    return (
        funded if is_flip else _buy_flip(pallet, deposit, who, min(amount, _price(pallet, deposit, credit)))
    )


def _price(pallet: IngressEgressStorage, deposit: PendingDeposit, flip: int) -> int:
    """Return how much of the deposit's asset buys so much FLIP."""
    return input_for_output(pallet.other(SwappingStorage), deposit.asset, "Flip", flip, with_fee=False)


def _buy_flip(pallet: IngressEgressStorage, deposit: PendingDeposit, who: bytes, amount: int) -> int:
    credited = values.SwapOutputActionCreditFlipAndTransferToGateway(
        account_id=who, flip_to_subtract_from_swap_output=ADVANCE
    )
    swap = UserSwap(
        input_asset=deposit.asset,
        input_amount=amount,
        output_asset="Flip",
        output_action=credited,
        origin=deposit.origin,
        limits=None,
        pays_network=False,
    )
    request_swap(pallet.other(SwappingStorage), swap)
    return amount
