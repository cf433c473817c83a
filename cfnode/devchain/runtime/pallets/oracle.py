"""Oracle prices of assets in dollars, which a test sets.

On the main net the authorities read prices in dollars from oracles on other chains; elections keep the
newest, and say how old it is. Here a test sets them; there are none before. A price is that of one feed: all
tokens of USDC share one, as do those of USDT, and ETH on Ethereum and on Arbitrum.
"""

from __future__ import annotations

from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import OptionalMap, PalletStorage, enum, struct

from .system import System
from .timestamp import Timestamp

__all__ = ["FEEDS", "OracleFeed"]

_ORACLE = "pallet_cf_elections::electoral_systems::oracle_price"
enum(f"{_ORACLE}::price::PriceAsset", "Btc", "Eth", "Sol", "Usdc", "Usdt", "Usd", "Fine")
enum(f"{_ORACLE}::state_machine::PriceStatus", "UpToDate", "MaybeStale", "Stale")
struct(
    "cfnode_dev::OracleReading",
    price="Price",
    read_at="u64",
    block="u32",
    is_stale="bool",
)

FEEDS = {
    "Btc": ("Btc",),
    "Eth": ("Eth", "ArbEth"),
    "Sol": ("Sol",),
    "Usdc": ("Usdc", "ArbUsdc", "SolUsdc", "HubUsdc"),
    "Usdt": ("Usdt", "ArbUsdt", "SolUsdt", "HubUsdt", "TrxUsdt"),
}
"""Assets of each price feed."""

_FEED_OF = {asset: feed for feed, assets in FEEDS.items() for asset in assets}


class OracleFeed(PalletStorage):
    """The part of `Dev` with the prices that were read."""

    OraclePrices = OptionalMap[str, values.OracleReading]("Twox64Concat", "PriceAsset", "OracleReading")

    def read_price(self, feed: str, microdollars: int | None, *, is_stale: bool) -> None:
        """Store a price of a whole unit in microdollars; remove it for None."""
        if microdollars is None:
            self.OraclePrices.remove(feed)
            return
        unit = 10 ** ASSETS[FEEDS[feed][0]].decimals
        reading = values.OracleReading(
            price=(microdollars << 128) // unit,
            read_at=self.other(Timestamp).Now.get() // 1000,
            block=self.other(System).Number.get(),
            is_stale=is_stale,
        )
        self.OraclePrices.put(feed, reading)

    def oracle_price(self, asset: str) -> values.OracleReading | None:
        """Return the newest reading of an asset's price (X128, microdollars a smallest unit), or None."""
        feed = _FEED_OF.get(asset)
        return None if feed is None else self.OraclePrices.get(feed)

    def is_stale(self, asset: str) -> bool:
        """Return whether an asset's price is too old to be relied on."""
        reading = self.oracle_price(asset)
        return reading is not None and reading.is_stale
