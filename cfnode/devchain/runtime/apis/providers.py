"""`CustomRuntimeApi` methods for a liquidity provider's balances and earnings.

What orders have earned is paid out before it is counted (`ShouldSweep`). An answer changes no state, so the
chain itself pays later. There are no loans here, so no positions and no collateral.
"""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import RuntimeApi, enum, method, struct
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.lp_storage import ProviderStorage
from cfnode.devchain.runtime.pallets.pools.storage import PoolsStorage
from cfnode.devchain.runtime.pallets.pools.sweeping import sweep

from .orders import boost_pools

__all__ = ["ProvidersApi", "free_balances"]

_API = "state_chain_runtime::runtime_apis::custom_api::types"
enum(f"{_API}::ShouldSweep", "Yes", "No")
struct(
    f"{_API}::LiquidityProviderBoostPoolInfo",
    fee_tier="u16",
    total_balance="u128",
    available_balance="u128",
    in_use_balance="u128",
    is_withdrawing="bool",
)
struct(f"{_API}::LendingPosition<Amount>", asset="Asset", total_amount="Amount", available_amount="Amount")
struct(
    f"{_API}::LiquidityProviderInfo",
    refund_addresses="Vec<(ForeignChain, Option<ForeignChainAddress>)>",
    balances="Vec<(Asset, u128)>",
    earned_fees="AssetMap<u128>",
    boost_balances="AssetMap<Vec<LiquidityProviderBoostPoolInfo>>",
    lending_positions="Vec<LendingPosition<u128>>",
    collateral_balances="Vec<(Asset, u128)>",
)

ByAsset = dict[str, dict[str, int]]


def free_balances(api: RuntimeApi, account_id: bytes, should_sweep: str) -> ByAsset:
    """Return what an account owns outside of orders; swept earnings of its orders are part of it."""
    if should_sweep == "Yes":
        sweep(api.other(PoolsStorage), account_id)
    balances = api.other(AssetBalances)
    return api.runtime.release.asset_map(lambda asset: balances.balance(account_id, asset))


class ProvidersApi(RuntimeApi):
    """Balances, and providers' affairs."""

    api = "CustomRuntimeApi"

    @method("AssetMap<u128>", account_id="AccountId32")
    def cf_free_balances(self, account_id: bytes) -> ByAsset:
        """Return what an account owns of every foreign asset."""
        return free_balances(self, account_id, "Yes")

    @method("AssetMap<u128>", account_id="AccountId32")
    def cf_lp_total_balances(self, account_id: bytes) -> ByAsset:
        """Return what an account owns of every foreign asset, with its orders and what boosts deposits."""
        pools = self.other(PoolsStorage)
        sweep(pools, account_id)
        release, balances = self.runtime.release, self.other(AssetBalances)
        owned = {asset: balances.balance(account_id, asset) for asset in release.asset_names}
        for asset, amount in pools.in_orders(account_id):
            owned[asset] += amount
        for asset in owned:
            owned[asset] += sum(boost.total_balance for boost in self._boosts(account_id, asset))
        return release.asset_map(owned.__getitem__)

    @method("LiquidityProviderInfo", account_id="AccountId32", should_sweep="ShouldSweep")
    def cf_liquidity_provider_info(
        self, account_id: bytes, should_sweep: str
    ) -> values.LiquidityProviderInfo:
        """Where a provider wants its assets back, and what it owns, has earned and has put up for boosts."""
        free_balances(self, account_id, should_sweep)
        release = self.runtime.release
        pools, balances = self.other(PoolsStorage), self.other(AssetBalances)
        refunds = self.other(ProviderStorage).refund_addresses
        return values.LiquidityProviderInfo(
            refund_addresses=[(chain, refunds.get(account_id, chain)) for chain in release.chains],
            balances=[(asset, balances.balance(account_id, asset)) for asset in release.asset_names],
            earned_fees=release.asset_map(lambda asset: pools.HistoricalEarnedFees.get(account_id, asset)),
            boost_balances=release.asset_map(lambda asset: self._boosts(account_id, asset)),
            lending_positions=[],
            collateral_balances=[],
        )

    def _boosts(self, account_id: bytes, asset: str) -> Sequence[values.LiquidityProviderBoostPoolInfo]:
        """Return what an account has in the boost pools of an asset, free and in pending deposits."""
        boosts = []
        for tier, pool in boost_pools(self, asset):
            free_amount = dict(pool.available_amounts).get(account_id, 0)
            owed = [dict(shares).get(account_id) for _, shares in pool.pending_boosts]
            used = sum(share.total for share in owed if share)
            if free_amount or used:
                boosts.append(
                    values.LiquidityProviderBoostPoolInfo(
                        fee_tier=tier,
                        total_balance=free_amount + used,
                        available_balance=free_amount,
                        in_use_balance=used,
                        is_withdrawing=account_id in dict(pool.pending_withdrawals),
                    )
                )
        return boosts
