"""Quotes over a runtime that answers what a test says: limits, chunks, boosts, fees, prices, warnings."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.core.runtime_api import ApiMissing, ApiRefused
from cfnode.core.runtime_names import OF_THIS_BUILD, RuntimeNames
from cfnode.swap_service.parameters import RequestRefusal
from cfnode.swap_service.quotes import check_limits, quote, quotes
from cfnode.swap_service.source import ApiCall
from cfnode.swaps.prices import price_of
from cfnode.swaps.quotes import MAX_DCA_CHUNKS_OF_A_DAY

BITCOIN, ETHER, DOLLAR = 10**8, 10**18, 10**6
QUERY = {"srcChain": "Bitcoin", "srcAsset": "BTC", "destChain": "Ethereum", "destAsset": "ETH",
         "amount": str(BITCOIN)}  # fmt: skip


class Block:
    """A best block with a price: a bitcoin is 50,000 dollars, an ether 2,500; each simulation is noted."""

    names: RuntimeNames = OF_THIS_BUILD

    def __init__(self, **answers: Any) -> None:
        self.answers: dict[str, Any] = {
            "cf_min_deposit_amount": 100,
            "cf_max_swap_amount": None,
            "cf_egress_dust_limit": 5,
            "cf_boost_pools_depth": [],
            "cf_pool_info": {"range_order_fee_hundredth_pips": 1_000},
        } | answers
        self.asked: list[dict[str, Any]] = []

    async def value(self, function: str, /, **arguments: Any) -> Any:
        """Return the answer to a method."""
        if function == "cf_pool_simulate_swap":
            self.asked.append(arguments)
            return self._simulated(**arguments)
        answer = self.answers[function]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def values(self, *calls: ApiCall) -> list[Any]:
        """Return the answers to several methods."""
        return [await self.value(function, **arguments) for function, arguments in calls]

    def _simulated(self, amount: int, exclude_fees: list[str], **_: Any) -> dict[str, Any]:
        fixed = self.answers.get("simulation")
        if isinstance(fixed, Exception):
            raise fixed
        ingress = 0 if "IngressDepositChannel" in exclude_fees else 1_000
        dollars = (amount - ingress) * 50_000 * DOLLAR // BITCOIN
        moved = self.answers.get("impact", lambda amount: 1.0)(amount)
        return {
            "intermediary": dollars,
            "output": int(dollars * moved) * ETHER // (2_500 * DOLLAR),
            "network_fee": 10,
            "ingress_fee": ingress,
            "egress_fee": 7,
            "broker_fee": 0,
        } | (fixed or {})


async def refusal(block: Block, **changes: Any) -> RequestRefusal:
    """Return the refusal of a quote with the query's members changed."""
    with pytest.raises(RequestRefusal) as caught:
        await quotes(block, QUERY | changes)
    return caught.value


