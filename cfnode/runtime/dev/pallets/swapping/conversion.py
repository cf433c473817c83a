"""How much of one asset buys a given amount of another, roughly?

Used for fees that are withheld in a token but spent in the chain's own coin. The main net asks its price
oracle, then its pools, and falls back on prices written into the runtime. The development chain has no
oracle, so its pools come first: what 20 USDC buy or what so much of the asset sells for.
"""

from __future__ import annotations

from cfnode.core.assets import ASSETS
from cfnode.runtime.dev.config import DOLLAR, USD_PRICES
from cfnode.runtime.dev.frame import DispatchError
from cfnode.runtime.dev.pallets.pools.pallet import STABLE, LiquidityPools

from .storage import SwappingStorage

__all__ = ["input_for_output", "network_fee_rate"]

MILLION = 10**6
SAMPLE = 20 * DOLLAR


def input_for_output(
    swapping: SwappingStorage, input_asset: str, output_asset: str, output: int, *, with_fee: bool = True
) -> int:
    """How much of `input_asset` has to be swapped so that about `output` of `output_asset` comes out.

    `with_fee` includes the network fee that the swap will pay, without its minimum.
    """
    if not output or input_asset == output_asset:
        return output
    relative = (_buying(swapping, output_asset) << 128) // _selling(swapping, input_asset)
    wanted = -(-output * relative >> 128)
    rate = network_fee_rate(swapping, input_asset, output_asset) if with_fee else 0
    return wanted * MILLION // (MILLION - rate)


def network_fee_rate(swapping: SwappingStorage, *assets: str) -> int:
    """The network fee for a swap between assets in parts per million: the highest of theirs."""
    standard = swapping.NetworkFee.get()["rate"]
    own = (swapping.NetworkFeeForAsset.get(asset) for asset in assets)
    return max(standard if rate is None else int(rate) for rate in own)


def _buying(swapping: SwappingStorage, asset: str) -> int:
    """Microdollars for the smallest unit when it is bought, with 128 fractional bits."""
    if asset == STABLE:
        return 1 << 128
    try:
        return (SAMPLE << 128) // swapping.other(LiquidityPools).quote(STABLE, asset, SAMPLE)
    except (DispatchError, ZeroDivisionError):
        return _fixed(asset)


def _selling(swapping: SwappingStorage, asset: str) -> int:
    """Microdollars for the smallest unit when it is sold, with 128 fractional bits."""
    if asset == STABLE:
        return 1 << 128
    amount = max(1, (SAMPLE << 128) // _fixed(asset))
    try:
        price = (swapping.other(LiquidityPools).quote(asset, STABLE, amount) << 128) // amount
    except DispatchError:
        price = 0
    return price or _fixed(asset)


def _fixed(asset: str) -> int:
    return (USD_PRICES.get(asset, DOLLAR) << 128) // int(10 ** ASSETS[asset].decimals)
