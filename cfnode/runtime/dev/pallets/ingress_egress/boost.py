"""How does a deposit count before it is final?

A broker's channel may offer a boost fee. When a deposit has been seen but not yet confirmed, somebody who has
put money up for it pays the user at once and gets the deposit later. On the main net these are boost pools of
several tiers; on the development chain there is one account, whose depth `Dev` sets, at 5 basis points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cfnode.runtime.dev.pallets.asset_balances import AssetBalances
from cfnode.runtime.dev.pallets.environment import Environment

from .deposits import act, finalised, schedule_fetch, withhold_ingress_fee
from .rejection import is_rejected, note_prewitnessed

if TYPE_CHECKING:
    from .pallet import IngressEgress

__all__ = ["BOOSTER", "TIER", "boost_depth", "finalise_boosted", "prewitness", "set_boost_depth"]

BOOSTER = b"cfnode-dev/boost".ljust(32, b"\0")
"""The account that owns what deposits are boosted with."""

TIER = 5
"""Basis points that a boost costs."""

POOL = "BoostPool"


def boost_depth(pallet: IngressEgress, asset: str) -> int:
    """How much of an asset can be boosted."""
    return pallet.other(AssetBalances).balance(BOOSTER, asset)


def set_boost_depth(pallet: IngressEgress, asset: str, amount: int) -> None:
    """Put this much up for boosting an asset."""
    pallet.other(AssetBalances).FreeBalances.put(BOOSTER, asset, amount)


def prewitness(pallet: IngressEgress, witness: dict[str, Any], height: int) -> None:
    """A deposit has been seen that is not yet final: boost it if its channel wants that."""
    channel = pallet.DepositChannelLookup.get(witness["deposit_address"])
    asset, amount = witness["asset"], witness["amount"]
    if channel is None or channel["boost_status"] != "NotBoosted":
        return
    if amount < pallet.MinimumDeposit.get(asset) or is_rejected(pallet, channel, witness):
        return
    note_prewitnessed(pallet, channel, witness)
    deposit_id = pallet.PrewitnessedDepositIdCounter.mutate(lambda last: last + 1)
    if not channel["boost_fee"] or not _enabled(pallet):
        return
    fee = -(-amount * TIER // 10_000)
    if channel["boost_fee"] < TIER or boost_depth(pallet, asset) < amount - fee:
        pallet.deposit(
            pallet.Event.InsufficientBoostLiquidity,
            prewitnessed_deposit_id=deposit_id,
            asset=asset,
            amount_attempted=amount,
            channel_id=channel["deposit_channel"]["channel_id"],
            origin_type="DepositChannel",
        )
        return
    _boost(pallet, channel, witness, height, deposit_id, fee)


def finalise_boosted(
    pallet: IngressEgress, channel: dict[str, Any], witness: dict[str, Any], height: int
) -> bool:
    """Give a deposit that was boosted to those who paid for it; False if it was not boosted."""
    status = channel["boost_status"]
    if status == "NotBoosted" or status[1]["amount"] != witness["amount"]:
        return False
    asset = witness["asset"]
    schedule_fetch(pallet, channel["deposit_channel"], witness)
    set_boost_depth(pallet, asset, boost_depth(pallet, asset) + witness["amount"])
    channel = pallet.DepositChannelLookup.get(witness["deposit_address"]) | {"boost_status": "NotBoosted"}
    pallet.DepositChannelLookup.put(witness["deposit_address"], channel)
    credited = {
        "prewitnessed_deposit_id": status[1]["prewitnessed_deposit_id"],
        "network_fee_from_boost": 0,
        "network_fee_swap_request_id": None,
    }
    finalised(pallet, channel, witness, height, 0, ("BoostersCredited", credited))
    return True


def _enabled(pallet: IngressEgress) -> bool:
    member = f"ingress_egress_{pallet.chain.name.lower()}"
    return pallet.other(Environment).safe_mode(member, "boost_deposits_enabled")


def _boost(
    pallet: IngressEgress,
    channel: dict[str, Any],
    witness: dict[str, Any],
    height: int,
    deposit_id: int,
    fee: int,
) -> None:
    asset, amount = witness["asset"], witness["amount"]
    set_boost_depth(pallet, asset, boost_depth(pallet, asset) - (amount - fee))
    available, ingress_fee = withhold_ingress_fee(pallet, asset, amount - fee)
    action = act(pallet, channel, asset, available, height)
    status = ("Boosted", {"prewitnessed_deposit_id": deposit_id, "amount": amount})
    pallet.DepositChannelLookup.put(witness["deposit_address"], channel | {"boost_status": status})
    pallet.deposit(
        pallet.Event.DepositBoosted,
        deposit_address=witness["deposit_address"],
        asset=asset,
        amounts=[(POOL, amount)],
        deposit_details=witness["deposit_details"],
        prewitnessed_deposit_id=deposit_id,
        channel_id=channel["deposit_channel"]["channel_id"],
        block_height=height,
        ingress_fee=ingress_fee,
        max_boost_fee_bps=channel["boost_fee"],
        boost_fee=[(POOL, fee)],
        action=action,
        origin_type="DepositChannel",
    )