async def test_a_quote_has_the_figures_of_the_simulation() -> None:
    """Quote the simulation's amounts, whole units in the price, and durations that add up to the total."""
    document = await quote(Block(), QUERY)
    assert (document["type"], document["depositAmount"]) == ("REGULAR", str(BITCOIN))
    dollars = (BITCOIN - 1_000) * 50_000 * DOLLAR // BITCOIN
    assert document["intermediateAmount"] == str(dollars)
    assert document["egressAmount"] == str(dollars * ETHER // (2_500 * DOLLAR))
    assert document["estimatedPrice"].startswith("20"), "of whole units"
    assert [included_fee["type"] for included_fee in document["includedFees"]] == [
        "INGRESS",
        "NETWORK",
        "EGRESS",
    ]
    assert document["lowLiquidityWarning"] is False
    assert document["recommendedRetryDurationMinutes"] == 30
    times = document["estimatedDurationsSeconds"]
    assert document["estimatedDurationSeconds"] == sum(times.values())
    assert times["swap"] == 12


async def test_each_pool_of_the_route_takes_its_fee() -> None:
    """Take the first pool's fee from the amount after the ingress fee, and the second's in USDC."""
    first, second = (await quote(Block(), QUERY))["poolInfo"]
    assert (first["baseAsset"]["asset"], second["baseAsset"]["asset"]) == ("BTC", "ETH")
    assert first["fee"] == {"chain": "Bitcoin", "asset": "BTC", "amount": str((BITCOIN - 1_000) // 1_000)}
    assert second["fee"]["asset"] == "USDC"
    block = Block(simulation={"intermediary": None, "output": 50_000 * DOLLAR})
    (pool,) = (await quote(block, QUERY | {"destAsset": "USDC"}))["poolInfo"]
    assert pool["baseAsset"]["asset"] == "BTC"


# Limits


@pytest.mark.parametrize(("amount", "is_allowed"), [(99, False), (100, True), (200, True), (201, False)])
async def test_an_amount_lies_between_least_deposit_and_largest_swap(amount: int, is_allowed: bool) -> None:
    """Accept the smallest deposit and the largest swap themselves, and refuse what lies outside."""
    block = Block(cf_max_swap_amount=200)
    if is_allowed:
        await check_limits(block, "Btc", amount)
    else:
        with pytest.raises(RequestRefusal, match=r"expected amount is (below|above)"):
            await check_limits(block, "Btc", amount)


async def test_an_amount_has_to_cover_its_fees() -> None:
    """Refuse an amount that ingress fee or egress fee eats up, or whose output is below the dust limit."""
    low = await refusal(Block(simulation={"ingress_fee": BITCOIN}))
    assert low.message == f"amount is lower than estimated ingress fee ({BITCOIN})"
    assert "lower than the egress fee (7)" in (await refusal(Block(simulation={"output": 0}))).message
    dust = await refusal(Block(simulation={"output": 4}))
    assert dust.message == "egress amount (4) is lower than minimum egress amount (5)"
    assert await quotes(Block(simulation={"output": 5}), QUERY)


async def test_on_the_chain_itself_nothing_is_dust() -> None:
    """Quote 4 units for a swap on chain, which pays no egress fee and knows no dust limit."""
    block = Block(simulation={"output": 4})
    (document,) = await quotes(block, QUERY | {"isOnChain": "true"})
    assert document["egressAmount"] == "4"
    assert block.asked[0]["exclude_fees"] == ["IngressDepositChannel", "Egress"]


async def test_a_vault_swap_pays_no_deposit_channel() -> None:
    """Simulate a vault swap without the fee of a deposit channel, but with that of the egress."""
    block = Block()
    (document,) = await quotes(block, QUERY | {"isVaultSwap": "true"})
    assert document["isVaultSwap"] is True
    assert block.asked[0]["exclude_fees"] == ["IngressDepositChannel"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"destChain": "Bitcoin", "destAsset": "BTC"}, "Requested assets cannot be swapped"),
        ({"isOnChain": "true", "isVaultSwap": "true"}, "invalid request: isOnChain"),
        ({"isOnChain": "true", "brokerCommissionBps": "1"}, "invalid request: isOnChain"),
        ({"brokerCommissionBps": "10001"}, "invalid request: brokerCommissionBps"),
        ({"ccmGasBudget": "1", "ccmMessageLengthBytes": "15001"}, "invalid request: ccmMessageLengthBytes"),
        ({"ccmGasBudget": "1"}, "invalid request: ccmMessageLengthBytes"),
        ({"amount": "0"}, "invalid request: amount"),
    ],
)
async def test_a_request_that_cannot_be_is_refused_before_the_runtime_is_asked(
    changes: dict[str, str], message: str
) -> None:
    """Refuse equal assets, contradicting flags, excessive commission or message without a simulation."""
    block = Block()
    assert (await refusal(block, **changes)).message == message
    assert block.asked == []


async def test_a_chain_that_takes_no_messages_gets_none() -> None:
    """Refuse a message to Bitcoin, which has no contracts that could receive it."""
    pair = {"srcChain": "Ethereum", "srcAsset": "ETH", "destChain": "Bitcoin", "destAsset": "BTC"}
    refused = await refusal(Block(), **pair, ccmGasBudget="1", ccmMessageLengthBytes="1")
    assert refused.message == "invalid request: ccmGasBudget (Bitcoin takes no messages)"


async def test_a_pool_without_liquidity_and_a_runtime_without_the_method() -> None:
    """Answer 400 where the pool cannot fill the swap, and 503 where the runtime has no such method."""
    refused = await refusal(Block(simulation=ApiRefused("cf_pool_simulate_swap", "no")))
    assert (refused.status, refused.message) == (400, "insufficient liquidity for requested amount")
    assert (await refusal(Block(simulation=ApiMissing("not in this runtime")))).status == 503


# Chunks


