"""Checks of a swap's parameters, and fees at genesis.

The checks limit retries, the pieces a swap is cut into (DCA), and price protection by the oracle, and say
where the output can go.
"""

from __future__ import annotations

from cfnode.core.addresses import EncodedAddress, ForeignAddress, chain_of_address
from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.pallets.addresses import decoded

from .storage import SwappingStorage

__all__ = [
    "FLIP_BUY_INTERVAL",
    "INTERNAL_NETWORK_FEE",
    "NETWORK_FEE",
    "ORACLE_ASSETS",
    "SLIPPAGE_OF_STABLES",
    "STABLES",
    "check_dca",
    "check_price_protection",
    "check_retry",
    "destination_on",
]


NETWORK_FEE = values.FeeRateAndMinimum(rate=1_000, minimum=500_000)
INTERNAL_NETWORK_FEE = values.FeeRateAndMinimum(rate=100, minimum=500_000)
"""Rates in parts per million, minimum in the smallest unit of USDC."""

FLIP_BUY_INTERVAL = 100
SLIPPAGE_OF_STABLES = 50
_MAX_U32 = 2**32 - 1

STABLES = frozenset({"Usdt", "ArbUsdc", "ArbUsdt", "SolUsdc", "SolUsdt", "HubUsdt", "HubUsdc", "TrxUsdt"})
"""Dollar tokens besides USDC on Ethereum, in which everything is quoted."""

ORACLE_ASSETS = STABLES | {"Eth", "ArbEth", "Btc", "Sol", "Usdc"}
"""Assets for which there is a price feed."""


def destination_on(swapping: SwappingStorage, asset: str, address: EncodedAddress) -> ForeignAddress:
    """Return an address to which the asset can be sent, in its checked form.

    Fails with InvalidDestinationAddress, IncompatibleAssetAndAddress.
    """
    error = swapping.Error
    destination = decoded(swapping, address, error.InvalidDestinationAddress)
    is_on_chain = chain_of_address(destination) == ASSETS[asset].chain
    swapping.ensure(is_on_chain, error.IncompatibleAssetAndAddress)
    return destination


def check_retry(swapping: SwappingStorage, retry_duration: int) -> None:
    """Fail with RetryDurationTooHigh if a swap is retried for more blocks than the chain allows."""
    longest = swapping.MaxSwapRetryDurationBlocks.get()
    swapping.ensure(retry_duration <= longest, swapping.Error.RetryDurationTooHigh)


def check_price_protection(swapping: SwappingStorage, slippage: int | None, *assets: str) -> None:
    """Fail with OraclePriceNotAvailable if an asset of a protected swap has no price feed."""
    available = slippage is None or ORACLE_ASSETS.issuperset(assets)
    swapping.ensure(available, swapping.Error.OraclePriceNotAvailable)


def check_dca(swapping: SwappingStorage, dca: values.DcaParameters | None) -> None:
    """Fail if the chunks of a swap (DCA) are invalid, or go on for longer than the chain allows."""
    if dca is None or dca.number_of_chunks == 1:
        return
    error = swapping.Error
    swapping.ensure(dca.number_of_chunks != 0, error.ZeroNumberOfChunksNotAllowed)
    swapping.ensure(dca.chunk_interval != 0, error.ChunkIntervalTooLow)
    duration = (dca.number_of_chunks - 1) * dca.chunk_interval
    swapping.ensure(duration <= _MAX_U32, error.InvalidDcaParameters)
    longest = swapping.MaxSwapRequestDurationBlocks.get()
    swapping.ensure(duration <= longest, error.SwapRequestDurationTooLong)
