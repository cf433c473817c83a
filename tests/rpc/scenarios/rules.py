"""Result of a swap, computed without the runtime, from the rules that the chain's documents state.

Nothing here calls the runtime or the node: pools are the formulas of Uniswap v3 for liquidity over all prices
(whitepaper, section 6.2), fees are integer divisions. A test says what happens; these say what that is worth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MILLION = 10**6
DOLLAR = 10**6
ROOT = 2**96
"""One, as the square root of a price has it."""
ONE = 2**128
"""One, as a price has it."""
SAMPLE = 20 * DOLLAR
NETWORK_RATE, NETWORK_MINIMUM = 1_000, DOLLAR // 2
ETH_GAS, ARB_GAS = 2_100_000_000, 20_000_000
"""Base fee and tip together, in wei."""
ETH_INGRESS, ETH_EGRESS, USDC_EGRESS = 50_000 * ETH_GAS, 70_000 * ETH_GAS, 90_000 * ETH_GAS
ARB_EGRESS, ARB_TOKEN_EGRESS = 80_000 * ARB_GAS, 100_000 * ARB_GAS
BTC_INGRESS, BTC_EGRESS = 390, 80 + 290 + 2 * 255
"""At 5,000 satoshi for 1,000 bytes."""
TRX_EGRESS, TRX_TOKEN_EGRESS = 6_168_000, 12_668_000
CCM_GAS = 90_000
ROUGH = {"ArbUsdc": (DOLLAR, 6), "TrxUsdt": (DOLLAR, 6), "Usdc": (DOLLAR, 6), "Eth": (2_800 * DOLLAR, 18)}
"""What the chain takes a whole unit to be worth where it only has to choose an amount; its decimals."""
BASE_WEIGHT, EXTENSIONS, READ, WRITE = 108_157_000, 420_728_000, 8_000_000, 50_000_000
WEIGHTS = {
    "request_swap_deposit_address": 77_991_000 + 12 * READ + 4 * WRITE,
    "request_swap_deposit_address_with_affiliates": 78_354_000 + 12 * READ + 4 * WRITE,
    "withdraw": 64_568_000 + 11 * READ + 4 * WRITE,
    "open_private_btc_channel": 42_184_000 + 5 * READ + 3 * WRITE,
    "register_affiliate": 1_006_077_000 + 258 * READ + 4 * WRITE,
}
"""Calls of mortal transactions whose weight in runtime 2.3.0 is known, in picoseconds."""


def transaction_fee(call: str, length: int) -> int | None:
    """Return the fee of a transaction of so many bytes, in the smallest unit of FLIP; None if unknown."""
    weight = WEIGHTS.get(call)
    return None if weight is None else (BASE_WEIGHT + EXTENSIONS + weight) * 10_000 + length * MILLION


def part(millionths: int, amount: int) -> int:
    """Return a part of an amount in millionths, to the nearest, halves down."""
    return -(-(2 * millionths * amount - MILLION) // (2 * MILLION))


@dataclass
class Pool:
    """Liquidity over all prices: root of the price with 96 bits, fee in millionths of the input."""

    price: int
    liquidity: int
    fee: int

    def sell(self, amount: int) -> int:
        """Return USDC for an amount of the asset."""
        net, depth, before = self._net(amount), self.liquidity * ROOT, self.price
        self.price = -(-depth * before // (depth + net * before))
        return self.liquidity * (before - self.price) // ROOT

    def buy(self, amount: int) -> int:
        """Return the asset for an amount of USDC."""
        before = self.price
        self.price += self._net(amount) * ROOT // self.liquidity
        return self.liquidity * ROOT * (self.price - before) // (before * self.price)

    def _net(self, amount: int) -> int:
        return amount * (MILLION - self.fee) // MILLION


@dataclass
class NetworkFee:
    """Network fee of a request: a rate of all its USDC, at least the minimum; and the paid part."""

    rate: int = NETWORK_RATE
    minimum: int = NETWORK_MINIMUM
    amount: int = 0
    paid: int = 0

    def due(self, amount: int) -> int:
        """Return the fee for a further amount of USDC."""
        self.amount += amount
        fee = min(amount, max(part(self.rate, self.amount), self.minimum) - self.paid)
        self.paid += fee
        return fee


NO_FEE = NetworkFee(0, 0)


@dataclass(frozen=True)
class Swapped:
    """Result of a swap; `shares` are those of the broker and the affiliates, in the order of their fees."""

    network: int
    shares: tuple[int, ...]
    stable: int
    output: int


@dataclass
class Rules:
    """The pools, and what has gone through them."""

    pools: dict[str, Pool]
    moved: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Rules:
        """Return the pools from the values of `LiquidityPools.Pools`, by asset."""
        names = ("current_sqrt_price", "current_liquidity", "fee_hundredth_pips")
        return cls({asset: Pool(*(ranges[name] for name in names)) for asset, ranges in stored.items()})

    def swap(
        self, source: str, target: str, amount: int, *points: int, fee: NetworkFee | None = None
    ) -> Swapped:
        """Swap an amount; `points` are basis points of the broker and the affiliates."""
        gross = amount if source == "Usdc" else self._through(source, "Usdc", amount)
        network = (fee or NetworkFee()).due(gross)
        shares = tuple(part(100 * point, gross - network) for point in points)
        stable = gross - network - sum(shares)
        output = stable if target == "Usdc" else self._through("Usdc", target, stable)
        return Swapped(network, shares, stable, output)

    def convert(self, source: str, target: str, wanted: int, rate: int = NETWORK_RATE) -> int:
        """Return how much of one asset buys about an amount of another; `rate`: the network fee to add."""
        relative = self._cost(target) * ONE // self._yield(source)
        needed = -(-wanted * relative // ONE)
        factor = 10_000 * 10**9 // (10_000 - rate // 100)  # of nine decimals
        return needed * factor // 10**9

    def _through(self, source: str, target: str, amount: int) -> int:
        selling = target == "Usdc"
        pool = self.pools[source if selling else target]
        output = pool.sell(amount) if selling else pool.buy(amount)
        self.moved[source] += amount
        self.moved[target] -= output
        return output

    def _cost(self, asset: str) -> int:
        """Return Microdollars for the smallest unit, when 20 dollars buy it."""
        return ONE if asset == "Usdc" else SAMPLE * ONE // self._trial(asset).buy(SAMPLE)

    def _yield(self, asset: str) -> int:
        """Return Microdollars for the smallest unit, when about 20 dollars' worth is sold."""
        if asset == "Usdc":
            return ONE
        price, decimals = ROUGH[asset]
        amount = SAMPLE * ONE // ((price << 128) // 10**decimals)
        return self._trial(asset).sell(amount) * ONE // amount

    def _trial(self, asset: str) -> Pool:
        pool = self.pools[asset]
        return Pool(pool.price, pool.liquidity, pool.fee)