@pytest.mark.parametrize(
    ("dollars", "chunks"),
    [(3_000, 1), (3_001, 2), (6_000, 2), (30_000, 10), (10**9, MAX_DCA_CHUNKS_OF_A_DAY)],
)
async def test_a_chunk_has_at_most_3000_dollars_and_a_swap_lasts_no_day(dollars: int, chunks: int) -> None:
    """Split above 3,000 dollars a chunk, and into no more chunks than a day has room for."""
    block = Block(simulation={"intermediary": dollars * DOLLAR})
    documents = await quotes(block, QUERY | {"dcaEnabled": "true"})
    assert [document["type"] for document in documents] == ["REGULAR", "DCA"][: min(chunks, 2)]
    if chunks > 1:
        assert documents[1]["dcaParams"] == {"numberOfChunks": chunks, "chunkIntervalBlocks": 2}
        later = (
            documents[1]["estimatedDurationsSeconds"]["swap"]
            - documents[0]["estimatedDurationsSeconds"]["swap"]
        )
        assert later == 12 * (chunks - 1)
        assert later < 86_400


async def test_chunks_are_only_quoted_where_they_are_asked_for() -> None:
    """Quote chunks under either name of the flag only; the first quote stays the regular one."""
    block = Block(simulation={"intermediary": 30_000 * DOLLAR})
    assert len(await quotes(block, QUERY)) == 1
    assert len(await quotes(block, QUERY | {"dcaV2Enabled": "true"})) == 2
    assert (await quote(block, QUERY | {"dcaEnabled": "true"}))["type"] == "REGULAR"


# Boosting


def pools(*rows: tuple[int, int, str]) -> list[dict[str, Any]]:
    """Return boost pools of tier, available amount and asset as the runtime gives them."""
    return [{"tier": tier, "available_amount": amount, "asset": asset} for tier, amount, asset in rows]


async def test_the_cheapest_pool_that_holds_enough_boosts_the_deposit() -> None:
    """Boost from the lowest tier with enough of the asset; the quote is quicker and lower by the fee."""
    depth = pools((30, 9 * BITCOIN, "Btc"), (10, BITCOIN, "Btc"), (5, BITCOIN - 1, "Btc"), (1, 10**20, "Eth"))
    document = await quote(Block(cf_boost_pools_depth=depth), QUERY)
    boosted = document["boostQuote"]
    assert (boosted["estimatedBoostFeeBps"], boosted["maxBoostFeeBps"]) == (10, 30)
    assert boosted["includedFees"][0] == {
        "type": "BOOST",
        "chain": "Bitcoin",
        "asset": "BTC",
        "amount": "100000",
    }
    assert int(boosted["egressAmount"]) < int(document["egressAmount"])
    assert boosted["estimatedDurationSeconds"] < document["estimatedDurationSeconds"]


@pytest.mark.parametrize(
    ("depth", "changes"),
    [
        (pools((5, BITCOIN - 1, "Btc")), {}),
        (pools((5, 10**20, "Btc")), {"isOnChain": "true"}),
        (pools((5, 10**20, "Eth")), {"srcChain": "Ethereum", "destChain": "Bitcoin", "srcAsset": "ETH",
                                     "destAsset": "BTC"}),
        (ApiMissing("no boosting"), {}),
    ],
)  # fmt: skip
async def test_no_deposit_is_boosted_without_a_pool_for_it(depth: Any, changes: dict[str, str]) -> None:
    """Quote no boost where the pools hold too little, another asset or nothing, or for a swap on chain."""
    assert "boostQuote" not in await quote(Block(cf_boost_pools_depth=depth), QUERY | changes)


# Prices


@pytest.mark.parametrize(("share", "is_thin"), [(1.0, False), (0.951, False), (0.949, True)])
async def test_a_swap_that_moves_the_price_by_a_twentieth_gets_a_warning(share: float, is_thin: bool) -> None:
    """Warn of low liquidity where the whole amount gets 5 percent less than a small one."""
    block = Block(impact=lambda amount: share if amount > BITCOIN // 2 else 1.0)
    assert (await quote(block, QUERY))["lowLiquidityWarning"] is is_thin


@pytest.mark.parametrize(
    ("fixed", "source", "target", "price"),
    [
        (1 << 128, "Usdc", "Usdc", "1"),
        ((1 << 128) * 2_500 * DOLLAR // ETHER, "Eth", "Usdc", "2500"),
        (1 << 128, "Btc", "Eth", "0.0000000001"),
        (0, "Btc", "Eth", "0"),
        (2**256 - 1, "Usdc", "Btc", "3402823669209384634633746074317682114.55999999999999999999"),
    ],
)
def test_a_price_in_whole_units(fixed: int, source: str, target: str, price: str) -> None:
    """Write a price of 128 fractional bits in whole units of both assets, and never as an exponent."""
    price_text = price_of(fixed, source, target)
    assert "e" not in price_text.lower()
    assert float(price_text) == pytest.approx(float(price), rel=1e-9)
