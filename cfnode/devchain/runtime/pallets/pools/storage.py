"""Storage, events and errors of the pools pallet, and access to stored pools.

LiquidityPools (35, pallet_cf_pools). `pools.pallet` has the calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cfnode.core.amm import AmmPool
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import (
    DoubleMap,
    ErrorSet,
    EventSet,
    Map,
    OptionalMap,
    PalletStorage,
    Value,
    event,
    since,
)

from .stored import STABLE, StoredPool, pair_of

__all__ = ["PoolsStorage"]

_CACHE = "BTreeMap<AccountId32, BTreeMap<u64, Range<i32>>>"


class PoolsStorage(PalletStorage):
    """Pools, updates that wait for their block, and limits."""

    Pools = OptionalMap[values.AssetPair, values.Pool]("Twox64Concat", "AssetPair", "Pool")
    ScheduledLimitOrderUpdates = Map[int, Sequence[values.LimitOrderUpdate]](
        "Twox64Concat", "u32", "Vec<LimitOrderUpdate>"
    )
    ScheduledLimitOrderUpdateCount = Map[tuple[bytes, int], int]("Identity", "(AccountId32, u32)", "u32")
    MaximumPriceImpact = OptionalMap[values.AssetPair, int]("Twox64Concat", "AssetPair", "u32")
    LimitOrderAutoSweepingThresholds = Value[Sequence[tuple[str, int]]](
        "BoundedBTreeMap<Asset, u128>",
        default=lambda runtime: runtime.release.dollars(1_000),
    )
    MinimumLimitOrderAmount = Map[str, int]("Twox64Concat", "Asset", "u128", span=since("2.3.0"))
    HistoricalEarnedFees = DoubleMap[bytes, str, int](
        "Identity", "AccountId32", "Twox64Concat", "Asset", "u128"
    )

    class Event(EventSet):
        """Events of pools and orders."""

        NewPoolCreated = event(
            0, base_asset="Asset", quote_asset="Asset", fee_hundredth_pips="u32", initial_price="Price"
        )
        RangeOrderUpdated = event(
            1,
            lp="AccountId32",
            base_asset="Asset",
            quote_asset="Asset",
            id="u64",
            tick_range="Range<i32>",
            size_change="Option<IncreaseOrDecrease<RangeOrderChange>>",
            liquidity_total="u128",
            collected_fees="PoolPairsMap<u128>",
        )
        LimitOrderUpdated = event(
            2,
            lp="AccountId32",
            base_asset="Asset",
            quote_asset="Asset",
            side="Side",
            id="u64",
            tick="i32",
            sell_amount_change="Option<IncreaseOrDecrease<u128>>",
            sell_amount_total="u128",
            collected_fees="u128",
            bought_amount="u128",
        )
        AssetSwapped = event(3, from_="Asset", to="Asset", input_amount="u128", output_amount="u128")
        PoolFeeSet = event(4, base_asset="Asset", quote_asset="Asset", fee_hundredth_pips="u32")
        ScheduledLimitOrderUpdateDispatchSuccess = event(5, lp="AccountId32", order_id="u64")
        ScheduledLimitOrderUpdateDispatchFailure = event(
            6, lp="AccountId32", order_id="u64", error="DispatchError"
        )
        LimitOrderSetOrUpdateScheduled = event(7, lp="AccountId32", order_id="u64", dispatch_at="u32")
        PriceImpactLimitSet = event(8, asset_pair="AssetPair", limit="Option<u32>")
        OrderDeletionFailed = event(9, order="CloseOrder")
        PalletConfigUpdated = event(10, update="pools::PalletConfigUpdate")

    class Error(ErrorSet):
        """Errors of pools and orders."""

        PoolAlreadyExists = "The specified exchange pool already exists."
        PoolDoesNotExist = "The specified exchange pool does not exist."
        UnspecifiedOrderPrice = (
            "For previously unused order ids, you must specific a tick/tick range for the order,\n"
            "thereby specifying the order price associated with that order id"
        )
        PoolDisabled = "The exchange pool is currently disabled."
        InvalidFeeAmount = "the Fee BIPs must be within the allowed range."
        InvalidInitialPrice = "the initial price must be within the allowed range."
        InvalidTickRange = "The Upper or Lower tick is invalid."
        InvalidTick = "The tick is invalid."
        MaximumGrossLiquidity = "One of the referenced ticks reached its maximum gross liquidity"
        OrderDoesNotExist = "The user's order does not exist."
        MaximumPoolInstances = (
            "It is no longer possible to mint limit orders due to reaching the maximum pool\n"
            "instances, other than for ticks where a fixed pool currently exists."
        )
        InsufficientLiquidity = "The pool does not have enough liquidity left to process the swap."
        OutputOverflow = "The swap output is past the maximum allowed amount."
        AssetRatioUnachievable = (
            "There are no amounts between the specified maximum and minimum that match the required\n"
            "ratio of assets"
        )
        UpdatingLimitOrdersDisabled = "Updating Limit Orders is disabled."
        UpdatingRangeOrdersDisabled = "Updating Range Orders is disabled."
        UnsupportedCall = "Unsupported call."
        InvalidDispatchAt = (
            "The update can't be scheduled because the given dispatch_at block is in the past or too\n"
            "far in the future."
        )
        InvalidCloseOrderAt = (
            "The given close_order_at is in the past, not larger than dispatch_at or too far in the\nfuture."
        )
        InvalidSize = "The range order size is invalid."
        SheduledUpdateLimitReached = "The scheduled update limit has been reached."
        OpenOrdersRemaining = "The account still has open orders."
        BelowMinimumOrderAmount = (
            "The resulting limit order amount is below the configured per-asset minimum.",
            since("2.3.0"),
        )

    # Pools

    def assets(self, *providers: bytes) -> list[str]:
        """Return the assets that have a pool, in storage order.

        With providers: those in whose pool one of them may have orders. A pool without the bytes of a
        provider's account has none of its orders, and need not be decoded.
        """
        return [
            pair.assets["base"]
            for pair, raw in self.Pools.raw_items()
            if not providers or any(provider in raw for provider in providers)
        ]

    def pool_asset(self, asset: str, quote_asset: str) -> str:
        """Return the asset of the pool between two. Fails with PoolDoesNotExist if there can be none."""
        self.ensure(quote_asset == STABLE and asset != STABLE, self.Error.PoolDoesNotExist)
        return asset

    def stored_pool(self, asset: str) -> StoredPool:
        """Return a pool with its orders, to be changed and put back. Fails with PoolDoesNotExist."""
        value = self.require(self.Pools.get(pair_of(asset)), self.Error.PoolDoesNotExist)
        return StoredPool.from_value(asset, value)

    def put_back(self, stored: StoredPool) -> None:
        """Store a pool that has changed."""
        self.Pools.put(pair_of(stored.asset), stored.to_value())

    def pool(self, asset: str) -> AmmPool:
        """Return the orders of an asset's pool. Fails with PoolDoesNotExist."""
        return self.stored_pool(asset).pool

    def with_limit_orders(self) -> Iterator[str]:
        """Yield the assets whose pools have limit orders."""
        return (pair.assets["base"] for pair in self.Pools.keys_where(self._has_limit_orders))

    def _has_limit_orders(self, pool: bytes) -> bool:
        """Return whether an encoded pool has limit orders.

        Their cache comes after that of the range orders: no more is decoded.
        """
        _, offset = self.codec(_CACHE).decode_from(pool, 0)
        return pool[offset : offset + 2] != b"\0\0"

    def has_orders(self, who: bytes) -> bool:
        """Return whether an account has open orders."""
        return any(who in self.stored_pool(asset).providers() for asset in self.assets())

    def in_orders(self, who: bytes) -> Iterator[tuple[str, int]]:
        """Yield what an account has in its orders: (asset, amount), an asset more than once."""
        for asset in self.assets():
            stored = self.stored_pool(asset)
            for side, amount in stored.owned_by(who).items():
                yield stored.asset_of(side), amount
