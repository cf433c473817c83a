"""Quotes of a swap: its output, its fees, and its duration.

The figures are those of the runtime's simulation (`cf_pool_simulate_swap`) at the best block. The
configuration of the public service (the size of a chunk, recommended tolerances) is constant here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

from cfnode.core.assets import ASSETS, CHAINS
from cfnode.core.runtime_api import ApiMissing, ApiRefused
from cfnode.core.runtime_names import RuntimeNames
from cfnode.swap_service.durations import STATE_CHAIN_SECONDS, durations
from cfnode.swap_service.parameters import (
    MAX_BPS,
    RequestRefusal,
    amount,
    asset_json,
    asset_pair,
    fee,
    number,
    switch,
)
from cfnode.swap_service.source import ApiCall, BestBlock
from cfnode.swaps.limits import MAX_CCM_MESSAGE_BYTES

__all__ = ["check_limits", "price_of", "quote", "quotes"]

STABLE: Final = "Usdc"
BOOSTED: Final = "Btc"
"""The only asset whose deposits take long enough for boosting."""
MAX_BOOST_BPS: Final = 30
CHUNK_MICRODOLLARS: Final = 3_000 * 10**6
CHUNK_INTERVAL: Final = 2
MAX_DCA_CHUNKS_OF_A_DAY: Final = 86_400 // STATE_CHAIN_SECONDS // CHUNK_INTERVAL
LOW_LIQUIDITY: Final = Decimal("0.95")
"""A swap whose output is below this share of the output at the current price gets a warning."""
_EXACT: Final = Context(prec=400, rounding=ROUND_HALF_UP)
_PRICE_PLACES: Final = Decimal(1).scaleb(-20)


@dataclass(frozen=True, slots=True)
class _Request:
    """Quote request: assets by variant name, amounts in the smallest unit."""

    source: str
    target: str
    amount: int
    broker_bps: int
    vault_swap: bool
    on_chain: bool
    dca: bool
    ccm: dict[str, int] | None
    boost_bps: int = 0

    @property
    def boost_fee(self) -> int:
        """The boosters' fee of the deposit, in the smallest unit."""
        return self.amount * self.boost_bps // 10_000


@dataclass(frozen=True, slots=True)
class _Simulation:
    """Simulation of the swap by the runtime, in `chunks` chunks; amounts in the smallest unit."""

    chunks: int
    intermediary: int | None
    output: int
    network_fee: int
    ingress_fee: int
    egress_fee: int
    broker_fee: int


