"""Boosting: the credit of a deposit before it is final.

A broker's channel may offer a boost fee. When a deposit has been seen but not yet confirmed, those who have
put money up for it pay the user at once and get the deposit later. There is one price for that, 5 basis
points, of which the network takes its part. The money comes from a boost pool and from a lending pool
(`boost_funding`); on the development chain one account has put up all that a boost pool has, as much as `Dev`
says.
"""

from __future__ import annotations

from dataclasses import replace

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.boost_funding import TIER, BoostFunding, BoostSplit
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.swap_requests.requests import request_network_fee_swap
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage

from .actions import perform_action, withhold_ingress_fee
from .deposits import PendingDeposit, is_boosted
from .recycling import cancel_timeout, start_timeout
from .rejection import is_marked, note_prewitnessed
from .storage import IngressEgressStorage

__all__ = [
    "BOOSTER",
    "boost_depth",
    "finalise_boosted",
    "prewitness",
    "remember_boost",
    "set_boost_depth",
]

BOOSTER = b"cfnode-dev/boost".ljust(32, b"\0")
"""The account that owns what the boost pools have."""


def boost_depth(pallet: IngressEgressStorage, asset: str) -> int:
    """Return the amount that the boost pool of an asset has."""
    return pallet.other(AssetBalances).balance(BOOSTER, asset)


def set_boost_depth(pallet: IngressEgressStorage, asset: str, amount: int) -> None:
    """Set the amount that the boost pool of an asset has."""
    pallet.other(AssetBalances).FreeBalances.put(BOOSTER, asset, amount)


def prewitness(pallet: IngressEgressStorage, deposit: PendingDeposit) -> None:
    """Boost a deposit that has been seen but is not yet final, if its owner wants that."""
    asset, amount = deposit.asset, deposit.amount
    if deposit.boost_status != "NotBoosted" or amount < pallet.MinimumDeposit.get(asset):
        return None
    if is_marked(pallet, deposit):
        return note_prewitnessed(pallet, deposit)
    deposit_id = pallet.PrewitnessedDepositIdCounter.mutate(lambda last: last + 1)
    if not deposit.max_boost_fee or not _enabled(pallet):
        return None
    funding = None
    if deposit.max_boost_fee >= TIER:
        depth = boost_depth(pallet, asset)
        funding = pallet.other(BoostFunding).fund_boost(deposit_id, asset, amount, depth)
    if funding is None:
        return pallet.deposit(
            pallet.Event.InsufficientBoostLiquidity,
            prewitnessed_deposit_id=deposit_id,
            asset=asset,
            amount_attempted=amount,
            channel_id=deposit.channel_id,
            origin_type=deposit.origin_type,
        )
    return _boost(pallet, deposit, deposit_id, funding)


def finalise_boosted(
    pallet: IngressEgressStorage, deposit: PendingDeposit
) -> values.DepositActionBoostersCredited | None:
    """Give a boosted deposit to those who paid for it. Return None if it was not boosted."""
    status, asset = deposit.boost_status, deposit.asset
    if not is_boosted(status) or status.amount != deposit.amount:
        return None
    owed = pallet.other(BoostFunding).settle_boost(asset, status.prewitnessed_deposit_id)
    for_network = owed.network_fee
    set_boost_depth(pallet, asset, boost_depth(pallet, asset) + owed.boosted_amount - for_network)
    remember_boost(pallet, deposit, "NotBoosted")
    if deposit.channel is None:
        cancel_timeout(pallet, deposit.vault_transaction)
    request_id = None
    if for_network:
        request_id = request_network_fee_swap(pallet.other(SwappingStorage), asset, for_network)
    return values.DepositActionBoostersCredited(
        prewitnessed_deposit_id=status.prewitnessed_deposit_id,
        network_fee_from_boost=for_network,
        network_fee_swap_request_id=request_id,
    )


def _enabled(pallet: IngressEgressStorage) -> bool:
    member = f"ingress_egress_{pallet.chain.name.lower()}"
    return pallet.other(EnvironmentStorage).safe_mode(member, "boost_deposits_enabled")


def _boost(
    pallet: IngressEgressStorage, deposit: PendingDeposit, deposit_id: int, funding: BoostSplit
) -> None:
    asset, amount = deposit.asset, deposit.amount
    set_boost_depth(pallet, asset, boost_depth(pallet, asset) - funding.boost)
    if deposit.channel is None:
        start_timeout(pallet, deposit.vault_transaction, asset)
    available, ingress_fee = withhold_ingress_fee(pallet, deposit, funding.lending + funding.boost)
    action = perform_action(pallet, deposit, available)
    status = values.BoostStatusBoosted(prewitnessed_deposit_id=deposit_id, amount=amount)
    remember_boost(pallet, deposit, status)
    pallet.deposit(
        pallet.Event.DepositBoosted,
        deposit_address=deposit.address,
        asset=asset,
        amounts=funding.amounts,
        deposit_details=deposit.details,
        prewitnessed_deposit_id=deposit_id,
        channel_id=deposit.channel_id,
        block_height=deposit.height,
        ingress_fee=ingress_fee,
        max_boost_fee_bps=deposit.max_boost_fee,
        boost_fee=funding.fees,
        action=action,
        origin_type=deposit.origin_type,
    )


def remember_boost(
    pallet: IngressEgressStorage, deposit: PendingDeposit, status: values.BoostStatus[int, int]
) -> None:
    """Store the boost status of a deposit: with its channel, or under the vault's name for it."""
    if deposit.channel is not None:
        address = deposit.channel_account
        channel = pallet.DepositChannelLookup.known(address)
        pallet.DepositChannelLookup.put(address, replace(channel, boost_status=status))
    elif status == "NotBoosted":
        pallet.BoostedVaultTransactions.remove(deposit.vault_transaction)
    else:
        pallet.BoostedVaultTransactions.put(deposit.vault_transaction, status)
