"""What would a swap give, what does it cost, and how long does it take?

The figures are those of the runtime's own simulation (`cf_pool_simulate_swap`) at the best block. What is
configuration of the public service (the size of a chunk, recommended tolerances) is a constant here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING, Any, Final

from cfnode.core.assets import ASSETS, CHAINS
from cfnode.node.runtime_api import ApiMissing, ApiRefused
from cfnode.rpc.broker_params import write_asset
from cfnode.rpc.cf.method import value
from cfnode.swap_service.durations import durations
from cfnode.swap_service.fields import MAX_BPS, Refusal, amount, asset_pair, fee, number, switch

if TYPE_CHECKING:
    from cfnode.node.node import Node

__all__ = ["check_least_and_most", "price_of", "quote", "quotes"]

STABLE: Final = "Usdc"
BOOSTED: Final = "Btc"
"""The one asset whose deposits take long enough."""
MAX_BOOST_BPS: Final = 30
CHUNK_MICRODOLLARS: Final = 3_000 * 10**6
CHUNK_INTERVAL: Final = 2
MAX_CHUNKS: Final = 86_400 // 6 // CHUNK_INTERVAL
BLOCK_SECONDS: Final = 6
LOW_LIQUIDITY: Final = Decimal("0.95")
"""A swap that gives less than this part of what the pools' present price promises has a warning."""
MAX_LENGTH: Final = 15_000
_EXACT: Final = Context(prec=400, rounding=ROUND_HALF_UP)
_PRICE_PLACES: Final = Decimal(1).scaleb(-20)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is asked for: assets by variant name, amounts in the smallest unit."""

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
        """What boosters take of the deposit."""
        return self.amount * self.boost_bps // 10_000


@dataclass(frozen=True, slots=True)
class _Simulated:
    """What the runtime says of it, in `chunks` chunks."""

    chunks: int
    intermediary: int | None
    output: int
    network_fee: int
    ingress_fee: int
    egress_fee: int
    broker_fee: int


async def quotes(node: Node, query: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All ways to swap: at once, and in chunks where that is asked for and the amount is worth it."""
    wanted = _read_wanted(query)
    block = node.chain.best.hash
    await check_least_and_most(node, block, wanted.source, wanted.amount)
    regular = await _simulated(node, block, wanted, 1)
    found = [await _with_boost(node, block, wanted, regular)]
    chunks = min(-(-_microdollars(wanted, regular) // CHUNK_MICRODOLLARS), MAX_CHUNKS)
    if wanted.dca and chunks > 1:
        found.append(await _with_boost(node, block, wanted, await _simulated(node, block, wanted, chunks)))
    return found


async def _with_boost(node: Node, block: bytes, wanted: _Wanted, found: _Simulated) -> dict[str, Any]:
    """A quote, and inside it the same with a boosted deposit where enough has been put up for that."""
    shown = await _shown(node, block, wanted, found)
    tier = await _boost_tier(node, block, wanted)
    if tier is not None:
        boosted = replace(wanted, boost_bps=tier)
        quoted = await _shown(node, block, boosted, await _simulated(node, block, boosted, found.chunks))
        fees = {"estimatedBoostFeeBps": tier, "maxBoostFeeBps": MAX_BOOST_BPS}
        shown["boostQuote"] = quoted | fees
    return shown


async def _boost_tier(node: Node, block: bytes, wanted: _Wanted) -> int | None:
    """The cheapest price, in basis points, at which the deposit would be boosted."""
    if wanted.source != BOOSTED or wanted.on_chain:
        return None
    try:
        pools = await value(node, block, "cf_boost_pools_depth")
    except ApiMissing:
        return None
    enough = [
        pool["tier"]
        for pool in pools
        if pool["asset"] == BOOSTED and pool["available_amount"] >= wanted.amount
    ]
    return min(enough, default=None)


async def quote(node: Node, query: Mapping[str, Any]) -> dict[str, Any]:
    """The way to swap at once."""
    return (await quotes(node, {**query, "dcaEnabled": "false", "dcaV2Enabled": "false"}))[0]


def _read_wanted(query: Mapping[str, Any]) -> _Wanted:
    """The query of a quote. Raises Refusal."""
    on_chain, vault_swap = switch(query, "isOnChain"), switch(query, "isVaultSwap")
    commission = number(query, "brokerCommissionBps", MAX_BPS, 0)
    source, target = asset_pair(query, "src"), asset_pair(query, "dest")
    if on_chain and (vault_swap or commission):
        raise Refusal(400, "invalid request: isOnChain")
    if source == target:
        raise Refusal(400, "Requested assets cannot be swapped")
    if vault_swap and ASSETS[source].chain == "Assethub":
        raise Refusal(400, "invalid request: isVaultSwap (Assethub has no vault swaps)")
    ccm = _ccm(query)
    if ccm is not None and not CHAINS[ASSETS[target].chain].ccm:
        raise Refusal(400, f"invalid request: ccmGasBudget ({ASSETS[target].chain} takes no messages)")
    dca = switch(query, "dcaEnabled", "dcaV2Enabled")
    return _Wanted(source, target, amount(query, "amount"), commission, vault_swap, on_chain, dca, ccm)


def _ccm(query: Mapping[str, Any]) -> dict[str, int] | None:
    names = ("ccmGasBudget", "ccmMessageLengthBytes")
    if all(query.get(name) is None for name in names):
        return None
    return {
        "gas_budget": number(query, "ccmGasBudget", 2**128 - 1),
        "message_length": number(query, "ccmMessageLengthBytes", MAX_LENGTH),
    }


async def check_least_and_most(node: Node, block: bytes, source: str, asked: int) -> None:
    """Refuse an amount outside of what is swapped at all."""
    least = await value(node, block, "cf_min_deposit_amount", asset=source)
    if asked < least:
        raise Refusal(400, f"expected amount is below minimum swap amount ({least})")
    most = await value(node, block, "cf_max_swap_amount", asset=source)
    if most is not None and asked > most:
        raise Refusal(400, f"expected amount is above maximum swap amount ({most})")


async def _simulated(node: Node, block: bytes, wanted: _Wanted, chunks: int) -> _Simulated:
    terms = {"number_of_chunks": chunks, "chunk_interval": CHUNK_INTERVAL} if chunks > 1 else None
    excluded = _excluded(wanted)
    answer = await _ask(node, block, wanted, wanted.amount - wanted.boost_fee, terms, excluded)
    found = _Simulated(chunks, **answer)
    if found.ingress_fee >= wanted.amount - wanted.boost_fee:
        raise Refusal(400, f"amount is lower than estimated ingress fee ({found.ingress_fee})")
    if found.output == 0:
        raise Refusal(400, f"swap output amount is lower than the egress fee ({found.egress_fee})")
    dust = await value(node, block, "cf_egress_dust_limit", asset=wanted.target)
    if found.output < dust and not wanted.on_chain:
        text = f"egress amount ({found.output}) is lower than minimum egress amount ({dust})"
        raise Refusal(400, text)
    return found


def _excluded(wanted: _Wanted) -> list[str]:
    if wanted.on_chain:
        return ["IngressDepositChannel", "Egress"]
    return ["IngressDepositChannel"] if wanted.vault_swap else []


async def _ask(
    node: Node, block: bytes, wanted: _Wanted, swapped: int, dca: dict[str, int] | None, excluded: list[str]
) -> dict[str, Any]:
    arguments = {
        "from": wanted.source,
        "to": wanted.target,
        "amount": swapped,
        "broker_commission": wanted.broker_bps,
        "dca_parameters": dca,
        "ccm_data": wanted.ccm,
        "exclude_fees": excluded,
        "additional_limit_orders": None,
        "is_internal": None,
    }
    try:
        answer: dict[str, Any] = await value(node, block, "cf_pool_simulate_swap", **arguments)
    except ApiRefused:
        raise Refusal(400, "insufficient liquidity for requested amount") from None
    except ApiMissing as error:
        raise Refusal(503, str(error)) from None
    return answer


async def _shown(node: Node, block: bytes, wanted: _Wanted, found: _Simulated) -> dict[str, Any]:
    times = durations(wanted.source, wanted.target, boosted=wanted.boost_bps > 0)
    times["swap"] += CHUNK_INTERVAL * BLOCK_SECONDS * (found.chunks - 1)
    shown: dict[str, Any] = {
        "type": "DCA" if found.chunks > 1 else "REGULAR",
        "srcAsset": write_asset(wanted.source),
        "destAsset": write_asset(wanted.target),
        "isVaultSwap": wanted.vault_swap,
        "isOnChain": wanted.on_chain,
        "depositAmount": str(wanted.amount),
        "egressAmount": str(found.output),
        "estimatedPrice": _price(wanted, found),
        "includedFees": _fees(wanted, found),
        "poolInfo": await _pools(node, block, wanted, found),
        "lowLiquidityWarning": await _is_thin(node, block, wanted, found),
        "estimatedDurationsSeconds": times,
        "estimatedDurationSeconds": sum(times.values()),
        "recommendedSlippageTolerancePercent": 1,
        "recommendedRetryDurationMinutes": 30 if "Btc" in (wanted.source, wanted.target) else 5,
    }
    if found.intermediary is not None:
        shown["intermediateAmount"] = str(found.intermediary)
    if wanted.ccm is not None:
        length = wanted.ccm["message_length"]
        shown["ccmParams"] = {"gasBudget": str(wanted.ccm["gas_budget"]), "messageLengthBytes": length}
    if found.chunks > 1:
        chunks = {"numberOfChunks": found.chunks, "chunkIntervalBlocks": CHUNK_INTERVAL}
        shown["dcaParams"] = chunks
    return shown


def _swapped(wanted: _Wanted, found: _Simulated) -> int:
    """What goes into the first pool."""
    return wanted.amount - wanted.boost_fee - found.ingress_fee


def _price(wanted: _Wanted, found: _Simulated) -> str:
    """Whole units of the target for a whole unit of the source, network and broker fees taken off."""
    paid = Decimal(_swapped(wanted, found)).scaleb(-ASSETS[wanted.source].decimals, _EXACT)
    got = Decimal(found.output + found.egress_fee).scaleb(-ASSETS[wanted.target].decimals, _EXACT)
    return _plain(_EXACT.divide(got, paid).quantize(_PRICE_PLACES, context=_EXACT))


def price_of(fixed: int, source: str, target: str) -> str:
    """A price in smallest units, with 128 fractional bits, as one between whole units."""
    price = _EXACT.divide(Decimal(fixed), Decimal(1 << 128)).quantize(_PRICE_PLACES, context=_EXACT)
    return _plain(price.scaleb(ASSETS[source].decimals - ASSETS[target].decimals, _EXACT))


def _plain(number: Decimal) -> str:
    """Digits without an exponent, and without zeros at the end."""
    return format(number.normalize(_EXACT), "f")


def _fees(wanted: _Wanted, found: _Simulated) -> list[dict[str, str]]:
    """All that is taken, in the order in which it is."""
    fees = [
        ("BOOST", wanted.source, wanted.boost_fee),
        ("INGRESS", wanted.source, found.ingress_fee),
        ("NETWORK", STABLE, found.network_fee),
        ("BROKER", STABLE, found.broker_fee),
        ("EGRESS", wanted.target, found.egress_fee),
    ]
    always = ("INGRESS", "NETWORK", "EGRESS")
    return [fee(kind, asset, taken) for kind, asset, taken in fees if taken or kind in always]


async def _pools(node: Node, block: bytes, wanted: _Wanted, found: _Simulated) -> list[dict[str, Any]]:
    """The pools on the way, and what their providers take."""
    legs = []
    if wanted.source != STABLE:
        legs.append((wanted.source, wanted.source, _swapped(wanted, found)))
    if wanted.target != STABLE:
        paid = _swapped(wanted, found) - found.network_fee - found.broker_fee
        legs.append((wanted.target, STABLE, found.intermediary or paid))
    shown = []
    for base, paid_in, into in legs:
        pool = await value(node, block, "cf_pool_info", base_asset=base, quote_asset=STABLE)
        taken = into * pool["range_order_fee_hundredth_pips"] // 10**6
        pair = {"baseAsset": write_asset(base), "quoteAsset": write_asset(STABLE)}
        shown.append({**pair, "fee": {**write_asset(paid_in), "amount": str(taken)}})
    return shown


async def _is_thin(node: Node, block: bytes, wanted: _Wanted, found: _Simulated) -> bool:
    """Whether the amount moves the price a good deal: a thousandth of it would have a better one."""
    little = _swapped(wanted, found) // found.chunks // 1_000
    if not little:
        return False
    bare = ["Network", "IngressDepositChannel", "Egress"]
    free = _Wanted(wanted.source, wanted.target, wanted.amount, 0, False, False, False, None)
    best = await _ask(node, block, free, little, None, bare)
    whole = await _ask(node, block, free, _swapped(wanted, found) // found.chunks, None, bare)
    return Decimal(whole["output"]) < Decimal(best["output"]) * 1_000 * LOW_LIQUIDITY


def _microdollars(wanted: _Wanted, found: _Simulated) -> int:
    """What is swapped, in USDC."""
    if wanted.source == STABLE:
        return _swapped(wanted, found)
    if wanted.target == STABLE:
        return found.output + found.egress_fee
    assert found.intermediary is not None
    return found.intermediary
