"""A node that goes away in the middle of an update, or between two reads of fills: nothing twice, no gap."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio

from cfnode.sdk.errors import BadAnswer, SdkError, TransportError, Unreachable
from cfnode.sdk.exchange import HttpAnswer, SdkHttpCall
from cfnode.sdk.lp import AsyncLiquidityProvider, BlockFills, LimitOrder, OrdersIncomplete, live_fills
from cfnode.sdk.lp.following import FillCursor, failures_in_a_minute
from cfnode.sdk.lp.orders import Order
from tests.lengths import repeats
from tests.process import NodeProcess, environment, running_node
from tests.sdk.lp.bot import orders_of
from tests.sdk.lp.place import ACCOUNT, ETHER, FLAGS, Market, market
from tests.support.loops import LOOPS, Run
from tests.support.sdk.orders import ladder, nonce


def lost(call: SdkHttpCall) -> Unreachable:
    """Return the error of a connection that broke after the request had been sent."""
    return Unreachable("the connection broke", url=call.url, sent=True, retryable=True)


@pytest.mark.parametrize("lost_request", range(1, 4))
def test_an_update_whose_answer_is_lost_is_repeated_without_harm(
    lost_request: int, place: Market, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node executes the request, and its answer is lost: of cancelling, shrinking, placing."""
    desired, tick = ladder(place.tick(), 3), place.tick()
    with place.client() as lp:
        others = [LimitOrder("ETH", "sell", 50 + n, "0.01", tick=tick + 900) for n in range(3)]
        larger = [LimitOrder("ETH", "sell", 0, "1", tick=tick + 900)]
        lp.set_orders([*others, *larger])
        exchange, changes = lp._transport.exchange, 0

        def breaking(call: SdkHttpCall) -> HttpAnswer:
            nonlocal changes
            answer = exchange(call)
            if b'"lp_' in (call.body or b""):
                changes += 1
                if changes == lost_request:
                    raise lost(call)
            return answer

        monkeypatch.setattr(lp._transport, "exchange", breaking)
        with pytest.raises(OrdersIncomplete) as caught:
            lp.set_orders(desired)
        error = caught.value
        parts = [others, [desired[0]], desired[1:]]
        assert [set(error.done), set(error.unsure), set(error.unsent)] == [
            {order for part in chosen for order in part}
            for chosen in (
                parts[: lost_request - 1],
                parts[lost_request - 1 : lost_request],
                parts[lost_request:],
            )
        ]
        assert isinstance(error.cause, TransportError)
        assert error.standing is not None
        assert {standing.order for standing in error.standing} == {
            standing.order for standing in lp.get_orders()
        }
        sent = nonce(place)
        plan = lp.set_orders(desired)
        assert plan.calls == nonce(place) - sent == sum(map(len, parts[lost_request:]))
        assert {standing.order for standing in lp.get_orders()} == set(desired)


