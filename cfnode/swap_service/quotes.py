"""Quotes of a swap: the runtime's simulation (`cf_pool_simulate_swap`) at the best block, and its limits.

`cfnode.swaps.quotes` makes the documents of these figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cfnode.core.assets import ASSETS, CHAINS
from cfnode.core.runtime_api import ApiMissing, ApiRefused
from cfnode.core.runtime_names import RuntimeNames
from cfnode.swap_service.parameters import RequestRefusal, amount, asset_pair, number, switch
from cfnode.swap_service.source import ApiCall, BestBlock
from cfnode.swaps.limits import BPS, MAX_CCM_MESSAGE_BYTES
from cfnode.swaps.quotes import (
    BOOSTED,
    CHUNK_INTERVAL,
    MAX_BOOST_BPS,
    SMALL_PART,
    STABLE,
    QuoteTerms,
    Simulation,
    best_chunks,
    boost_tier,
    excluded_fees,
    is_thin,
    quote_json,
    quote_pools,
    swapped_amount,
)

__all__ = ["check_limits", "quote", "quotes"]


async def quotes(block: BestBlock, query: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all quotes: without chunks, and in chunks if requested and if the amount is large enough.

    Raises Refusal.
    """
    terms = _read_terms(query, block.names)
    await check_limits(block, terms.source, terms.amount)
    regular = await _checked_simulation(block, terms, 1)
    documents = [await _with_boost(block, terms, regular)]
    chunks = best_chunks(terms, regular)
    if terms.takes_chunks and chunks > 1:
        chunked = await _checked_simulation(block, terms, chunks)
        documents.append(await _with_boost(block, terms, chunked))
    return documents


async def quote(block: BestBlock, query: Mapping[str, Any]) -> dict[str, Any]:
    """Return the quote without chunks. Raises Refusal."""
    return (await quotes(block, {**query, "dcaEnabled": "false", "dcaV2Enabled": "false"}))[0]


async def _with_boost(block: BestBlock, terms: QuoteTerms, swap: Simulation) -> dict[str, Any]:
    """Return a quote, with one for a boosted deposit inside if a boost pool holds enough for that."""
    result = await _quote(block, terms, swap)
    tier = await _boost_tier(block, terms)
    if tier is not None:
        boosted = replace(terms, boost_bps=tier)
        simulation = await _checked_simulation(block, boosted, swap.chunks)
        quoted = await _quote(block, boosted, simulation)
        fees = {"estimatedBoostFeeBps": tier, "maxBoostFeeBps": MAX_BOOST_BPS}
        result["boostQuote"] = quoted | fees
    return result


async def _boost_tier(block: BestBlock, terms: QuoteTerms) -> int | None:
    """Return the lowest fee, in basis points, at which the deposit would be boosted; None if it would not."""
    if terms.source != BOOSTED or terms.is_on_chain:
        return None
    try:
        return boost_tier(terms, await block.value("cf_boost_pools_depth"))
    except ApiMissing:
        return None


def _read_terms(query: Mapping[str, Any], names: RuntimeNames) -> QuoteTerms:
    """Return what a query wants to have quoted. Raises Refusal."""
    on_chain, vault_swap = switch(query, "isOnChain"), switch(query, "isVaultSwap")
    commission = number(query, "brokerCommissionBps", BPS, 0)
    source, target = (asset_pair(query, side, names) for side in ("src", "dest"))
    if on_chain and (vault_swap or commission):
        raise RequestRefusal(400, "invalid request: isOnChain")
    if source == target:
        raise RequestRefusal(400, "Requested assets cannot be swapped")
    if vault_swap and ASSETS[source].chain == "Assethub":
        raise RequestRefusal(400, "invalid request: isVaultSwap (Assethub has no vault swaps)")
    message = _message(query)
    if message is not None and not CHAINS[ASSETS[target].chain].ccm:
        raise RequestRefusal(400, f"invalid request: ccmGasBudget ({ASSETS[target].chain} takes no messages)")
    takes_chunks = switch(query, "dcaEnabled", "dcaV2Enabled")
    asked = amount(query, "amount")
    return QuoteTerms(source, target, asked, commission, vault_swap, on_chain, takes_chunks, message)


def _message(query: Mapping[str, Any]) -> dict[str, int] | None:
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


async def _checked_simulation(block: BestBlock, terms: QuoteTerms, chunks: int) -> Simulation:
    dca = {"number_of_chunks": chunks, "chunk_interval": CHUNK_INTERVAL} if chunks > 1 else None
    swapped = terms.amount - terms.boost_fee
    answer = await _simulate(block, terms, swapped, dca, excluded_fees(terms))
    swap = Simulation(chunks, **answer)
    if swap.ingress_fee >= swapped:
        raise RequestRefusal(400, f"amount is lower than estimated ingress fee ({swap.ingress_fee})")
    if swap.output == 0:
        raise RequestRefusal(400, f"swap output amount is lower than the egress fee ({swap.egress_fee})")
    dust = await block.value("cf_egress_dust_limit", asset=terms.target)
    if swap.output < dust and not terms.is_on_chain:
        text = f"egress amount ({swap.output}) is lower than minimum egress amount ({dust})"
        raise RequestRefusal(400, text)
    return swap


async def _simulate(
    block: BestBlock, terms: QuoteTerms, swapped: int, dca: dict[str, int] | None, excluded: list[str]
) -> dict[str, Any]:
    arguments = {
        "from": terms.source,
        "to": terms.target,
        "amount": swapped,
        "broker_commission": terms.broker_bps,
        "dca_parameters": dca,
        "ccm_data": terms.message,
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


async def _quote(block: BestBlock, terms: QuoteTerms, swap: Simulation) -> dict[str, Any]:
    rates = []
    for pool in quote_pools(terms, swap):
        info = await block.value("cf_pool_info", base_asset=pool.base, quote_asset=STABLE)
        rates.append(info["range_order_fee_hundredth_pips"])
    return quote_json(terms, swap, rates, is_low_liquidity=await _is_thin(block, terms, swap))


async def _is_thin(block: BestBlock, terms: QuoteTerms, swap: Simulation) -> bool:
    """Return whether the amount moves the price much: a small part of it is simulated, too."""
    part = swapped_amount(terms, swap) // swap.chunks
    if part < SMALL_PART:
        return False
    excluded = ["Network", "IngressDepositChannel", "Egress"]
    free = QuoteTerms(terms.source, terms.target, terms.amount)
    small = await _simulate(block, free, part // SMALL_PART, None, excluded)
    full = await _simulate(block, free, part, None, excluded)
    return is_thin(full["output"], small["output"])
