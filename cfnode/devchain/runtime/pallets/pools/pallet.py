"""At what price does an asset change into dollars?

LiquidityPools (35, pallet_cf_pools): one pool for each asset against USDC, filled by liquidity providers with
range orders and limit orders. On the development chain an account without a key has an order over all prices
in each; other providers add theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cfnode.core.amm import (
    MAX_TICK,
    MIN_TICK,
    LimitPool,
    OutOfLiquidity,
    Pool,
    RangePool,
    Sold,
    liquidity_for_quote,
    sqrt_price_of_amounts,
)
from cfnode.core.assets import ASSETS
from cfnode.core.scale import ScaleError
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.config import DevGenesis, DevPool
from cfnode.devchain.runtime.frame import Origin, call, migration
from cfnode.devchain.runtime.frame.calls import Arguments
from cfnode.devchain.runtime.pallets import bitcoin_vault
from cfnode.devchain.runtime.pallets.account_roles import AccountRoles
from cfnode.devchain.runtime.pallets.environment import Environment
from cfnode.devchain.runtime.pallets.lp_storage import ProviderStorage

from . import orders
from .governance import PoolsGovernance
from .scheduling import dispatch_due, set_or_schedule, update_or_schedule
from .stored import STABLE, StoredPool, pair_of

__all__ = ["MAKER", "PROVIDER", "STABLE", "LiquidityPools", "pair_of"]

MAKER = b"cfnode-dev/liquidity".ljust(32, b"\0")
"""The account whose order is the liquidity that every development pool begins with."""

POOL_FEE = 20  # parts per million
MAX_AMOUNT = 2**128 - 1
MAX_CLOSED = 100
PROVIDER = "LiquidityProvider"

_FIVE_DOLLARS = 5 * 10**6
MINIMUM_LIMIT_ORDERS = {
    "Eth": 3 * 10**15,
    "Flip": 10 * 10**18,
    "Usdc": _FIVE_DOLLARS,
    "Usdt": _FIVE_DOLLARS,
    "Wbtc": 10_000,
    "Dot": 5 * 10**10,
    "Btc": 10_000,
    "ArbEth": 3 * 10**15,
    "ArbUsdc": _FIVE_DOLLARS,
    "ArbUsdt": _FIVE_DOLLARS,
    "Sol": 10**8,
    "SolUsdc": _FIVE_DOLLARS,
    "SolUsdt": _FIVE_DOLLARS,
    "HubDot": 5 * 10**10,
    "HubUsdt": _FIVE_DOLLARS,
    "HubUsdc": _FIVE_DOLLARS,
    "Trx": 15 * 10**6,
    "TrxUsdt": _FIVE_DOLLARS,
    "Bnb": 10**16,
    "BscUsdt": 5 * 10**18,
    "Cbbtc": 10_000,
}
"""What the main net's upgrade to 2.3 sets, in smallest units of the asset that is sold."""