@pytest.mark.world
def test_a_bot_or_its_node_is_killed_and_the_desired_orders_stand_after_it(tmp_path: Path) -> None:
    """Again and again: the node is killed while it has a part of an update, or the bot and then the node."""
    with ExitStack() as stack:
        place = stack.enter_context(market(tmp_path))
        tick, node = place.tick(), place.node
        for attempt in range(repeats(50, 2)):
            desired = orders_of(tick, attempt)
            if attempt % 2:
                killed_with_its_bot(node, tick, attempt)
            else:
                killed_in_an_update(node, desired, attempt // 2)
            base, name = f"--base-path={tmp_path}/base", f"again-{attempt}.log"
            node = stack.enter_context(running_node(tmp_path, base, *FLAGS, log_name=name))
            with bot(node, tick, attempt) as again:
                assert again.wait(timeout=120) == 0
            with Market(node).client() as lp:
                assert {standing.order for standing in lp.get_orders()} == set(desired)
                in_orders = sum(order.amount for order in desired if isinstance(order, LimitOrder))
                spent = 100 * ETHER - lp.get_balances()["Eth"] - in_orders
                assert 0 <= spent < ETHER // 10, "the fee of the deposit, and nothing placed twice"


@contextmanager
def bot(node: NodeProcess, tick: int, number: int) -> Iterator[subprocess.Popen[str]]:
    """Yield a bot in a process of its own, killed at the end."""
    arguments = ["-m", "tests.sdk.lp.bot", node.url, str(tick), str(number)]
    process = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, env=environment(node.log_path.parent), text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(timeout=30)


def killed_with_its_bot(node: NodeProcess, tick: int, attempt: int) -> None:
    """Kill a bot somewhere in an update, and its node with it; each second node has time to stop."""
    with bot(node, tick, -1) as process:
        assert process.stdout is not None
        for _ in range(1 + attempt % 4):
            assert process.stdout.readline()
        time.sleep(attempt * 7 % 40 / 1000)  # the moment itself is what is tested
    node.stop(signal.SIGKILL if attempt % 4 == 1 else signal.SIGINT)


def killed_in_an_update(node: NodeProcess, desired: list[Order], sends: int) -> None:
    """Kill the node when the changes of an update leave; for odd `sends` after it has made them."""
    with Market(node).client() as lp:
        exchange, place = lp._transport.exchange, 0

        def killing(call: SdkHttpCall) -> HttpAnswer:
            nonlocal place
            place += 1
            if place == 3:  # after the reads of pools and orders
                if sends % 2:
                    exchange(call)
                os.kill(node.process.pid, signal.SIGKILL)
                node.process.wait()
            return exchange(call)

        lp._transport.exchange = killing  # type: ignore[method-assign]
        with pytest.raises(OrdersIncomplete) as caught:
            lp.set_orders(desired)
        assert caught.value.standing is None
        assert "open now: unknown" in caught.value.message


# Fills


def amounts(blocks: list[BlockFills]) -> list[tuple[int, int]]:
    """Return (block, ether bought) of each fill."""
    return [(block.block_number, fill.bought["Eth"]) for block in blocks for fill in block.fills]


@pytest.mark.world
def test_fills_are_each_yielded_once_also_over_a_restart(tmp_path: Path) -> None:
    """Yield each fill once, in order, before and after a restart, and account for all that was sold."""
    base = f"--base-path={tmp_path}/base"
    blocks = list[BlockFills]()
    with market(tmp_path) as place, place.client() as lp:
        first = lp.get_finalized_block() + 1
        lp.set_orders([LimitOrder("ETH", "buy", 1, "50000", tick=place.tick() + 20)])
        place.swap(ETHER)
        stream = lp.fills(first)
        blocks.append(next(stream))
        place.swap(2 * ETHER)
        place.node.stop()
    with running_node(tmp_path, base, *FLAGS, log_name="again.log") as node, Market(node).client() as lp:
        Market(node).swap(3 * ETHER)
        stream = lp.fills(blocks[-1].block_number + 1)
        blocks += [next(stream), next(stream)]
        (fill,) = blocks[0].fills
        assert (fill.asset, fill.quote, fill.side, fill.id) == ("Eth", "Usdc", "buy", 1)
        assert [amount for _, amount in amounts(blocks)] == pytest.approx(
            [ETHER, 2 * ETHER, 3 * ETHER], rel=0.01
        )
        (left,) = lp.get_orders()
        sold = sum(fill.sold["Usdc"] for block in blocks for fill in block.fills)
        assert left.order.key == ("Eth", "Usdc", "buy", 1)
        assert isinstance(left.order, LimitOrder)
        # The node rounds what each fill has sold.
        assert abs(left.order.amount - (50_000 * 10**6 - sold)) <= len(blocks)
        assert lp.get_fills_since(lp.get_finalized_block() + 1) == ()


def test_the_async_stream_yields_the_same(tmp_path: Path) -> None:
    """Yield from the asynchronous client the fills that the blocking one reads."""

    async def run(place: Market) -> list[BlockFills]:
        async with AsyncLiquidityProvider(place.node.url, ACCOUNT) as lp:
            first = await lp.get_finalized_block() + 1
            await lp.set_orders([LimitOrder("ETH", "buy", 1, "50000", tick=place.tick() + 20)])
            await trio.to_thread.run_sync(place.swap, ETHER)
            blocks = list[BlockFills]()
            with trio.fail_after(60):
                async for block in lp.fills(first):
                    blocks.append(block)
                    break
            return blocks

    with market(tmp_path) as place, place.client() as lp:
        streamed = trio.run(run, place)
        read = [block for block in lp.get_fills_since(streamed[0].block_number) if block.fills]
    assert streamed == read[:1]


@pytest.mark.world
@LOOPS
def test_the_subscription_goes_on_behind_a_restart(loop: Run, tmp_path: Path) -> None:
    """Follow fills over a restart of the node within one subscription."""
    base, blocks = f"--base-path={tmp_path}/base", list[BlockFills]()

    async def scenario() -> None:
        async with AsyncLiquidityProvider(place.node.url, ACCOUNT) as lp:
            first = await lp.get_finalized_block() + 1
            await lp.set_orders([LimitOrder("ETH", "buy", 1, "50000", tick=place.tick() + 20)])
            async with live_fills(lp, first, seconds=1) as fills:
                await anyio.to_thread.run_sync(place.swap, ETHER)
                blocks.append(await anext(fills))
                await anyio.to_thread.run_sync(place.swap, 2 * ETHER)
                await anyio.to_thread.run_sync(place.node.stop)
                flags = (base, *FLAGS, f"--rpc-port={place.node.url.rpartition(':')[2]}")
                with running_node(tmp_path, *flags, log_name="again.log") as node:
                    await anyio.to_thread.run_sync(Market(node).swap, 3 * ETHER)
                    blocks.extend([await anext(fills), await anext(fills)])

    with market(tmp_path) as place:
        loop(scenario)
    bought = [amount for _, amount in amounts(blocks)]
    assert bought == pytest.approx([ETHER, 2 * ETHER, 3 * ETHER], rel=0.01)


def blocks(*numbers: int) -> tuple[BlockFills, ...]:
    """Return empty blocks of fills."""
    return tuple(BlockFills(number, "0x", 0, ()) for number in numbers)


FAILURE = Unreachable("gone", url="http://x", sent=False, retryable=True)


@pytest.fixture
def cursor() -> Iterator[FillCursor]:
    """Yield a cursor at block 5 that bears two failures in a row."""
    yield FillCursor(5, failures=2)


def test_a_cursor_goes_on_behind_the_last_block(cursor: FillCursor) -> None:
    """Go on behind the last block; each success allows two more failures, and a third is raised."""
    results: list[Any] = [blocks(5, 6), FAILURE, FAILURE, blocks(7), (), FAILURE, FAILURE, blocks(8)]
    assert [block.block_number for result in results for block in cursor.receive(result)] == [5, 6, 7, 8]
    assert cursor.next == 9
    cursor.receive(FAILURE)
    cursor.receive(FAILURE)
    with pytest.raises(Unreachable):
        cursor.receive(FAILURE)


def test_a_node_has_a_minute_however_often_it_is_asked() -> None:
    """Allow failures for a minute at any interval, and five at least."""
    assert [failures_in_a_minute(seconds) for seconds in (0, 0.3, 1, 6, 60)] == [6_000, 200, 60, 10, 5]


def test_a_cursor_raises_permanent_errors_at_once(cursor: FillCursor) -> None:
    """Raise at once for a skipped block and for a state that the node no longer has."""
    with pytest.raises(BadAnswer, match="block 6 in place of 5"):
        cursor.receive(blocks(6))
    with pytest.raises(SdkError, match="no state"):
        cursor.receive(SdkError("no state"))
