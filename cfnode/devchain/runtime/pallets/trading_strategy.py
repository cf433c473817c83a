"""Least amounts of trading strategies.

TradingStrategy (52): orders that the chain keeps for a liquidity provider. There are none on a
development chain, only the settings, which are those that the main net's runtime begins with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cfnode.devchain.runtime.frame import OwnersRuntime, Pallet, Value

__all__ = ["TradingStrategy"]


def _of_each(dollars: int) -> Callable[[OwnersRuntime], list[tuple[str, int]]]:
    return lambda runtime: runtime.release.dollars(dollars)


class TradingStrategy(Pallet):
    """Least amounts by asset; strategies can have no other assets."""

    index = 52
    crate = "pallet_cf_trading_strategy"

    LimitOrderUpdateThresholds = Value[Sequence[tuple[str, int]]](
        "BTreeMap<Asset, u128>", default=_of_each(1_000)
    )
    MinimumDeploymentAmountForStrategy = Value[Sequence[tuple[str, int]]](
        "BTreeMap<Asset, u128>", default=_of_each(20_000)
    )
    MinimumAddedFundsToStrategy = Value[Sequence[tuple[str, int]]](
        "BTreeMap<Asset, u128>", default=_of_each(10)
    )
