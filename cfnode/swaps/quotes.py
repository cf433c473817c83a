"""Quotes of a swap, from the figures of the runtime's simulation (`cf_pool_simulate_swap`): no I/O.

`cfnode.swap_service.quotes` asks the chain for these figures. The configuration of the public service (the
size of a chunk, recommended tolerances) is constant here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from cfnode.swaps.documents.members import asset_json, fee
from cfnode.swaps.durations import STATE_CHAIN_SECONDS, durations
from cfnode.swaps.limits import BPS
from cfnode.swaps.prices import paid_price

__all__ = [
    "BOOSTED",
    "CHUNK_INTERVAL",
    "MAX_BOOST_BPS",
    "MAX_DCA_CHUNKS_OF_A_DAY",
    "SMALL_PART",
    "STABLE",
    "QuotePool",
    "QuoteTerms",
    "Simulation",
    "best_chunks",
    "boost_tier",
    "excluded_fees",
    "is_thin",
    "quote_json",
    "quote_pools",
    "swapped_amount",
]

STABLE: Final = "Usdc"
BOOSTED: Final = "Btc"
"""The only asset whose deposits take long enough for boosting."""
MAX_BOOST_BPS: Final = 30
CHUNK_MICRODOLLARS: Final = 3_000 * 10**6
CHUNK_INTERVAL: Final = 2
MAX_DCA_CHUNKS_OF_A_DAY: Final = 86_400 // STATE_CHAIN_SECONDS // CHUNK_INTERVAL
LOW_LIQUIDITY: Final = Decimal("0.95")
"""A swap whose output is below this share of the output at the current price gets a warning."""
SMALL_PART: Final = 1_000
"""The share of an amount that hardly moves the price is one of these parts."""
HUNDREDTH_PIPS: Final = 10**6
"""Hundredth pips of a whole."""


@dataclass(frozen=True, slots=True)
class QuoteTerms:
    """What is to be quoted: assets by variant name, amounts in the smallest unit.

    `message` has the gas budget and the length of a message to the destination.
    """

    source: str
    target: str
    amount: int
    broker_bps: int = 0
    is_vault_swap: bool = False
    is_on_chain: bool = False
    takes_chunks: bool = False
    message: Mapping[str, int] | None = None
    boost_bps: int = 0

    @property
    def boost_fee(self) -> int:
        """The boosters' fee of the deposit, in the smallest unit."""
        return self.amount * self.boost_bps // BPS


@dataclass(frozen=True, slots=True)
class Simulation:
    """Simulation of the swap by the runtime, in `chunks` chunks; amounts in the smallest unit."""

    chunks: int
    intermediary: int | None
    output: int
    network_fee: int
    ingress_fee: int
    egress_fee: int
    broker_fee: int


@dataclass(frozen=True, slots=True)
class QuotePool:
    """Pool of a quote's route: its asset, and asset and amount that are paid into it."""

    base: str
    paid_in: str
    amount: int


def swapped_amount(terms: QuoteTerms, swap: Simulation) -> int:
    """Return the amount that enters the first pool, in the smallest unit."""
    return terms.amount - terms.boost_fee - swap.ingress_fee


