"""Rough conversion of an amount of one asset into the amount of another that buys it.

Fees that are withheld in a token but spent in the chain's own coin are converted with it. The oracle is asked
first, where it has a price; then the pools: what 20 USDC buy or what so much of the asset sells for; last
come prices that are written into the runtime.
"""

from __future__ import annotations

from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime.chains import ASSET_TERMS, DOLLAR
from cfnode.devchain.runtime.frame import DispatchError
from cfnode.devchain.runtime.pallets.oracle import OracleFeed
from cfnode.devchain.runtime.pallets.pools import trading
from cfnode.devchain.runtime.pallets.pools.storage import PoolsStorage
from cfnode.devchain.runtime.pallets.pools.stored import STABLE

from .fees import network_fee, share
from .parameters import STABLES
from .storage import SwappingStorage

__all__ = ["input_for_output", "with_network_fee"]

ALL, FIXED_ONE = 10_000, 10**9
SAMPLE = 20 * DOLLAR
SLIPPAGE, SLIPPAGE_OF_DOLLARS = 40, 3
"""Basis points by which a price is taken to be worse than the oracle's."""


def input_for_output(
    swapping: SwappingStorage, input_asset: str, output_asset: str, output: int, *, with_fee: bool = True
) -> int:
    """Return how much of `input_asset` has to be swapped for about `output` of `output_asset`.

    `with_fee` includes the network fee that the swap will pay, without its minimum.
    """
    needed_input = output
    if output and input_asset != output_asset:
        buying = _dollars(swapping, output_asset, is_bought=True)
        selling = _dollars(swapping, input_asset, is_bought=False)
        relative = (buying << 128) // selling
        needed_input = -(-output * relative >> 128)
    return with_network_fee(swapping, needed_input, input_asset, output_asset) if with_fee else needed_input


def with_network_fee(swapping: SwappingStorage, amount: int, *assets: str) -> int:
    """Return so much that `amount` remains after the network fee.

    The fee is in whole basis points, the factor has nine decimals.
    """
    rate = share(network_fee(swapping, *assets).rate, ALL)
    return amount * (ALL * FIXED_ONE // (ALL - rate)) // FIXED_ONE if rate < ALL else 0


def _dollars(swapping: SwappingStorage, asset: str, *, is_bought: bool) -> int:
    """Return microdollars for the smallest unit (X128); an oracle's price is taken a little worse."""
    oracle = swapping.other(OracleFeed)
    reading = oracle.oracle_price(asset)
    if reading is not None:
        slippage = 0 if asset == STABLE else SLIPPAGE_OF_DOLLARS if asset in STABLES else SLIPPAGE
        return reading.price * (10_000 + (slippage if is_bought else -slippage)) // 10_000
    in_usdc = _buying(swapping, asset) if is_bought else _selling(swapping, asset)
    usdc = oracle.oracle_price(STABLE)
    return in_usdc if usdc is None else in_usdc * usdc.price >> 128


def _buying(swapping: SwappingStorage, asset: str) -> int:
    """Return microdollars for the smallest unit when it is bought, with 128 fractional bits."""
    if asset == STABLE:
        return 1 << 128
    try:
        return (SAMPLE << 128) // trading.quote(swapping.other(PoolsStorage), STABLE, asset, SAMPLE)
    except (DispatchError, ZeroDivisionError):
        return _fixed(asset)


def _selling(swapping: SwappingStorage, asset: str) -> int:
    """Return microdollars for the smallest unit when it is sold, with 128 fractional bits."""
    if asset == STABLE:
        return 1 << 128
    amount = max(1, (SAMPLE << 128) // _fixed(asset))
    try:
        price = (trading.quote(swapping.other(PoolsStorage), asset, STABLE, amount) << 128) // amount
    except DispatchError:
        price = 0
    return price or _fixed(asset)


def _fixed(asset: str) -> int:
    return (ASSET_TERMS[asset].price << 128) // int(10 ** ASSETS[asset].decimals)
