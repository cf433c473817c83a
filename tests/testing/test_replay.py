"""Recorded markets on a real development chain: equal reports, and a profit that the events confirm."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from math import floor
from pathlib import Path
from random import Random

import pytest

from cfnode.core import ss58
from cfnode.core.keys import Keypair
from cfnode.sdk.lp import LimitOrder, Market, RangeOrder, RangeOrderByAmounts, Strategy
from cfnode.sdk.lp.orders import Order, Pool
from cfnode.testing import DevChain, DevNode, running_node
from cfnode.testing.dev_calls import Event
from cfnode.testing.replay import PROVIDER_URI, Report, StrategyError, flags_at, play, setting, timeline_of
from cfnode.testing.replay.dev_chain import Stage
from cfnode.testing.replay.playing import Settings
from cfnode.testing.replay.timeline import Timeline
from tests.lengths import repeats

ACCOUNT = ss58.encode(Keypair.from_suri(PROVIDER_URI).account)
PRICES = """time,asset,price
2026-01-05T12:00:00Z,ETH,3000
2026-01-05T12:00:00Z,FLIP,0.5
2026-01-05T12:00:00Z,USDC,0.999
2026-01-05T12:00:17Z,ETH,3003.50
2026-01-05T12:00:30Z,ETH,2997.25
"""
SWAPS = """time,from,to,amount
2026-01-05T12:00:00Z,ETH,USDC,2
2026-01-05T12:00:13Z,USDC,ETH,6000
2026-01-05T12:00:13Z,ETH,USDC,0.0000001
"""
FUNDS = {"Eth": 10**19, "Usdc": 30_000 * 10**6}


def quotes(market: Market) -> Sequence[Order]:
    """Return a sell order above the price and two buy orders below it."""
    price, cash = market.price("ETH"), market.owned("USDC")
    return [
        LimitOrder("ETH", "sell", 1, round(market.owned("ETH") / 2, 6), price=price * Decimal("1.001")),
        LimitOrder("ETH", "buy", 1, round(cash / 3, 2), price=price * Decimal("0.999")),
        LimitOrder("ETH", "buy", 2, round(cash / 3, 2), price=price * Decimal("0.998")),
    ]


@pytest.fixture(scope="module")
def timeline(tmp_path_factory: pytest.TempPathFactory) -> Timeline:
    """Return the timeline of both records."""
    folder = tmp_path_factory.mktemp("records")
    (folder / "prices.csv").write_text(PRICES)
    (folder / "swaps.csv").write_text(SWAPS)
    return timeline_of(folder / "prices.csv", folder / "swaps.csv", None, None)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory, timeline: Timeline) -> Iterator[DevNode]:
    """Yield a node at the timeline's start, with a first block."""
    with running_node(tmp_path_factory.mktemp("node"), *flags_at(timeline)) as running:
        with DevChain(running.url) as chain:
            chain.new_block()
        yield running


@pytest.fixture
def stage(node: DevNode) -> Iterator[Stage]:
    """Yield the chain with its first block, in which the accounts were registered."""
    with Stage(node.url, ACCOUNT) as opened:
        snapshot = opened.chain.snapshot()
        yield opened
        opened.chain.revert(snapshot)


def played(
    stage: Stage, timeline: Timeline, strategy: Strategy = quotes, funds: Mapping[str, int] = FUNDS
) -> Report:
    """Play the timeline with this strategy and these funds."""
    settings = Settings(funds, 10**12, 10)
    return play(stage, timeline, strategy, settings, lambda done, blocks: None)


def events_between(chain: DevChain, after: str, last: str) -> Iterator[Event]:
    """Yield all events of the blocks behind `after` up to `last`, the newest block first."""
    block = last
    while block != after:
        yield from chain.events(block)
        block = chain.rpc("chain_getHeader", block)["parentHash"]


def balance_changes(chain: DevChain, after: str, last: str) -> dict[str, int]:
    """Return the provider's credits less its debits by asset, between two blocks."""
    account, changes = "0x" + ss58.decode(ACCOUNT)[1].hex(), dict[str, int]()
    signed = {"AccountCredited": ("amount_credited", 1), "AccountDebited": ("amount_debited", -1)}
    for event in events_between(chain, after, last):
        fields = event["fields"]
        if event["pallet"] == "AssetBalances" and fields.get("account_id") == account:
            name, sign = signed[event["name"]]
            amount = fields[name]
            units = int(amount, 16) if isinstance(amount, str) else amount
            changes[fields["asset"]] = changes.get(fields["asset"], 0) + sign * units
    return changes


