"""Chains, assets, swap limits, fees and boost liquidity, from the node's answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from cfnode.core.assets import ForeignAsset, asset_by_symbol
from cfnode.sdk.assets import chain_named, chain_of, contract_address, display_name, symbol_named, symbol_of
from cfnode.sdk.calls import Call
from cfnode.sdk.environment import environment
from cfnode.sdk.errors import BadAnswer
from cfnode.sdk.exchange import Steps, origin_of, rpc
from cfnode.sdk.limits import SwapEnvironment
from cfnode.sdk.models.chain_info import AssetInfo, BoostLiquidity, ChainInfo, SwapLimits
from cfnode.sdk.names import AssetSymbol, ChainName
from cfnode.sdk.options import ClientSession
from cfnode.sdk.record import read_amount

__all__ = [
    "GetAssets",
    "GetBoostLiquidity",
    "GetChains",
    "GetChannelOpeningFees",
    "GetRequiredBlockConfirmations",
    "GetSwapLimits",
]


@dataclass(frozen=True)
class GetChains(Call[tuple[ChainInfo, ...]]):
    """Return the chains of the supported assets, in order of first appearance, without `source_chain`."""

    source_chain: ChainName | None = None

    def steps(self, session: ClientSession) -> Steps[tuple[ChainInfo, ...]]:
        """Return the chains that have assets to swap, without the source chain."""
        source = chain_named(self.source_chain, "source_chain")
        assets = yield from _supported(session)
        limits = yield from environment(session)
        chains = dict.fromkeys(chain_of(asset) for asset in assets if asset.chain != source)
        return tuple(_chain_info(chain, limits, session) for chain in chains)


@dataclass(frozen=True)
class GetAssets(Call[tuple[AssetInfo, ...]]):
    """Return the supported assets, of one chain or of all."""

    chain: ChainName | None = None

    def steps(self, session: ClientSession) -> Steps[tuple[AssetInfo, ...]]:
        """Return the assets to swap, of one chain or of all."""
        chain = chain_named(self.chain, "chain")
        assets = yield from _supported(session)
        limits = yield from environment(session)
        matching = (asset for asset in assets if chain in (None, asset.chain))
        return tuple(_asset_info(asset, limits, session) for asset in matching)


@dataclass(frozen=True)
class GetSwapLimits(Call[SwapLimits]):
    """Return the smallest and largest amount of a swap in base units, by chain and symbol.

    A maximum of None means unlimited.
    """

    def steps(self, session: ClientSession) -> Steps[SwapLimits]:
        """Return minimum deposits and maximum swaps, in base units by chain and symbol."""
        assets = yield from _supported(session)
        limits = yield from environment(session)
        minimum: dict[str, dict[str, int]] = {}
        maximum: dict[str, dict[str, int | None]] = {}
        for asset in assets:
            minimum.setdefault(asset.chain, {})[asset.symbol] = limits.minimum_deposit(asset)
            maximum.setdefault(asset.chain, {})[asset.symbol] = limits.maximum_swap(asset)
        return SwapLimits(minimum, maximum)


@dataclass(frozen=True)
class GetRequiredBlockConfirmations(Call[dict[str, int | None]]):
    """Return the blocks after which a deposit counts, by chain; None if it counts at once."""

    def steps(self, session: ClientSession) -> Steps[dict[str, int | None]]:
        """Return by chain the number of blocks after which a deposit counts; None: unknown."""
        limits = yield from environment(session)
        return limits.confirmations()


@dataclass(frozen=True)
class GetChannelOpeningFees(Call[dict[str, int]]):
    """Return a broker's fee for opening a channel, in FLIP base units, by source chain."""

    def steps(self, session: ClientSession) -> Steps[dict[str, int]]:
        """Return the fee of a channel by chain, in FLIP atoms."""
        limits = yield from environment(session)
        return limits.opening_fees()


@dataclass(frozen=True)
class GetBoostLiquidity(Call[tuple[BoostLiquidity, ...]]):
    """Return the liquidity of the boost pools, in base units.

    With an asset, the highest tier (basis points) comes first.
    """

    fee_tier_bps: int | None = None
    chain: ChainName | None = None
    asset: AssetSymbol | None = None

    def steps(self, session: ClientSession) -> Steps[tuple[BoostLiquidity, ...]]:
        """Return the boost pools of a chain, or of an asset with the highest fee tier first."""
        chain = chain_named(self.chain, "chain")
        symbol = symbol_named(self.asset, chain, "asset")
        rows = yield from rpc(session, session.rpc_url, "cf_boost_pools_depth", [])
        pools = [_boost(row, session) for row in _list(rows, session, "cf_boost_pools_depth")]
        matching = [pool for pool in pools if self._wants(pool, chain, symbol)]
        return tuple(sorted(matching, key=lambda pool: -pool.fee_tier_bps) if symbol else matching)

    def _wants(self, pool: BoostLiquidity, chain: str | None, symbol: str | None) -> bool:
        criteria = ((self.fee_tier_bps, pool.fee_tier_bps), (chain, pool.chain), (symbol, pool.asset))
        return all(criterion in (None, value) for criterion, value in criteria)


def _supported(session: ClientSession) -> Steps[list[ForeignAsset]]:
    rows = yield from rpc(session, session.rpc_url, "cf_supported_assets", [])
    assets = (_known(row) for row in _list(rows, session, "cf_supported_assets"))
    return [asset for asset in assets if asset is not None]


def _known(row: Any) -> ForeignAsset | None:
    """Return the asset of a row; None for an asset unknown to this version."""
    try:
        return asset_by_symbol(row["chain"], row["asset"])
    except (KeyError, TypeError):
        return None


def _list(value: Any, session: ClientSession, method: str) -> list[Any]:
    if not isinstance(value, list):
        url = origin_of(session.rpc_url)
        raise BadAnswer(f"malformed answer of {method}: expected a list", url=url, sent=True, retryable=False)
    return value


def _chain_info(chain: ChainName, limits: SwapEnvironment, session: ClientSession) -> ChainInfo:
    return ChainInfo(
        chain,
        chain,
        session.network.is_mainnet,
        session.network.evm_chain_ids.get(chain),
        limits.confirmations().get(chain),
        limits.retry_duration_blocks(chain),
    )


def _asset_info(asset: ForeignAsset, limits: SwapEnvironment, session: ClientSession) -> AssetInfo:
    return AssetInfo(
        chainflip_id=asset.name,
        asset=symbol_of(asset),
        chain=chain_of(asset),
        decimals=asset.decimals,
        name=display_name(asset),
        symbol=symbol_of(asset),
        is_mainnet=session.network.is_mainnet,
        minimum_swap_amount=limits.minimum_deposit(asset),
        minimum_egress_amount=limits.dust_limit(asset),
        maximum_swap_amount=limits.maximum_swap(asset),
        contract_address=contract_address(asset, session.network.tokens),
    )


def _boost(row: Any, session: ClientSession) -> BoostLiquidity:
    try:
        amount = read_amount(row["available_amount"], "available_amount")
        symbol, chain = cast("AssetSymbol", str(row["asset"])), cast("ChainName", str(row["chain"]))
        return BoostLiquidity(int(row["tier"]), amount, symbol, chain)
    except (KeyError, TypeError, ValueError) as error:
        text = f"unexpected cf_boost_pools_depth: {error}"
        raise BadAnswer(text, url=origin_of(session.rpc_url), sent=True, retryable=False) from None
