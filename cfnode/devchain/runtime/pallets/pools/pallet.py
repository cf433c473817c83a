"""Pools pallet: calls of liquidity providers on orders, and the hooks of a block.

LiquidityPools (35, pallet_cf_pools): one pool for each asset against USDC, filled by liquidity providers with
range orders and limit orders (`orders`). `trading` swaps in a pool, and `first_liquidity` has the liquidity
with which pools begin on a development chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cfnode.core.scale import ScaleError
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.chains import ASSET_TERMS
from cfnode.devchain.runtime.config import DevGenesis, DevPool
from cfnode.devchain.runtime.frame import Origin, Pallet, call, migration, part
from cfnode.devchain.runtime.frame.calls import Arguments
from cfnode.devchain.runtime.pallets.account_roles import AccountRoles
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.lp_storage import ProviderStorage

from . import orders
from .first_liquidity import fill
from .governance import PoolsGovernance
from .scheduling import dispatch_due, set_or_schedule, update_or_schedule
from .storage import PoolsStorage
from .stored import STABLE, pair_of
from .sweeping import auto_sweep

__all__ = ["PROVIDER", "STABLE", "LiquidityPools", "pair_of"]

MAX_CLOSED = 100
PROVIDER = "LiquidityProvider"


class LiquidityPools(Pallet):
    """Pools of an asset against USDC."""

    index = 35
    crate = "pallet_cf_pools"

    storage = part(PoolsStorage)
    governance = part(PoolsGovernance, storage)

    def genesis(self, config: DevGenesis) -> None:
        """Create a pool of each asset with its first liquidity, and store the minimum orders."""
        configured = {pool.asset: pool for pool in config.pools}
        for asset in self.runtime.release.assets:
            if asset.name != STABLE and asset.chain not in self.runtime.release.left:
                fill(self.storage, configured.get(asset.name) or DevPool(asset.name))
        self._set_minimums()

    @migration("2.3.0")
    def welcome_new_assets(self) -> None:
        """Set the least limit orders, and open pools with the liquidity of the development chain."""
        self._set_minimums()
        for asset in self.runtime.release.assets:
            if asset.since == "2.3":
                fill(self.storage, DevPool(asset.name))

    def _set_minimums(self) -> None:
        if self.runtime.release.rules.limit_orders_have_minimums:
            for asset in self.runtime.release.asset_names:
                self.storage.MinimumLimitOrderAmount.put(asset, ASSET_TERMS[asset].minimum_limit_order)

    def on_initialize(self, number: int) -> None:
        """Sweep the limit orders that have bought much, then do the updates scheduled for this block."""
        auto_sweep(self.storage, list(self.storage.with_limit_orders()))
        dispatch_due(self.storage, number)

    # Providers' orders

    @call(
        3,
        base_asset="Asset",
        quote_asset="Asset",
        id_="u64",
        option_tick_range="Option<Range<i32>>",
        size_change="IncreaseOrDecrease<RangeOrderSize>",
    )
    def update_range_order(
        self,
        origin: Origin,
        base_asset: str,
        quote_asset: str,
        id_: int,
        option_tick_range: Mapping[str, int] | None,
        size_change: values.IncreaseOrDecrease[values.RangeOrderSize],
    ) -> None:
        """Let a range order grow or shrink, or move it. Liquidity providers."""
        lp, asset = self._provider(origin, base_asset, quote_asset, "range")
        orders.update_range_order(self.storage, lp, asset, id_, option_tick_range, size_change)

    @call(
        4,
        base_asset="Asset",
        quote_asset="Asset",
        id_="u64",
        option_tick_range="Option<Range<i32>>",
        size="RangeOrderSize",
    )
    def set_range_order(
        self,
        origin: Origin,
        base_asset: str,
        quote_asset: str,
        id_: int,
        option_tick_range: Mapping[str, int] | None,
        size: values.RangeOrderSize,
    ) -> None:
        """Let a range order have exactly a size. Liquidity providers."""
        lp, asset = self._provider(origin, base_asset, quote_asset, "range")
        orders.set_range_order(self.storage, lp, asset, id_, option_tick_range, size)

    @call(
        5,
        base_asset="Asset",
        quote_asset="Asset",
        side="Side",
        id_="u64",
        option_tick="Option<i32>",
        amount_change="IncreaseOrDecrease<u128>",
        dispatch_at="Option<u32>",
    )
    def update_limit_order(
        self,
        origin: Origin,
        base_asset: str,
        quote_asset: str,
        side: str,
        id_: int,
        option_tick: int | None,
        amount_change: values.IncreaseOrDecrease[int],
        dispatch_at: int | None,
    ) -> None:
        """Let a limit order sell more or less, now or in one of the next two blocks. Liquidity providers."""
        lp, asset = self._provider(origin, base_asset, quote_asset, "limit")
        change = values.LimitOrderUpdateDetailsUpdate(option_tick=option_tick, amount_change=amount_change)
        update_or_schedule(self.storage, _update(lp, asset, side, id_, change), dispatch_at)

    @call(
        6,
        base_asset="Asset",
        quote_asset="Asset",
        side="Side",
        id_="u64",
        option_tick="Option<i32>",
        sell_amount="u128",
        dispatch_at="Option<u32>",
        close_order_at="Option<u32>",
    )
    def set_limit_order(
        self,
        origin: Origin,
        base_asset: str,
        quote_asset: str,
        side: str,
        id_: int,
        option_tick: int | None,
        sell_amount: int,
        dispatch_at: int | None,
        close_order_at: int | None,
    ) -> None:
        """Let a limit order sell exactly an amount, from a block on, up to a block. Liquidity providers."""
        lp, asset = self._provider(origin, base_asset, quote_asset, "limit")
        orders.ensure_enough(self.storage, asset, side, sell_amount)
        order = values.LimitOrderUpdateDetailsSet(
            option_tick=option_tick, sell_amount=sell_amount, close_order_at=close_order_at
        )
        set_or_schedule(self.storage, _update(lp, asset, side, id_, order), order, dispatch_at)

    @call(10, orders="BoundedVec<CloseOrder>")
    def cancel_orders_batch(self, origin: Origin, orders: Sequence[values.CloseOrder]) -> None:
        """Close up to a hundred orders; those that do not exist are named. Liquidity providers."""
        lp = self.other(AccountRoles).ensure_role(origin, PROVIDER)
        self.ensure(self._may_update("limit"), self.storage.Error.UpdatingLimitOrdersDisabled)
        for order in orders:
            if not self._closed(lp, order):
                self.deposit(self.storage.Event.OrderDeletionFailed, order=order)

    def _closed(self, lp: bytes, order: values.CloseOrder) -> bool:
        asset = self.storage.pool_asset(order.base_asset, order.quote_asset)
        if isinstance(order, values.CloseOrderLimit):
            return orders.close_limit_order(self.storage, lp, asset, order.side, order.id)
        return orders.close_range_order(self.storage, lp, asset, order.id)

    def check_bounds(self, name: str, arguments: Arguments) -> None:
        """Raise ScaleError if a list of orders or updates is longer than its bound."""
        self.governance.check_bounds(arguments)
        if len(arguments.get("orders", ())) > MAX_CLOSED:
            raise ScaleError(f"orders: up to {MAX_CLOSED}, not {len(arguments['orders'])}")

    def _provider(self, origin: Origin, base_asset: str, quote_asset: str, kind: str) -> tuple[bytes, str]:
        """Return the provider that signed, and the asset of the pool between the two assets."""
        error = self.storage.Error
        disabled = error.UpdatingLimitOrdersDisabled if kind == "limit" else error.UpdatingRangeOrdersDisabled
        self.ensure(self._may_update(kind), disabled)
        lp = self.other(AccountRoles).ensure_role(origin, PROVIDER)
        for asset in (base_asset, quote_asset):
            self.other(ProviderStorage).ensure_refund_address(lp, asset)
        return lp, self.storage.pool_asset(base_asset, quote_asset)

    def _may_update(self, kind: str) -> bool:
        return self.other(EnvironmentStorage).safe_mode("pools", f"{kind}_order_update_enabled")

    def on_killed_account(self, who: bytes) -> None:
        """Remove the counts of earned fees of an account that ends."""
        self.storage.HistoricalEarnedFees.clear(who)


def _update(
    lp: bytes, asset: str, side: str, number: int, details: values.LimitOrderUpdateDetails[int]
) -> values.LimitOrderUpdate:
    return values.LimitOrderUpdate(
        lp=lp, base_asset=asset, quote_asset=STABLE, side=side, id=number, details=details
    )