async def quotes(block: BestBlock, query: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all quotes: without chunks, and in chunks if requested and if the amount is large enough.

    Raises Refusal.
    """
    request = _read_request(query, block.names)
    await check_limits(block, request.source, request.amount)
    regular = await _checked_simulation(block, request, 1)
    documents = [await _with_boost(block, request, regular)]
    chunks = min(-(-_microdollars(request, regular) // CHUNK_MICRODOLLARS), MAX_DCA_CHUNKS_OF_A_DAY)
    if request.dca and chunks > 1:
        chunked = await _checked_simulation(block, request, chunks)
        documents.append(await _with_boost(block, request, chunked))
    return documents


async def _with_boost(block: BestBlock, request: _Request, swap: _Simulation) -> dict[str, Any]:
    """Return a quote, with one for a boosted deposit inside if a boost pool holds enough for that."""
    result = await _quote_json(block, request, swap)
    tier = await _boost_tier(block, request)
    if tier is not None:
        boosted = replace(request, boost_bps=tier)
        simulation = await _checked_simulation(block, boosted, swap.chunks)
        quoted = await _quote_json(block, boosted, simulation)
        fees = {"estimatedBoostFeeBps": tier, "maxBoostFeeBps": MAX_BOOST_BPS}
        result["boostQuote"] = quoted | fees
    return result


async def _boost_tier(block: BestBlock, request: _Request) -> int | None:
    """Return the lowest fee, in basis points, at which the deposit would be boosted; None if it would not."""
    if request.source != BOOSTED or request.on_chain:
        return None
    try:
        pools = await block.value("cf_boost_pools_depth")
    except ApiMissing:
        return None
    sufficient_tiers = [
        pool["tier"]
        for pool in pools
        if pool["asset"] == BOOSTED and pool["available_amount"] >= request.amount
    ]
    return min(sufficient_tiers, default=None)


async def quote(block: BestBlock, query: Mapping[str, Any]) -> dict[str, Any]:
    """Return the quote without chunks. Raises Refusal."""
    return (await quotes(block, {**query, "dcaEnabled": "false", "dcaV2Enabled": "false"}))[0]


def _read_request(query: Mapping[str, Any], names: RuntimeNames) -> _Request:
    """Return the quote request of a query. Raises Refusal."""
    on_chain, vault_swap = switch(query, "isOnChain"), switch(query, "isVaultSwap")
    commission = number(query, "brokerCommissionBps", MAX_BPS, 0)
    source, target = (asset_pair(query, side, names) for side in ("src", "dest"))
    if on_chain and (vault_swap or commission):
        raise RequestRefusal(400, "invalid request: isOnChain")
    if source == target:
        raise RequestRefusal(400, "Requested assets cannot be swapped")
    if vault_swap and ASSETS[source].chain == "Assethub":
        raise RequestRefusal(400, "invalid request: isVaultSwap (Assethub has no vault swaps)")
    ccm = _ccm(query)
    if ccm is not None and not CHAINS[ASSETS[target].chain].ccm:
        raise RequestRefusal(400, f"invalid request: ccmGasBudget ({ASSETS[target].chain} takes no messages)")
    dca = switch(query, "dcaEnabled", "dcaV2Enabled")
    return _Request(source, target, amount(query, "amount"), commission, vault_swap, on_chain, dca, ccm)


def _ccm(query: Mapping[str, Any]) -> dict[str, int] | None:
    names = ("ccmGasBudget", "ccmMessageLengthBytes")
    if all(query.get(name) is None for name in names):
        return None
    return {
        "gas_budget": number(query, "ccmGasBudget", 2**128 - 1),
        "message_length": number(query, "ccmMessageLengthBytes", MAX_CCM_MESSAGE_BYTES),
    }


async def check_limits(block: BestBlock, source: str, asked: int, *more: ApiCall) -> Sequence[Any]:
    """Raise Refusal for an amount below the minimum deposit or above the maximum swap.

    Returns the answers to `more`, which are asked for in the same exchange.
    """
    minimum, maximum, *answers = await block.values(
        ("cf_min_deposit_amount", {"asset": source}), ("cf_max_swap_amount", {"asset": source}), *more
    )
    if asked < minimum:
        raise RequestRefusal(400, f"expected amount is below minimum swap amount ({minimum})")
    if maximum is not None and asked > maximum:
        raise RequestRefusal(400, f"expected amount is above maximum swap amount ({maximum})")
    return answers


async def _checked_simulation(block: BestBlock, request: _Request, chunks: int) -> _Simulation:
    terms = {"number_of_chunks": chunks, "chunk_interval": CHUNK_INTERVAL} if chunks > 1 else None
    excluded = _excluded(request)
    answer = await _simulate(block, request, request.amount - request.boost_fee, terms, excluded)
    swap = _Simulation(chunks, **answer)
    if swap.ingress_fee >= request.amount - request.boost_fee:
        raise RequestRefusal(400, f"amount is lower than estimated ingress fee ({swap.ingress_fee})")
    if swap.output == 0:
        raise RequestRefusal(400, f"swap output amount is lower than the egress fee ({swap.egress_fee})")
    dust = await block.value("cf_egress_dust_limit", asset=request.target)
    if swap.output < dust and not request.on_chain:
        text = f"egress amount ({swap.output}) is lower than minimum egress amount ({dust})"
        raise RequestRefusal(400, text)
    return swap


def _excluded(request: _Request) -> list[str]:
    if request.on_chain:
        return ["IngressDepositChannel", "Egress"]
    return ["IngressDepositChannel"] if request.vault_swap else []


async def _simulate(
    block: BestBlock, request: _Request, swapped: int, dca: dict[str, int] | None, excluded: list[str]
) -> dict[str, Any]:
    arguments = {
        "from": request.source,
        "to": request.target,
        "amount": swapped,
        "broker_commission": request.broker_bps,
        "dca_parameters": dca,
        "ccm_data": request.ccm,
        "exclude_fees": excluded,
        "additional_limit_orders": None,
        "is_internal": None,
    }
    try:
        answer: dict[str, Any] = await block.value("cf_pool_simulate_swap", **arguments)
    except ApiRefused:
        raise RequestRefusal(400, "insufficient liquidity for requested amount") from None
    except ApiMissing as error:
        raise RequestRefusal(503, str(error)) from None
    return answer


async def _quote_json(block: BestBlock, request: _Request, swap: _Simulation) -> dict[str, Any]:
    times = durations(request.source, request.target, boosted=request.boost_bps > 0)
    times["swap"] += CHUNK_INTERVAL * STATE_CHAIN_SECONDS * (swap.chunks - 1)
    result: dict[str, Any] = {
        "type": "DCA" if swap.chunks > 1 else "REGULAR",
        "srcAsset": asset_json(request.source),
        "destAsset": asset_json(request.target),
        "isVaultSwap": request.vault_swap,
        "isOnChain": request.on_chain,
        "depositAmount": str(request.amount),
        "egressAmount": str(swap.output),
        "estimatedPrice": _price(request, swap),
        "includedFees": _fees(request, swap),
        "poolInfo": await _pools(block, request, swap),
        "lowLiquidityWarning": await _is_thin(block, request, swap),
        "estimatedDurationsSeconds": times,
        "estimatedDurationSeconds": sum(times.values()),
        "recommendedSlippageTolerancePercent": 1,
        "recommendedRetryDurationMinutes": 30 if "Btc" in (request.source, request.target) else 5,
    }
    if swap.intermediary is not None:
        result["intermediateAmount"] = str(swap.intermediary)
    if request.ccm is not None:
        length = request.ccm["message_length"]
        result["ccmParams"] = {"gasBudget": str(request.ccm["gas_budget"]), "messageLengthBytes": length}
    if swap.chunks > 1:
        chunks = {"numberOfChunks": swap.chunks, "chunkIntervalBlocks": CHUNK_INTERVAL}
        result["dcaParams"] = chunks
    return result


def _swapped(request: _Request, swap: _Simulation) -> int:
    """Return the amount that enters the first pool, in the smallest unit."""
    return request.amount - request.boost_fee - swap.ingress_fee


def _price(request: _Request, swap: _Simulation) -> str:
    """Return the whole units of the target for one of the source, after network and broker fees."""
    paid_amount = Decimal(_swapped(request, swap)).scaleb(-ASSETS[request.source].decimals, _EXACT)
    received_amount = Decimal(swap.output + swap.egress_fee).scaleb(-ASSETS[request.target].decimals, _EXACT)
    return _plain(_EXACT.divide(received_amount, paid_amount).quantize(_PRICE_PLACES, context=_EXACT))


def price_of(fixed: int, source: str, target: str) -> str:
    """Convert a price in smallest units, with 128 fractional bits, to one in whole units."""
    price = _EXACT.divide(Decimal(fixed), Decimal(1 << 128)).quantize(_PRICE_PLACES, context=_EXACT)
    return _plain(price.scaleb(ASSETS[source].decimals - ASSETS[target].decimals, _EXACT))


def _plain(number: Decimal) -> str:
    """Return the digits of a number without exponent and trailing zeros."""
    return format(number.normalize(_EXACT), "f")


def _fees(request: _Request, swap: _Simulation) -> list[dict[str, str]]:
    """Return all fees, in the order in which they are charged."""
    fees = [
        ("BOOST", request.source, request.boost_fee),
        ("INGRESS", request.source, swap.ingress_fee),
        ("NETWORK", STABLE, swap.network_fee),
        ("BROKER", STABLE, swap.broker_fee),
        ("EGRESS", request.target, swap.egress_fee),
    ]
    always_listed = ("INGRESS", "NETWORK", "EGRESS")
    return [fee(kind, asset, amount) for kind, asset, amount in fees if amount or kind in always_listed]


async def _pools(block: BestBlock, request: _Request, swap: _Simulation) -> list[dict[str, Any]]:
    """Return the pools of the route, and their liquidity providers' fees."""
    legs = []
    if request.source != STABLE:
        legs.append((request.source, request.source, _swapped(request, swap)))
    if request.target != STABLE:
        paid = _swapped(request, swap) - swap.network_fee - swap.broker_fee
        legs.append((request.target, STABLE, swap.intermediary or paid))
    result = []
    for base, paid_in, into in legs:
        pool = await block.value("cf_pool_info", base_asset=base, quote_asset=STABLE)
        pool_fee = into * pool["range_order_fee_hundredth_pips"] // 10**6
        pair = {"baseAsset": asset_json(base), "quoteAsset": asset_json(STABLE)}
        result.append({**pair, "fee": {**asset_json(paid_in), "amount": str(pool_fee)}})
    return result


async def _is_thin(block: BestBlock, request: _Request, swap: _Simulation) -> bool:
    """Return whether the amount moves the price much.

    It does if a thousandth of it gets a clearly better price (`LOW_LIQUIDITY`).
    """
    small_amount = _swapped(request, swap) // swap.chunks // 1_000
    if not small_amount:
        return False
    fixed_fees = ["Network", "IngressDepositChannel", "Egress"]
    free = _Request(request.source, request.target, request.amount, 0, False, False, False, None)
    best = await _simulate(block, free, small_amount, None, fixed_fees)
    full_simulation = await _simulate(block, free, _swapped(request, swap) // swap.chunks, None, fixed_fees)
    return Decimal(full_simulation["output"]) < Decimal(best["output"]) * 1_000 * LOW_LIQUIDITY


def _microdollars(request: _Request, swap: _Simulation) -> int:
    """Return the swapped amount in USDC, in its smallest unit."""
    if request.source == STABLE:
        return _swapped(request, swap)
    if request.target == STABLE:
        return swap.output + swap.egress_fee
    assert swap.intermediary is not None
    return swap.intermediary
