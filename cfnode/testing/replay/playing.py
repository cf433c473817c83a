"""Player of a recorded market, block by block: prices, the strategy's orders, and swaps.

1. A block gets the prices that were recorded up to its time: the oracle's, and those of the pools, with which
   the liquidity of other providers moves.
2. Then the block gets the changes of orders that the strategy decided on after the block before.
3. Then it gets the deposits of the swaps. The chain executes a swap two blocks later or more.
4. After the block the strategy receives balances, orders and fills, and decides.

After the last block all orders are cancelled in one more block, so that the inventory is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from cfnode.sdk.errors import RpcCallError
from cfnode.sdk.lp import Market, Strategy
from cfnode.sdk.lp.answers import BlockFills
from cfnode.sdk.lp.executing import Change, changes_of
from cfnode.sdk.lp.orders import LimitOrder, Order, Pool, RangeOrderByAmounts
from cfnode.sdk.lp.planning import Plan, plan_of
from cfnode.testing.replay.dev_chain import AddedBlock, Stage
from cfnode.testing.replay.errors import StrategyError
from cfnode.testing.replay.records import QUOTE, RecordedSwap
from cfnode.testing.replay.report import FLIP, RefusedSwap, Report, fees_of, holdings_of
from cfnode.testing.replay.setting import Channels, fund_account, refusals_of
from cfnode.testing.replay.strategies import orders_of, place_of
from cfnode.testing.replay.timeline import Timeline, TimelineStep

__all__ = ["LEAD_SLOTS", "Settings", "play"]

LEAD_SLOTS = 200
"""Slots before the first block in which accounts are funded: 20 minutes of the chain's time."""
FEEDS = ("Btc", "Eth", "Sol", "Usdc", "Usdt")
"""Assets whose price the oracle reports."""
Progress = Callable[[int, int], None]
"""A function that receives the number of blocks that are done, and that of all."""


@dataclass(frozen=True)
class Settings:
    """Settings of a replay.

    `funds`: base units by asset that the account begins with. `depth`: microdollars of others' USDC in each
    pool. `strategy_s`: maximum seconds of one call of the strategy.
    """

    funds: Mapping[str, int]
    depth: int
    strategy_s: float


@dataclass
class _Played:
    """The results of the blocks so far."""

    prices: dict[str, int] = field(default_factory=dict)
    fills: list[BlockFills] = field(default_factory=list)
    refused: list[RefusedSwap] = field(default_factory=list)
    sent: list[RecordedSwap] = field(default_factory=list)


def play(
    stage: Stage, timeline: Timeline, strategy: Strategy, settings: Settings, progress: Progress
) -> Report:
    """Play all records on a new development chain. Raises ReplayError, and the SDK's errors."""
    stage.begin()
    fund_account(stage, settings.funds)
    return _Player(stage, timeline, strategy, settings).run(progress)


