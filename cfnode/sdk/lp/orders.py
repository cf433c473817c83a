"""Orders of a liquidity provider: limit orders at a tick, range orders between two ticks.

Each order has an id that its owner chooses; a pool holds one limit order of an id on each side, and one range
order of an id. All values are checked when the order is created, before anything is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from cfnode.core.amm.range_positions import liquidity_for
from cfnode.core.assets import ASSETS, text_of
from cfnode.sdk.amounts import Quantity, base_units, base_units_or_none, whole_units
from cfnode.sdk.assets import asset_given, name_of, wire_asset
from cfnode.sdk.errors import Issue, ValidationError
from cfnode.sdk.lp.prices import Side, checked_side, checked_tick, price_of_tick, range_end, tick_of_price
from cfnode.sdk.names import AssetName

__all__ = [
    "Key",
    "LimitOrder",
    "OpenOrder",
    "Order",
    "Pool",
    "RangeOrder",
    "RangeOrderByAmounts",
    "StandingOrder",
    "check_orders",
    "pool_json",
]

Pool: TypeAlias = tuple[AssetName, AssetName]
"""Names of the base and the quote asset."""
Key: TypeAlias = tuple[AssetName, AssetName, str, int]
"""The identity of an account's order: base asset, quote asset, side or kind, id."""
_MAX_ID = 2**64 - 1
_MAX_LIQUIDITY = 2**128 - 1


class _Order:
    """The common part of limit and range orders."""

    asset: AssetName
    quote: AssetName
    id: int

    @property
    def pool(self) -> Pool:
        """Names of the base and the quote asset."""
        return self.asset, self.quote

    def identity(self) -> dict[str, Any]:
        """Return pool and id in the format of the node's methods."""
        return {**pool_json(self.pool), "id": hex(self.id)}

    def _settle(self, asset: AssetName, quote: AssetName, number: object, **values: Any) -> None:
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= _MAX_ID:
            raise ValidationError.at("id", f"expected a whole number from 0 to 2^64 − 1, not {number!r:.40}")
        names = {"asset": name_of(asset_given(asset, "asset")), "quote": name_of(asset_given(quote, "quote"))}
        for name, value in (names | {"id": number} | values).items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, init=False)
class LimitOrder(_Order):
    """An order that sells or buys the base asset at the price of a tick.

    `amount` is base units of the asset that the order gives: the base asset to sell it, the quote asset to
    buy it.
    """

    asset: AssetName
    side: Side
    id: int
    amount: int
    tick: int
    quote: AssetName

    def __init__(
        self,
        asset: AssetName,
        side: Side,
        id: int,  # noqa: A002
        amount: Quantity,
        *,
        price: Quantity | None = None,
        tick: int | None = None,
        quote: AssetName = "USDC",
    ) -> None:
        """Take the amount, and either the tick or the price.

        `amount`: an int is base units, text or a Decimal whole units. `price` is in whole units of the quote
        asset, and becomes the nearest tick that is not worse for the owner.

        Raises ValidationError with the argument's name.
        """
        checked_side(side)
        if (price is None) == (tick is None):
            raise ValidationError.at("price", "give a price or a tick, and not both")
        sold = asset if side == "sell" else quote
        if price is not None:
            tick = tick_of_price(price, asset, quote, side=side)
        self._settle(asset, quote, id, side=side, amount=base_units(amount, sold), tick=checked_tick(tick))

    @property
    def price(self) -> Decimal:
        """The exact price of the tick, in whole units."""
        return price_of_tick(self.tick, self.asset, self.quote)

    @property
    def sold_asset(self) -> AssetName:
        """The name of the asset that the order gives."""
        return self.asset if self.side == "sell" else self.quote

    @property
    def whole_amount(self) -> Decimal:
        """The amount in whole units of `sold_asset`."""
        return whole_units(self.amount, self.sold_asset)

    @property
    def key(self) -> Key:
        """The identity of the order among the account's others."""
        return *self.pool, self.side, self.id

    def identity(self) -> dict[str, Any]:
        """Return pool, side and id in the format of the node's methods."""
        return super().identity() | {"side": self.side}

    def __str__(self) -> str:
        """Return the order for messages: side, id, asset and tick."""
        return f"{self.side} order {self.id} of {text_of(self.asset)} at tick {self.tick}"


class _RangeOrder(_Order):
    """The common part of range orders: both ends."""

    lower: int
    upper: int

    def _settle_range(
        self,
        asset: AssetName,
        number: object,
        lower: Quantity,
        upper: Quantity,
        quote: AssetName,
        **values: Any,
    ) -> None:
        low = range_end(lower, asset, quote, field="lower", side="buy")
        high = range_end(upper, asset, quote, field="upper", side="sell")
        if low >= high:
            raise ValidationError.at("upper", f"expected a tick above the lower one, {low}, not {high}")
        self._settle(asset, quote, number, lower=low, upper=high, **values)

    @property
    def key(self) -> Key:
        """The identity of the order among the account's others."""
        return *self.pool, "range", self.id

    def __str__(self) -> str:
        return f"range order {self.id} of {text_of(self.asset)} from tick {self.lower} to {self.upper}"