def best_chunks(terms: QuoteTerms, swap: Simulation) -> int:
    """Return in how many chunks an amount is swapped if chunks are allowed, by its value in USDC."""
    return min(-(-_microdollars(terms, swap) // CHUNK_MICRODOLLARS), MAX_DCA_CHUNKS_OF_A_DAY)


def _microdollars(terms: QuoteTerms, swap: Simulation) -> int:
    """Return the swapped amount in USDC, in its smallest unit."""
    if terms.source == STABLE:
        return swapped_amount(terms, swap)
    if terms.target == STABLE:
        return swap.output + swap.egress_fee
    assert swap.intermediary is not None
    return swap.intermediary


def boost_tier(terms: QuoteTerms, depths: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the lowest fee, in basis points, at which the deposit would be boosted; None if it would not.

    `depths` are those of the boost pools.
    """
    tiers = [
        pool["tier"]
        for pool in depths
        if pool["asset"] == BOOSTED and pool["available_amount"] >= terms.amount
    ]
    return min(tiers, default=None)


def excluded_fees(terms: QuoteTerms) -> list[str]:
    """Return the fees that the simulation leaves out."""
    if terms.is_on_chain:
        return ["IngressDepositChannel", "Egress"]
    return ["IngressDepositChannel"] if terms.is_vault_swap else []


def quote_pools(terms: QuoteTerms, swap: Simulation) -> list[QuotePool]:
    """Return the pools of the route."""
    pools = []
    if terms.source != STABLE:
        pools.append(QuotePool(terms.source, terms.source, swapped_amount(terms, swap)))
    if terms.target != STABLE:
        paid = swapped_amount(terms, swap) - swap.network_fee - swap.broker_fee
        pools.append(QuotePool(terms.target, STABLE, swap.intermediary or paid))
    return pools


def is_thin(full_output: int, small_output: int) -> bool:
    """Return whether an amount moves the price much.

    It does if a thousandth of it gets a clearly better price (`LOW_LIQUIDITY`).
    """
    return Decimal(full_output) < Decimal(small_output) * SMALL_PART * LOW_LIQUIDITY


def quote_json(
    terms: QuoteTerms, swap: Simulation, fee_rates: Sequence[int], *, is_low_liquidity: bool
) -> dict[str, Any]:
    """Return the document of a quote; `fee_rates` are those of the `quote_pools`, in hundredth pips."""
    times = durations(terms.source, terms.target, boosted=terms.boost_bps > 0)
    times["swap"] += CHUNK_INTERVAL * STATE_CHAIN_SECONDS * (swap.chunks - 1)
    received = swap.output + swap.egress_fee
    result: dict[str, Any] = {
        "type": "DCA" if swap.chunks > 1 else "REGULAR",
        "srcAsset": asset_json(terms.source),
        "destAsset": asset_json(terms.target),
        "isVaultSwap": terms.is_vault_swap,
        "isOnChain": terms.is_on_chain,
        "depositAmount": str(terms.amount),
        "egressAmount": str(swap.output),
        "estimatedPrice": paid_price(swapped_amount(terms, swap), received, terms.source, terms.target),
        "includedFees": _fees(terms, swap),
        "poolInfo": _pools(terms, swap, fee_rates),
        "lowLiquidityWarning": is_low_liquidity,
        "estimatedDurationsSeconds": times,
        "estimatedDurationSeconds": sum(times.values()),
        "recommendedSlippageTolerancePercent": 1,
        "recommendedRetryDurationMinutes": 30 if "Btc" in (terms.source, terms.target) else 5,
    }
    if swap.intermediary is not None:
        result["intermediateAmount"] = str(swap.intermediary)
    if terms.message is not None:
        length = terms.message["message_length"]
        result["ccmParams"] = {"gasBudget": str(terms.message["gas_budget"]), "messageLengthBytes": length}
    if swap.chunks > 1:
        result["dcaParams"] = {"numberOfChunks": swap.chunks, "chunkIntervalBlocks": CHUNK_INTERVAL}
    return result


def _fees(terms: QuoteTerms, swap: Simulation) -> list[dict[str, str]]:
    """Return all fees, in the order in which they are charged."""
    fees = [
        ("BOOST", terms.source, terms.boost_fee),
        ("INGRESS", terms.source, swap.ingress_fee),
        ("NETWORK", STABLE, swap.network_fee),
        ("BROKER", STABLE, swap.broker_fee),
        ("EGRESS", terms.target, swap.egress_fee),
    ]
    always_listed = ("INGRESS", "NETWORK", "EGRESS")
    return [fee(kind, asset, amount) for kind, asset, amount in fees if amount or kind in always_listed]


def _pools(terms: QuoteTerms, swap: Simulation, fee_rates: Sequence[int]) -> list[dict[str, Any]]:
    """Return the pools of the route, and their liquidity providers' fees."""
    result = []
    for pool, rate in zip(quote_pools(terms, swap), fee_rates, strict=True):
        pair = {"baseAsset": asset_json(pool.base), "quoteAsset": asset_json(STABLE)}
        amount = pool.amount * rate // HUNDREDTH_PIPS
        result.append({**pair, "fee": {**asset_json(pool.paid_in), "amount": str(amount)}})
    return result