class _Player:
    def __init__(self, stage: Stage, timeline: Timeline, strategy: Strategy, settings: Settings) -> None:
        self._stage, self._timeline = stage, timeline
        self._strategy, self._settings = strategy, settings
        self._channels = Channels(stage)
        self._played = _Played()

    def run(self, progress: Progress) -> Report:
        slots, played = self._timeline.slots, self._played
        steps = list(self._timeline.steps())
        self._open_first(steps[0])
        self._stage.jump_to(slots[0])
        first_market: Market | None = None
        funds, start_prices = 0, dict[str, int]()
        desired: list[Order] | None = None
        market: Market | None = None
        for count, (step, next_step) in enumerate(pairwise([*steps, None]), start=1):
            assert step is not None
            market = self._add(step, next_step, market, desired)
            if first_market is None:
                first_market, funds, start_prices = market, self._stage.flip(), dict(played.prices)
            if next_step is not None:
                desired = orders_of(self._strategy, market, self._settings.strategy_s)
            progress(count, len(slots))
        assert first_market is not None and market is not None
        last_market = self._change(
            market, Plan(tuple(open_order.order for open_order in market.orders), (), (), ())
        )
        return Report(
            start=first_market.time,
            end=market.time,
            blocks=len(steps),
            last_block=last_market.block_hash,
            prices=sum(len(step.prices) for step in steps),
            swaps=len(played.sent),
            refused=tuple(played.refused),
            fills=tuple(played.fills),
            holdings=holdings_of(first_market.balances, last_market.balances, start_prices, played.prices),
            pool_fees=fees_of(played.fills),
            transaction_fees=funds - self._stage.flip(),
            flip_price=played.prices.get(FLIP),
        )

    def _open_first(self, step: TimelineStep) -> None:
        """Open the channels of the first block's swaps in a block before it."""
        pairs = self._channels.missing(step.swaps, step.slot)
        block = self._stage.add_block(waiting=self._channels.opening(pairs))
        self._channels.receive(pairs, block.results, step.slot)

    def _add(
        self,
        step: TimelineStep,
        next_step: TimelineStep | None,
        market: Market | None,
        desired: Sequence[Order] | None,
    ) -> Market:
        """Add the block of a step; return the market after it."""
        plan = Plan((), (), (), ()) if market is None or desired is None else self._plan(market, desired)
        pairs = () if next_step is None else self._channels.missing(next_step.swaps, next_step.slot)
        prices = self._price_calls(step)
        deposits = [self._channels.sent(swap) for swap in step.swaps]
        self._played.prices.update(step.prices)
        block, market_after = self._block(market, plan, prices, deposits, pairs)
        self._channels.receive(pairs, block.results, step.slot)
        self._played.sent += step.swaps
        self._note_refused(step, block, market_after)
        return market_after

    def _plan(self, market: Market, desired: Sequence[Order]) -> Plan:
        """Return the changes that make the desired orders stand.

        For orders by amounts they depend on the pools.
        """
        if any(isinstance(order, RangeOrderByAmounts) for order in desired):
            return self._stage.provider.get_plan(desired)
        return plan_of(desired, [open_order.order for open_order in market.orders], {})

    def _change(self, market: Market, plan: Plan) -> Market:
        """Make a plan's changes in a block without records; return the market after it."""
        _, market_after = self._block(market, plan, (), (), ())
        return market_after

    def _block(
        self,
        market: Market | None,
        plan: Plan,
        prices: Sequence[str],
        deposits: Sequence[str],
        pairs: Sequence[tuple[str, str]],
    ) -> tuple[AddedBlock, Market]:
        changes = [change for group in changes_of(plan, "NoWait") for change in group]
        try:
            order_calls = self._stage.send((method, params) for _, method, params in changes)
        except RpcCallError as error:
            prefix = "" if market is None else f"{place_of(market)}: "
            raise StrategyError(f"{prefix}the node refused the orders: {error.message}") from None
        opening = self._channels.opening(pairs)
        block = self._stage.add_block([*prices, *order_calls], deposits, waiting=opening)
        refusals = block.refusals[len(prices) : len(prices) + len(order_calls)]
        for (orders, _, _), reason in zip(changes, refusals, strict=True):
            if reason is not None and market is not None:
                raise StrategyError(_refusal(market, orders, reason))
        market_after = self._stage.market(
            block.block_hash, self._played.prices, _pools_with_orders(market, changes)
        )
        if market_after.fills:
            fills = BlockFills(
                market_after.block_number, market_after.block_hash, market_after.time, market_after.fills
            )
            self._played.fills.append(fills)
        return block, market_after

    def _price_calls(self, step: TimelineStep) -> list[str]:
        """Return the calls that set the oracle's prices, and those of pools.

        The depth of a pool is set with its first price.
        """
        calls = list[str]()
        for asset, price in step.prices.items():
            if asset in FEEDS:
                fields = {"feed": asset, "price": price, "is_stale": False}
                calls.append(self._stage.dev_call("read_oracle", **fields))
            if asset != QUOTE:
                depth = None if asset in self._played.prices else self._settings.depth
                calls.append(self._stage.dev_call("set_pool", asset=asset, price=price, depth=depth))
        return calls

    def _note_refused(self, step: TimelineStep, block: AddedBlock, market: Market) -> None:
        unmatched = list(step.swaps)
        for amount, reason in refusals_of(block):
            for swap in unmatched:
                if swap.amount == amount:
                    self._played.refused.append(RefusedSwap(swap, market.block_number, reason))
                    unmatched.remove(swap)
                    break


def _pools_with_orders(market: Market | None, changes: Sequence[Change]) -> set[Pool]:
    """Return the pools in which orders may stand after changes to a market; other pools have none."""
    standing = () if market is None else market.orders
    changed = (order for orders, _, _ in changes for order in orders)
    return {order.pool for order in (*(open_order.order for open_order in standing), *changed)}


def _refusal(market: Market, orders: Sequence[Order], reason: str) -> str:
    """Return the text about the order that the chain refused, and the amount that the account owns."""
    order = orders[0]
    text = f"{place_of(market)}: the chain refused the strategy's {order}: {reason}"
    if isinstance(order, LimitOrder):
        sold, owned = order.whole_amount.normalize(), market.owned(order.sold_asset).normalize()
        return f"{text} (it offers {sold:f} {order.sold_asset}; the account owns {owned:f})"
    return text
