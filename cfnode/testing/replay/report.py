"""Report of a replay: fills, inventory, fees and profit, exact and equal in each run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cfnode.core.assets import ASSETS
from cfnode.sdk.lp.answers import BlockFills, Fill
from cfnode.sdk.times import time_text
from cfnode.testing.replay.records import DOLLAR_DECIMALS, QUOTE, RecordedSwap

__all__ = ["Holding", "RefusedSwap", "Report", "dollars", "fees_of", "holdings_of", "value_of"]

FLIP = "Flip"


@dataclass(frozen=True, slots=True)
class Holding:
    """The holding of one asset in base units, and its price in microdollars, at the start and the end.

    A price is for a whole unit, and None if the file has none.
    """

    asset: str
    start: int
    end: int
    start_price: int | None
    end_price: int | None

    @property
    def profit(self) -> int:
        """The change of the amount at the last price, in microdollars, rounded down."""
        return value_of(self.asset, self.end - self.start, self.end_price)

    @property
    def start_value(self) -> int:
        """The value at the first price, in microdollars, rounded down."""
        return value_of(self.asset, self.start, self.start_price)

    @property
    def end_value(self) -> int:
        """The value at the last price, in microdollars, rounded down."""
        return value_of(self.asset, self.end, self.end_price)


@dataclass(frozen=True, slots=True)
class RefusedSwap:
    """A recorded swap whose deposit the chain refused in a block, with the reason."""

    swap: RecordedSwap
    block_number: int
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a replay. Times are Unix milliseconds, amounts base units, dollars microdollars.

    `holdings`: the inventory by asset, orders included, since they are cancelled at the end. `pool_fees`: the
    part of it that swaps paid as fees. `transaction_fees`: FLIP in base units, from the account's own funds,
    at `flip_price` if the file has one (else they are not in the profit).
    """

    start: int
    end: int
    blocks: int
    last_block: str
    prices: int
    swaps: int
    refused: tuple[RefusedSwap, ...]
    fills: tuple[BlockFills, ...]
    holdings: tuple[Holding, ...]
    pool_fees: Mapping[str, int]
    transaction_fees: int
    flip_price: int | None

    @property
    def trading_profit(self) -> int:
        """The value of the last inventory, less that of the first one, both at the last prices.

        In microdollars.
        """
        return sum(holding.profit for holding in self.holdings)

    @property
    def profit(self) -> int:
        """The trading profit less the transaction fees, in microdollars."""
        return self.trading_profit - value_of(FLIP, self.transaction_fees, self.flip_price)

    @property
    def filled_orders(self) -> int:
        """The number of fills: an order in a block counts once."""
        return sum(len(block.fills) for block in self.fills)

    def document(self) -> dict[str, Any]:
        """Return the report as JSON: amounts are base units as text, dollars decimal text."""
        return {
            "from": time_text(self.start),
            "to": time_text(self.end),
            "blocks": self.blocks,
            "lastBlock": self.last_block,
            "prices": self.prices,
            "swaps": {"sent": self.swaps, "refused": [_refused(swap) for swap in self.refused]},
            "fills": [_filled(block, fill) for block in self.fills for fill in block.fills],
            "inventory": [_held(holding) for holding in self.holdings],
            "poolFees": _texts(self.pool_fees),
            "transactionFees": {FLIP: str(self.transaction_fees)},
            "flipPrice": None if self.flip_price is None else dollars(self.flip_price),
            "startValue": dollars(sum(holding.start_value for holding in self.holdings)),
            "endValue": dollars(sum(holding.end_value for holding in self.holdings)),
            "tradingProfit": dollars(self.trading_profit),
            "profit": dollars(self.profit),
        }


def holdings_of(
    start: Mapping[str, int],
    end: Mapping[str, int],
    start_prices: Mapping[str, int],
    end_prices: Mapping[str, int],
) -> tuple[Holding, ...]:
    """Return the assets that were held at the start or the end, in the order of the chain's list."""

    def price(prices: Mapping[str, int], asset: str) -> int | None:
        return prices.get(asset, 10**DOLLAR_DECIMALS if asset == QUOTE else None)

    return tuple(
        Holding(
            asset,
            start.get(asset, 0),
            end.get(asset, 0),
            price(start_prices, asset),
            price(end_prices, asset),
        )
        for asset in ASSETS
        if start.get(asset) or end.get(asset)
    )


def value_of(asset: str, amount: int, price: int | None) -> int:
    """Return the value of base units in microdollars, rounded down; 0 without a price.

    `price` is microdollars for a whole unit.
    """
    unit: int = 10 ** ASSETS[asset].decimals
    return amount * (price or 0) // unit


def dollars(microdollars: int) -> str:
    """Return microdollars as decimal text with six digits: `-1.500000`."""
    units, fraction = divmod(abs(microdollars), 10**DOLLAR_DECIMALS)
    return f"{'-' * (microdollars < 0)}{units}.{fraction:0{DOLLAR_DECIMALS}}"


def fees_of(blocks: Iterable[BlockFills]) -> dict[str, int]:
    """Return the sum of the fees of all fills, by asset."""
    fees = dict[str, int]()
    for block in blocks:
        for fill in block.fills:
            for asset, amount in fill.fees.items():
                fees[asset] = fees.get(asset, 0) + amount
    return {asset: amount for asset, amount in fees.items() if amount}


def _filled(block: BlockFills, fill: Fill) -> dict[str, Any]:
    return {
        "blockNumber": block.block_number,
        "time": time_text(block.timestamp),
        "asset": fill.asset,
        "quote": fill.quote,
        "side": fill.side or "range",
        "id": fill.id,
        "ticks": list(fill.ticks),
        "sold": _texts(fill.sold),
        "bought": _texts(fill.bought),
        "fees": _texts(fill.fees),
        "left": str(fill.left),
    }


def _held(holding: Holding) -> dict[str, Any]:
    prices = {"startPrice": holding.start_price, "endPrice": holding.end_price}
    return {
        "asset": holding.asset,
        "start": str(holding.start),
        "end": str(holding.end),
        "change": str(holding.end - holding.start),
        **{name: None if price is None else dollars(price) for name, price in prices.items()},
        "profit": dollars(holding.profit),
    }


def _refused(refused: RefusedSwap) -> dict[str, Any]:
    swap = refused.swap
    return {
        "line": swap.line,
        "time": time_text(swap.time),
        "from": swap.source,
        "to": swap.destination,
        "amount": str(swap.amount),
        "blockNumber": refused.block_number,
        "reason": refused.reason,
    }


def _texts(amounts: Mapping[str, int]) -> dict[str, str]:
    return {asset: str(amount) for asset, amount in amounts.items()}