class LiquidityPools(PoolsGovernance):
    """Pools of an asset against USDC."""

    index = 35

    def genesis(self, config: DevGenesis) -> None:
        stated = {pool.asset: pool for pool in config.pools}
        for asset in self.runtime.release.assets:
            if asset.name != STABLE and asset.chain not in self.runtime.release.left:
                self._fill(stated.get(asset.name) or DevPool(asset.name))
        if self.runtime.release.rules.minimum_limit_orders:
            self._set_minimums()

    @migration("2.3.0")
    def welcome_new_assets(self) -> None:
        """Set the least limit orders, and open pools with the liquidity of the development chain."""
        self._set_minimums()
        for asset in ("Bnb", "BscUsdt", "Cbbtc"):
            self._fill(DevPool(asset))

    def _set_minimums(self) -> None:
        for asset, amount in MINIMUM_LIMIT_ORDERS.items():
            self.MinimumLimitOrderAmount.put(asset, amount)

    def on_initialize(self, number: int) -> None:
        """Pay out what has bought much, then do what was scheduled for this block."""
        orders.auto_sweep(self, list(self.with_limit_orders()))
        dispatch_due(self, number)

    # Swapping

    def swap(self, from_asset: str, to_asset: str, amount: int) -> int:
        """Change an amount; one of the assets is USDC. InsufficientLiquidity, and nothing has happened.

        Nothing can always be changed, into nothing.
        """
        asset, sold = direction(from_asset, to_asset)
        stored = self.stored_pool(asset)
        made = self._tried(asset, stored.pool, sold, amount)
        stored.pool = made.pool
        self.put_back(stored)
        self.deposit(
            self.Event.AssetSwapped,
            **{"from": from_asset},
            to=to_asset,
            input_amount=amount,
            output_amount=made.output,
        )
        return made.output

    def quote(self, from_asset: str, to_asset: str, amount: int) -> int:
        """What `swap` would give, changing nothing."""
        asset, sold = direction(from_asset, to_asset)
        return self._tried(asset, self.pool(asset), sold, amount).output

    def _tried(self, asset: str, pool: Pool, sold: str, amount: int) -> Sold:
        if not amount:
            return Sold(0, 0, pool)
        try:
            made = pool.sell(sold, amount)
        except OutOfLiquidity:
            self.fail(self.Error.InsufficientLiquidity)
        limit = self.MaximumPriceImpact.get(pair_of(asset))
        self.ensure(limit is None or made.impact <= limit, self.Error.InsufficientLiquidity)
        self.ensure(made.output <= MAX_AMOUNT, self.Error.OutputOverflow)
        return made

    # The liquidity of the development chain

    def refill(self, asset: str, price: int | None, depth: int | None) -> dict[str, int]:
        """Set a pool's price (of a whole unit) and its USDC, both in microdollars, or keep either.

        Returns what is in the pool then, by side. The order that is there from the beginning is replaced;
        other providers' range orders are closed, since they hold what they hold at the price that was.
        """
        for lp, number, _, _ in list(self.stored_pool(asset).range_orders()):
            if lp != MAKER:
                orders.close_range_order(self, lp, asset, number)
        stored = self.stored_pool(asset)
        old = stored.pool.range_orders
        unit = 10 ** ASSETS[asset].decimals
        sqrt_price = old.current_sqrt_price if price is None else sqrt_price_of_amounts(unit, price)
        liquidity = old.current_liquidity if depth is None else liquidity_for_quote(sqrt_price, depth)
        made = RangePool.full_range((MAKER, 0), sqrt_price, liquidity, old.fee_hundredth_pips)
        kept = ("total_fees_earned", "total_swap_inputs", "total_swap_outputs")
        ranges = replace(made, **{name: getattr(old, name) for name in kept})
        stored.pool = replace(stored.pool, range_orders=ranges)
        self.put_back(stored)
        held = made.value(MIN_TICK, MAX_TICK, liquidity)
        if asset == "Btc":
            bitcoin_vault.conjure(self, held["base"])
        return held

    def _fill(self, pool: DevPool) -> None:
        sqrt_price = sqrt_price_of_amounts(10 ** ASSETS[pool.asset].decimals, pool.microdollars)
        liquidity = liquidity_for_quote(sqrt_price, pool.depth)
        ranges = RangePool.full_range((MAKER, 0), sqrt_price, liquidity, POOL_FEE)
        places = {MAKER: {0: (MIN_TICK, MAX_TICK)}}
        made = Pool(LimitPool.empty(), ranges)
        self.put_back(StoredPool(pool.asset, made, places, {"base": {}, "quote": {}}))
        if pool.asset == "Btc":
            bitcoin_vault.conjure(self, ranges.value(MIN_TICK, MAX_TICK, liquidity)["base"])

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
        orders.update_range_order(self, lp, asset, id_, option_tick_range, size_change)

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
        orders.set_range_order(self, lp, asset, id_, option_tick_range, size)

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
        update_or_schedule(self, _update(lp, asset, side, id_, change), dispatch_at)

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
        orders.ensure_enough(self, asset, side, sell_amount)
        order = values.LimitOrderUpdateDetailsSet(
            option_tick=option_tick, sell_amount=sell_amount, close_order_at=close_order_at
        )
        set_or_schedule(self, _update(lp, asset, side, id_, order), order, dispatch_at)

    @call(10, orders="BoundedVec<CloseOrder>")
    def cancel_orders_batch(self, origin: Origin, orders: Sequence[values.CloseOrder]) -> None:
        """Close up to a hundred orders; those that do not exist are named. Liquidity providers."""
        lp = self.other(AccountRoles).ensure_role(origin, PROVIDER)
        self.ensure(self._may_update("limit"), self.Error.UpdatingLimitOrdersDisabled)
        for order in orders:
            if not self._closed(lp, order):
                self.deposit(self.Event.OrderDeletionFailed, order=order)

    def _closed(self, lp: bytes, order: values.CloseOrder) -> bool:
        asset = self.pool_asset(order.base_asset, order.quote_asset)
        if isinstance(order, values.CloseOrderLimit):
            return orders.close_limit_order(self, lp, asset, order.side, order.id)
        return orders.close_range_order(self, lp, asset, order.id)

    def check_bounds(self, name: str, arguments: Arguments) -> None:
        super().check_bounds(name, arguments)
        if len(arguments.get("orders", ())) > MAX_CLOSED:
            raise ScaleError(f"orders: up to {MAX_CLOSED}, not {len(arguments['orders'])}")

    def _provider(self, origin: Origin, base_asset: str, quote_asset: str, kind: str) -> tuple[bytes, str]:
        """The provider that signed, and the asset of the pool it means."""
        error = self.Error
        disabled = error.UpdatingLimitOrdersDisabled if kind == "limit" else error.UpdatingRangeOrdersDisabled
        self.ensure(self._may_update(kind), disabled)
        lp = self.other(AccountRoles).ensure_role(origin, PROVIDER)
        for asset in (base_asset, quote_asset):
            self.other(ProviderStorage).ensure_refund_address(lp, asset)
        return lp, self.pool_asset(base_asset, quote_asset)

    def _may_update(self, kind: str) -> bool:
        return self.other(Environment).safe_mode("pools", f"{kind}_order_update_enabled")

    def has_orders(self, who: bytes) -> bool:
        """Whether an account has open orders."""
        return any(who in self.stored_pool(asset).providers() for asset in self.assets())

    def in_orders(self, who: bytes) -> Iterator[tuple[str, int]]:
        """What an account has in its orders: (asset, amount), the same asset more than once."""
        for asset in self.assets():
            stored = self.stored_pool(asset)
            for side, amount in stored.owned_by(who).items():
                yield stored.asset_of(side), amount

    def sweep(self, who: bytes) -> None:
        """Pay out what an account's orders have earned."""
        orders.sweep(self, who)

    def sweep_all(self) -> None:
        """Pay out what all orders have earned."""
        orders.sweep(self)

    def on_killed_account(self, who: bytes) -> None:
        self.HistoricalEarnedFees.clear(who)


def _update(
    lp: bytes, asset: str, side: str, number: int, details: values.LimitOrderUpdateDetails[int]
) -> values.LimitOrderUpdate:
    return values.LimitOrderUpdate(
        lp=lp, base_asset=asset, quote_asset=STABLE, side=side, id=number, details=details
    )


def direction(from_asset: str, to_asset: str) -> tuple[str, str]:
    """The pool between two assets, and which of its sides is sold."""
    return (from_asset, "base") if to_asset == STABLE else (to_asset, "quote")
