"""What does the node ask about liquidity providers' orders and boost pools? (`CustomRuntimeApi`)

The development chain has one provider of each kind: an order over all prices in every pool, and what `Dev`
has put up for boosting.
"""

from __future__ import annotations

from typing import Any

from cfnode.core.assets import ASSETS

from .amm import MAX_TICK, MIN_TICK
from .apis_pools import or_message
from .frame import RuntimeApi, method, struct
from .pallets.ingress_egress.boost import BOOSTER, TIER, boost_depth
from .pallets.ingress_egress.pallet import INGRESS_EGRESS, IngressEgress
from .pallets.liquidity_pools import STABLE, LiquidityPools
from .types.assets import known_assets

__all__ = ["OrdersApi"]

struct(
    "cf_amm::common::LimitOrder<AccountId>",
    lp="AccountId",
    id="U256",
    tick="i32",
    sell_amount="U256",
    fees_earned="U256",
    original_sell_amount="U256",
)
struct(
    "pallet_cf_pools::RangeOrder<AccountId>",
    lp="AccountId",
    id="U256",
    range="Range<i32>",
    liquidity="u128",
    fees_earned="PoolPairsMap<U256>",
)
struct(
    "pallet_cf_pools::PoolOrders<AccountId>",
    limit_orders="AskBidMap<Vec<LimitOrder<AccountId>>>",
    range_orders="Vec<RangeOrder<AccountId>>",
)
struct(
    "state_chain_runtime::runtime_apis::custom_api::types::BoostPoolDepth",
    asset="Asset",
    tier="u16",
    available_amount="u128",
)
struct("pallet_cf_lending_pools::boost::OwedAmount<AmountT>", total="AmountT", fee="AmountT")
struct(
    "pallet_cf_lending_pools::boost::BoostPoolDetails<AccountId>",
    available_amounts="BTreeMap<AccountId, u128>",
    pending_boosts="BTreeMap<PrewitnessedDepositId, BTreeMap<AccountId, OwedAmount<u128>>>",
    pending_withdrawals="BTreeMap<AccountId, BTreeSet<PrewitnessedDepositId>>",
    network_fee_deduction_percent="Percent",
)


class OrdersApi(RuntimeApi):
    """Orders in pools, and boost pools."""

    api = "CustomRuntimeApi"

    @method(
        "Result<PoolOrders<AccountId32>, DispatchErrorWithMessage>",
        base_asset="Asset",
        quote_asset="Asset",
        lp="Option<AccountId32>",
        filled_orders="bool",
    )
    def cf_pool_orders(self, base_asset: str, quote_asset: str, lp: bytes | None, filled_orders: bool) -> Any:
        """The open orders of a pool, or those of one provider."""

        def answer() -> dict[str, Any]:
            pools = self.other(LiquidityPools)
            pools.ensure(quote_asset == STABLE, pools.Error.PoolDoesNotExist)
            pool = pools.range_pool(base_asset)
            orders = [
                {
                    "lp": owner,
                    "id": number,
                    "range": {"start": low, "end": high},
                    "liquidity": order["liquidity"],
                    "fees_earned": pool.fees_of(low, high, order),
                }
                for ((owner, number), low, high), order in pool.positions
                if lp in (None, owner)
            ]
            return {"limit_orders": {"asks": [], "bids": []}, "range_orders": orders}

        return or_message(answer)

    @method(
        "Result<PoolPairsMap<U256>, DispatchErrorWithMessage>",
        base_asset="Asset",
        quote_asset="Asset",
        tick_range="Range<i32>",
        liquidity="u128",
    )
    def cf_pool_range_order_liquidity_value(
        self, base_asset: str, quote_asset: str, tick_range: dict[str, int], liquidity: int
    ) -> Any:
        """What liquidity between two ticks is made of at the present price."""

        def answer() -> dict[str, int]:
            pools = self.other(LiquidityPools)
            pools.ensure(quote_asset == STABLE, pools.Error.PoolDoesNotExist)
            pool, low, high = pools.range_pool(base_asset), tick_range["start"], tick_range["end"]
            pools.ensure(MIN_TICK <= low < high <= MAX_TICK, pools.Error.InvalidTickRange)
            return pool.value(low, high, liquidity)

        return or_message(answer)

    @method("Vec<BoostPoolDepth>")
    def cf_boost_pools_depth(self) -> list[dict[str, Any]]:
        """What can be boosted, by asset and price in basis points."""
        found = []
        for asset in known_assets():
            amount = boost_depth(self._pallet(asset), asset)
            if amount:
                found.append({"asset": asset, "tier": TIER, "available_amount": amount})
        return found

    @method("BTreeMap<u16, BoostPoolDetails<AccountId32>>", asset="Asset")
    def cf_boost_pool_details(self, asset: str) -> list[tuple[int, dict[str, Any]]]:
        """Who has put what up for boosting an asset, and which deposits are on their way to them."""
        pallet = self._pallet(asset)
        depth, pending = boost_depth(pallet, asset), _pending(pallet, asset)
        if not depth and not pending:
            return []
        details = {
            "available_amounts": [(BOOSTER, depth)],
            "pending_boosts": pending,
            "pending_withdrawals": [],
            "network_fee_deduction_percent": 0,
        }
        return [(TIER, details)]

    def _pallet(self, asset: str) -> IngressEgress:
        return self.other(INGRESS_EGRESS[ASSETS[asset].chain])


def _pending(pallet: IngressEgress, asset: str) -> list[tuple[int, list[tuple[bytes, dict[str, int]]]]]:
    """The boosted deposits that are not final yet, by id: what the booster is owed, and its fee in that."""
    found = []
    for channel in (each[1] for each in pallet.DepositChannelLookup.items()):
        status = channel["boost_status"]
        if status[0] == "Boosted" and channel["deposit_channel"]["asset"] == asset:
            amount = status[1]["amount"]
            owed = {"total": amount, "fee": -(-amount * TIER // 10_000)}
            found.append((status[1]["prewitnessed_deposit_id"], [(BOOSTER, owed)]))
    return sorted(found)