def test_the_profit_is_that_of_the_chains_events_and_equal_in_each_run(
    stage: Stage, timeline: Timeline
) -> None:
    """Report the profit that the chain's events give, and an equal report in a second run."""
    before = stage.chain.snapshot()
    markets = list[Market]()

    def watched(market: Market) -> Sequence[Order]:
        markets.append(market)
        return quotes(market)

    report = played(stage, timeline, watched)
    assert [market.time for market in markets] == [timeline.start + 6_000 * n for n in range(5)]
    assert [market.price("ETH") for market in markets] == [
        3000,
        3000,
        3000,
        Decimal("3003.5"),
        Decimal("3003.5"),
    ]

    # Inventory: what the events of all blocks after the first say.
    moved = balance_changes(stage.chain, markets[0].block_hash, report.last_block)
    held = {holding.asset: holding for holding in report.holdings}
    assert {asset: balance.end - balance.start for asset, balance in held.items()} == moved
    assert stage.provider.get_balances() | {asset: balance.end for asset, balance in held.items()} == (
        stage.provider.get_balances()
    )
    assert stage.provider.get_orders() == ()
    # Fills: what they gave and took is the whole of it.
    filled = dict[str, int]()
    for block in report.fills:
        for fill in block.fills:
            for asset, amount in fill.sold.items():
                filled[asset] = filled.get(asset, 0) - amount
            for asset, amount in fill.bought.items():
                filled[asset] = filled.get(asset, 0) + amount
    assert moved["Eth"] != 0
    assert all(abs(moved[asset] - filled[asset]) <= 3 * len(markets) for asset in moved)  # rounding of orders
    # Profit: the last prices, in fractions.
    values = {"Eth": Fraction("2997.25"), "Usdc": Fraction("0.999")}
    units = {"Eth": 10**18, "Usdc": 10**6}
    microdollars = sum(floor(moved[asset] * values[asset] * 10**6 / units[asset]) for asset in moved)
    assert report.trading_profit == microdollars
    assert report.transaction_fees > 0
    assert report.profit == microdollars - floor(Fraction(report.transaction_fees * 500_000, 10**18))
    assert [(refusal.swap.line, refusal.reason) for refusal in report.refused] == [(4, "BelowMinimumDeposit")]

    stage.chain.revert(before)
    with Stage(stage.chain.url, ACCOUNT) as again:
        assert played(again, timeline) == report


def test_an_order_over_the_balance_ends_in_words(stage: Stage, timeline: Timeline) -> None:
    """Explain an order over the balance with time, order, amount and balance."""

    def greedy(market: Market) -> Sequence[Order]:
        return [LimitOrder("ETH", "sell", 1, "1000", price="3100")]

    with pytest.raises(StrategyError) as refused:
        played(stage, timeline, greedy)
    text = str(refused.value)
    assert "(2026-01-05T12:00:00Z): the chain refused the strategy's sell order 1 of ETH at tick" in text
    assert "InsufficientBalance" in text
    assert "it offers 1000 Eth; the account owns 9.99" in text


def test_range_orders_earn_fees_and_channels_are_opened_anew(
    stage: Stage, timeline: Timeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earn fees by range orders, and open channels anew in their time."""
    monkeypatch.setattr(setting, "CHANNEL_USE_SLOTS", 2)
    first = stage.chain.rpc("chain_getBlockHash")

    def ranged(market: Market) -> Sequence[Order]:
        if market.time >= timeline.start + 18_000:
            return []
        by_amounts = RangeOrderByAmounts("ETH", 8, -200_000, -192_000, "0.5", "2000")
        return [RangeOrder("ETH", 7, -200_000, -192_000, 10**14), by_amounts]

    report = played(stage, timeline, ranged)
    assert [fill.id for block in report.fills for fill in block.fills] == [7, 8]
    assert sum(report.pool_fees.values()) > 0
    opened = [
        event
        for event in events_between(stage.chain, first, report.last_block)
        if event["name"] == "SwapDepositAddressReady"
    ]
    assert (len(opened), report.swaps, len(report.refused)) == (3, 3, 1)
    assert stage.provider.get_orders() == ()


class ComparedStage(Stage):
    """A stage whose market of some pools has to be the market of all pools."""

    compared = 0

    def market(self, block: str, prices: Mapping[str, int], pools_with_orders: Collection[Pool]) -> Market:
        """Return the market, once it was compared."""
        replayed = super().market(block, prices, pools_with_orders)
        dollars = {asset: Decimal(price).scaleb(-6) for asset, price in prices.items()}
        assert replayed == self.provider.get_market(dollars)
        self.compared += 1
        return replayed


@pytest.mark.parametrize("seed", range(repeats(8, 1)))
def test_the_market_of_pools_with_orders_is_that_of_all_pools(
    stage: Stage, tmp_path: Path, seed: int
) -> None:
    """Build the market of pools with orders equal to that of all pools."""
    chance, lines, swaps = Random(seed), PRICES.splitlines(), SWAPS.splitlines()
    lines += ["2026-01-05T12:00:00Z,BTC,90000", "2026-01-05T12:00:00Z,USDT,1"]
    lines += [
        f"2026-01-05T12:00:{second:02}Z,ETH,{chance.randrange(2_950, 3_050)}" for second in (36, 48, 54)
    ]
    swaps += ["2026-01-05T12:00:20Z,BTC,ETH,0.05", "2026-01-05T12:00:32Z,ETH,USDT,1"]
    for name, rows in (("prices", lines), ("swaps", swaps)):
        head, *body = rows
        (tmp_path / name).write_text("\n".join([head, *sorted(body), ""]))
    recorded = timeline_of(tmp_path / "prices", tmp_path / "swaps", None, None)

    def some(market: Market) -> Sequence[Order]:
        offers = [
            LimitOrder("ETH", "sell", 1, "0.5", price=market.price("ETH") * Decimal("1.0005")),
            LimitOrder("ETH", "buy", 1, "900", price=market.price("ETH") * Decimal("0.9995")),
            LimitOrder("BTC", "buy", 5, "1000", price=market.price("BTC")),
            LimitOrder("USDT", "buy", 9, "500", price=market.price("USDT")),
            RangeOrder("ETH", 7, -200_000, -192_000, 10**13),
            RangeOrder("USDT", 8, -100, 100, 10**10),
        ]
        return chance.sample(offers, chance.randrange(len(offers) + 1))

    with ComparedStage(stage.chain.url, ACCOUNT) as compared:
        report = played(compared, recorded, some, {**FUNDS, "Btc": 10**8, "Usdt": 10_000 * 10**6})
        assert compared.compared == report.blocks + 1 > 8
        assert compared.provider.get_orders() == ()