@dataclass(frozen=True, init=False)
class RangeOrder(_RangeOrder):
    """Liquidity between two ticks, `lower` below `upper`. `liquidity` is the chain's own measure of size."""

    asset: AssetName
    id: int
    lower: int
    upper: int
    liquidity: int
    quote: AssetName

    def __init__(
        self,
        asset: AssetName,
        id: int,  # noqa: A002
        lower: Quantity,
        upper: Quantity,
        liquidity: int,
        *,
        quote: AssetName = "USDC",
    ) -> None:
        """Take the ends and the liquidity.

        `lower`, `upper`: an int is a tick, text or a Decimal a price in whole units of the quote asset. The
        range contains the price, which becomes the nearest tick outwards.

        Raises ValidationError with the argument's name.
        """
        if (
            isinstance(liquidity, bool)
            or not isinstance(liquidity, int)
            or not 0 < liquidity <= _MAX_LIQUIDITY
        ):
            raise ValidationError.at("liquidity", "expected a whole number above 0 and below 2^128")
        self._settle_range(asset, id, lower, upper, quote, liquidity=liquidity)


@dataclass(frozen=True, init=False)
class RangeOrderByAmounts(_RangeOrder):
    """The maximum liquidity between two ticks that `base_amount` and `quote_amount` (base units) pay for.

    The pool's price decides in which ratio both amounts are used: below the range only the base asset, above
    it only the quote asset. The chain refuses an order that would use less than `min_base` or `min_quote`.
    """

    asset: AssetName
    id: int
    lower: int
    upper: int
    base_amount: int
    quote_amount: int
    min_base: int
    min_quote: int
    quote: AssetName

    def __init__(
        self,
        asset: AssetName,
        id: int,  # noqa: A002
        lower: Quantity,
        upper: Quantity,
        base_amount: Quantity,
        quote_amount: Quantity,
        *,
        min_base: Quantity = 0,
        min_quote: Quantity = 0,
        quote: AssetName = "USDC",
    ) -> None:
        """Take the ends in the format of RangeOrder, and the amounts.

        An int is base units, text or a Decimal whole units of the asset.

        Raises ValidationError with the argument's name, also if both amounts are zero.
        """
        quantities = {
            "base_amount": (base_amount, asset),
            "quote_amount": (quote_amount, quote),
            "min_base": (min_base, asset),
            "min_quote": (min_quote, quote),
        }
        amounts = {
            name: base_units_or_none(amount, unit, name) for name, (amount, unit) in quantities.items()
        }
        for name, least in (("base_amount", "min_base"), ("quote_amount", "min_quote")):
            if amounts[least] > amounts[name]:
                raise ValidationError.at(least, f"expected at most {name}, not {amounts[least]}")
        if not amounts["base_amount"] and not amounts["quote_amount"]:
            raise ValidationError.at("base_amount", "expected an amount above 0 of at least one asset")
        self._settle_range(asset, id, lower, upper, quote, **amounts)

    def at(self, square_root: int) -> RangeOrder | None:
        """Return the order that the chain makes of this one at a pool's √price (96 fractional bits).

        Returns None for an order without size.
        """
        maximum = {"base": self.base_amount, "quote": self.quote_amount}
        liquidity = liquidity_for(square_root, self.lower, self.upper, maximum)
        if not liquidity:
            return None
        return RangeOrder(self.asset, self.id, self.lower, self.upper, liquidity, quote=self.quote)


StandingOrder: TypeAlias = LimitOrder | RangeOrder
"""An order as the chain has it."""
Order: TypeAlias = LimitOrder | RangeOrder | RangeOrderByAmounts
"""An order to be set."""


@dataclass(frozen=True)
class OpenOrder:
    """An order that stands: `order.amount` is what is left of it.

    `original_amount` (limit orders only) is its amount when it was last set; `fees_earned` by asset name, in
    base units, since it was last changed.
    """

    order: StandingOrder
    original_amount: int | None
    fees_earned: dict[str, int]


def pool_json(pool: Pool) -> dict[str, Any]:
    """Return a pool in the format of the node's methods."""
    return {"base_asset": wire_asset(ASSETS[pool[0]]), "quote_asset": wire_asset(ASSETS[pool[1]])}


def check_orders(orders: Sequence[Order], pools: Iterable[Pool]) -> None:
    """Raise ValidationError with all faults: ids that occur twice, and pools that the chain lacks."""
    pools_of_chain, keys, issues = set(pools), set[Key](), list[Issue]()
    for place, order in enumerate(orders):
        if order.key in keys:
            text = f"orders[{place}].id: {order.id} is given twice for {text_of(order.asset)}, {order.key[2]}"
            issues.append(Issue(f"orders[{place}].id", text))
        keys.add(order.key)
        if order.pool not in pools_of_chain:
            names = ", ".join(sorted(text_of(base) for base, quote in pools_of_chain if quote == order.quote))
            quote = text_of(order.quote)
            text = f"orders[{place}].asset: there is no pool of {text_of(order.asset)} and {quote}"
            issues.append(Issue(f"orders[{place}].asset", f"{text}; pools of {quote}: {names or 'none'}"))
    if issues:
        raise ValidationError.of(issues)
