"""`CustomRuntimeApi` methods for liquidity providers' orders and boost pools.

One account has an order over all prices in every pool, next to the orders of other providers. The pallet
`Dev` provides the amounts with which deposits are boosted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cfnode.core.amm import MAX_GROSS_LIQUIDITY, OrderRefused, check_range, position_of
from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import RuntimeApi, method, struct
from cfnode.devchain.runtime.frame.calls import PalletEvent
from cfnode.devchain.runtime.pallets.boost_funding import NETWORK_PERCENT, TIER, BoostFunding, boost_fees
from cfnode.devchain.runtime.pallets.ingress_egress.boost import BOOSTER, boost_depth
from cfnode.devchain.runtime.pallets.ingress_egress.deposits import is_boosted
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS, IngressEgressStorage
from cfnode.devchain.runtime.pallets.pools.storage import PoolsStorage
from cfnode.devchain.runtime.pallets.pools.stored import STABLE, StoredPool
from cfnode.devchain.runtime.pallets.system import System

from .answers import Answer, or_message

__all__ = ["OrdersApi", "boost_pools"]

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
    def cf_pool_orders(
        self, base_asset: str, quote_asset: str, lp: bytes | None, filled_orders: bool
    ) -> Answer[values.PoolOrders[bytes]]:
        """Return the open orders of a pool, or those of one provider."""

        def answer() -> values.PoolOrders[bytes]:
            stored = self._stored(base_asset, quote_asset)
            limits = values.AskBidMap(
                asks=list(_limit_orders(stored, "base", lp, filled_orders)),
                bids=list(_limit_orders(stored, "quote", lp, filled_orders)),
            )
            return values.PoolOrders(limit_orders=limits, range_orders=list(_range_orders(stored, lp)))

        return or_message(answer)

    @method(
        "Result<PoolPairsMap<U256>, DispatchErrorWithMessage>",
        base_asset="Asset",
        quote_asset="Asset",
        tick_range="Range<i32>",
        liquidity="u128",
    )
    def cf_pool_range_order_liquidity_value(
        self, base_asset: str, quote_asset: str, tick_range: Mapping[str, int], liquidity: int
    ) -> Answer[Mapping[str, int]]:
        """Return the amounts that make up liquidity between two ticks at the present price."""

        def answer() -> Mapping[str, int]:
            pools, pool = self.other(PoolsStorage), self._stored(base_asset, quote_asset).pool
            try:
                check_range(tick_range["start"], tick_range["end"])
            except OrderRefused as refusal:
                pools.fail(pools.Error[str(refusal)])
            pools.ensure(liquidity <= MAX_GROSS_LIQUIDITY, pools.Error.MaximumGrossLiquidity)
            return pool.range_orders.value(tick_range["start"], tick_range["end"], liquidity, up=True)

        return or_message(answer)

    @method("Vec<LiquidityPools::Event>")
    def cf_lp_events(self) -> list[PalletEvent]:
        """Return the events of the pools in this block."""
        pools = self.other(PoolsStorage)
        events = (record.event for record in self.other(System).Events.get())
        return [event for pallet, event in events if pallet == pools.name]

    @method("Vec<BoostPoolDepth>")
    def cf_boost_pools_depth(self) -> list[values.BoostPoolDepth]:
        """Return what can be boosted, by asset and price in basis points."""
        depths = []
        for asset in self.runtime.release.asset_names:
            amount = boost_depth(_pallet(self, asset), asset)
            if amount:
                depths.append(values.BoostPoolDepth(asset=asset, tier=TIER, available_amount=amount))
        return depths

    @method("BTreeMap<u16, BoostPoolDetails<AccountId32>>", asset="Asset")
    def cf_boost_pool_details(self, asset: str) -> list[tuple[int, values.BoostPoolDetails[bytes]]]:
        """Who has put what up for boosting an asset, and which deposits are on their way to them."""
        return boost_pools(self, asset)

    def _stored(self, base: str, quote: str) -> StoredPool:
        pools = self.other(PoolsStorage)
        pools.ensure(quote == STABLE, pools.Error.PoolDoesNotExist)
        return pools.stored_pool(base)


Pending = list[tuple[int, list[tuple[bytes, values.OwedAmount[int]]]]]


def boost_pools(api: RuntimeApi, asset: str) -> list[tuple[int, values.BoostPoolDetails[bytes]]]:
    """Return the boost pools of an asset that are in use, by their price in basis points."""
    pallet = _pallet(api, asset)
    depth, pending = boost_depth(pallet, asset), _pending(pallet, asset)
    if not depth and not pending:
        return []
    details = values.BoostPoolDetails(
        available_amounts=[(BOOSTER, depth)],
        pending_boosts=pending,
        pending_withdrawals=[],
        network_fee_deduction_percent=NETWORK_PERCENT,
    )
    return [(TIER, details)]


def _pallet(api: RuntimeApi, asset: str) -> IngressEgressStorage:
    return api.other(INGRESS_EGRESS[ASSETS[asset].chain])


def _limit_orders(
    stored: StoredPool, side: str, lp: bytes | None, filled: bool
) -> Iterator[values.LimitOrder[bytes]]:
    """Yield the orders that sell one side; `filled`: also those that are sold out."""
    for owner, number, tick in stored.limit_orders(side):
        order = stored.pool.limit_orders.order(side, (owner, number), tick)
        if lp in (None, owner) and order is not None and (filled or order.amount):
            yield values.LimitOrder(
                lp=owner,
                id=number,
                tick=tick,
                sell_amount=order.amount,
                fees_earned=0,
                original_sell_amount=order.collected.original,
            )


def _range_orders(stored: StoredPool, lp: bytes | None) -> Iterator[values.RangeOrder[bytes]]:
    for owner, number, low, high in stored.range_orders():
        if lp in (None, owner):
            order = position_of(stored.pool.range_orders, (owner, number), low, high)
            yield values.RangeOrder(
                lp=owner,
                id=number,
                range={"start": low, "end": high},
                liquidity=order["liquidity"],
                fees_earned={
                    side: order["accumulative_fees"][side] + order["fees"][side] for side in order["fees"]
                },
            )


def _pending(pallet: IngressEgressStorage, asset: str) -> Pending:
    """Return the boosted deposits that are not final yet, by id.

    Each has the amount that the booster is owed, and the fee that is part of it.
    """
    pending_boosts = []
    for channel in (entry[1] for entry in pallet.DepositChannelLookup.items()):
        status = channel.boost_status
        if is_boosted(status) and channel.deposit_channel.asset == asset:
            number = status.prewitnessed_deposit_id
            contribution = pallet.other(BoostFunding).boost_contribution(asset, number)
            amount, for_network = contribution.boosted_amount, contribution.network_fee
            owed = values.OwedAmount(
                total=amount - for_network, fee=max(0, boost_fees(amount)[0] - for_network)
            )
            if amount:
                pending_boosts.append((number, [(BOOSTER, owed)]))
    return sorted(pending_boosts)
