"""How much of one asset buys a given amount of another, roughly?

Used for fees that are withheld in a token but spent in the chain's own coin. The main net asks its price
oracle, then its pools, and falls back on prices written into the runtime; the development chain has only
these.
"""

from __future__ import annotations

from cfnode.core.assets import ASSETS

from .storage import SwappingStorage

__all__ = ["input_for_output", "network_fee_rate"]

MILLION = 10**6
_CENTS = 10**4  # of a microdollar price
# In microdollars for a whole unit.
_STABLE = MILLION
USD_PRICES: dict[str, int] = {
    "Flip": 40 * _CENTS,
    "Eth": 2_800 * MILLION,
    "ArbEth": 2_800 * MILLION,
    "Dot": 2 * MILLION,
    "HubDot": 2 * MILLION,
    "Btc": 86_500 * MILLION,
    "Wbtc": 86_500 * MILLION,
    "Sol": 127 * MILLION,
    "Trx": 30 * _CENTS,
}


def input_for_output(swapping: SwappingStorage, input_asset: str, output_asset: str, output: int) -> int:
    """How much of `input_asset` has to be swapped so that about `output` of `output_asset` comes out.

    The network fee that the swap will pay is included, without its minimum.
    """
    if not output:
        return 0
    relative = (_price(output_asset) << 128) // _price(input_asset)
    wanted = -(-output * relative >> 128)
    return wanted * MILLION // (MILLION - network_fee_rate(swapping, input_asset, output_asset))


def network_fee_rate(swapping: SwappingStorage, *assets: str) -> int:
    """The network fee for a swap between assets in parts per million: the highest of theirs."""
    standard = swapping.NetworkFee.get()["rate"]
    own = (swapping.NetworkFeeForAsset.get(asset) for asset in assets)
    return max(standard if rate is None else int(rate) for rate in own)


def _price(asset: str) -> int:
    """Microdollars for the smallest unit, with 128 fractional bits."""
    return (USD_PRICES.get(asset, _STABLE) << 128) // int(10 ** ASSETS[asset].decimals)
