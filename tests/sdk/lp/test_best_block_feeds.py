"""The order book and balances at each block: in a program, as lines of JSON, and at a terminal."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from cfnode.cli.exits import ExitCode
from cfnode.sdk.lp import AsyncLiquidityProvider, LimitOrder, live_balances, live_book, live_fills
from tests.e2e.terminal import terminal
from tests.process import command, environment, running_node
from tests.sdk.lp.place import ACCOUNT, ETHER, FLAGS, Market, market
from tests.support.loops import LOOPS, Run


def asks(book: dict[str, Any]) -> list[tuple[int, str]]:
    """Return ticks and amounts of an order book on a line."""
    return [(ask["tick"], ask["amount"]) for ask in book["asks"]]


@contextmanager
def live_lines(place: Market, folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Yield `cfnode lp …` with a line of JSON for each event, ended at the end."""
    process = subprocess.Popen(
        command("lp", *words, "--json", "--every=0.3", f"--url={place.node.url}"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(folder),
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(timeout=30)


def next_with(process: subprocess.Popen[str], tick: int) -> dict[str, Any]:
    """Return the next line on which an order at this tick stands."""
    assert process.stdout is not None
    for line in process.stdout:
        book: dict[str, Any] = json.loads(line)
        if tick in [at for at, _ in asks(book)]:
            return book
    raise AssertionError("the command has ended")


@pytest.mark.world
def test_a_live_book_follows_the_blocks_over_a_restart_until_ctrl_c(tmp_path: Path) -> None:
    """Print the order book at each block, over a restart, until Ctrl-C ends it without a traceback."""
    base = f"--base-path={tmp_path}/base"
    with market(tmp_path) as place, live_lines(place, tmp_path, "book", "ETH", "--live") as lines:
        tick, port = place.tick() + 300, place.node.url.rpartition(":")[2]
        follow = [sys.executable, "-m", "cfnode", "lp", "book", "ETH", "--live", "--every=0.3"]
        with (
            terminal([*follow, f"--url={place.node.url}"], tmp_path, environment(tmp_path)) as screen,
            place.client() as lp,
        ):
            screen.wait_for("a swap sells ETH at")
            lp.set_orders([LimitOrder("ETH", "sell", 1, "1.25", tick=tick)])
            document = next_with(lines, tick)
            assert (tick, str(ETHER * 5 // 4)) in asks(document)
            assert document["blockHash"] == place.node.call("chain_getBlockHash")
            screen.wait_for(rf"sell +{tick} .* 1\.25 ETH")
            place.node.stop()
            screen.wait_for("Warning: .*trying again")
            flags = (base, *FLAGS, f"--rpc-port={port}")
            with running_node(tmp_path, *flags, log_name="again.log") as node:
                with Market(node).client() as again:
                    again.set_orders([LimitOrder("ETH", "sell", 1, "1.5", tick=tick + 1)])
                assert (tick + 1, str(ETHER * 3 // 2)) in asks(next_with(lines, tick + 1))
                screen.wait_for(rf"sell +{tick + 1} .* 1\.5 ETH")
                assert screen.end() == ExitCode.INTERRUPTED
        lines.send_signal(signal.SIGINT)
        _, errors = lines.communicate(timeout=30)
    assert lines.returncode == ExitCode.INTERRUPTED
    assert "Traceback" not in errors + screen.text
    assert "stopped" in screen.text


@pytest.mark.world
def test_fills_are_followed_over_a_restart_until_ctrl_c(tmp_path: Path) -> None:
    """Print the fills of two swaps, each once, over a restart of the node, and end by Ctrl-C with 130."""
    base, arguments = f"--base-path={tmp_path}/base", ("fills", "--follow", f"--lp-account={ACCOUNT}")
    with market(tmp_path) as place, live_lines(place, tmp_path, *arguments) as lines:
        assert lines.stdout is not None
        port = place.node.url.rpartition(":")[2]
        with place.client() as lp:
            lp.set_orders([LimitOrder("ETH", "buy", 1, "50000", tick=place.tick() + 20)])
        place.swap(ETHER)
        blocks = [json.loads(lines.stdout.readline())]
        place.node.stop()
        with running_node(tmp_path, base, *FLAGS, f"--rpc-port={port}", log_name="again.log") as node:
            Market(node).swap(2 * ETHER)
            blocks.append(json.loads(lines.stdout.readline()))
            lines.send_signal(signal.SIGINT)
            last_lines, _ = lines.communicate(timeout=30)
    assert lines.returncode == ExitCode.INTERRUPTED
    words = "stopped following; the orders stay open"
    assert json.loads(last_lines) == {"error": {"code": "INTERRUPTED", "message": words}}
    fills = [fill for block in blocks for fill in block["fills"]]
    assert [(fill["side"], fill["id"]) for fill in fills] == [("buy", 1)] * 2
    bought = [int(fill["bought"]["Eth"]) for fill in fills]
    assert bought == pytest.approx([ETHER, 2 * ETHER], rel=0.01)


@LOOPS
def test_books_and_balances_are_read_at_each_block(loop: Run, place: Market) -> None:
    """Yield the book and the balances of the next block, changed by the order that was set."""
    tick = place.tick() + 400
    order = LimitOrder("ETH", "sell", 1, "2", tick=tick)

    async def scenario() -> None:
        async with (
            AsyncLiquidityProvider(place.node.url, ACCOUNT, cancel_on_exit=True) as lp,
            live_book(lp, "ETH") as books,
            live_balances(lp) as balances,
        ):
            first, before = await anext(books), await anext(balances)
            assert tick not in [ask.tick for ask in first.asks]
            await lp.set_orders([order])
            book = await anext(books)
            assert (order.price, order.amount) in [(ask.price, ask.amount) for ask in book.asks]
            assert before["Eth"] - (await anext(balances))["Eth"] == order.amount

    loop(scenario)


@LOOPS
def test_fills_arrive_by_the_subscription(loop: Run, place: Market) -> None:
    """Yield the fill of a swap as soon as its block is final."""
    bought: list[int] = []

    async def scenario() -> None:
        async with AsyncLiquidityProvider(place.node.url, ACCOUNT, cancel_on_exit=True) as lp:
            await lp.set_orders([LimitOrder("ETH", "buy", 1, "50000", tick=place.tick() + 20)])
            first = await lp.get_finalized_block() + 1
            async with live_fills(lp, first) as fills:
                await anyio.to_thread.run_sync(place.swap, ETHER)
                bought.extend(fill.bought["Eth"] for fill in (await anext(fills)).fills)

    loop(scenario)
    assert bought == pytest.approx([ETHER], rel=0.01)


@LOOPS
def test_an_error_in_the_block_of_a_live_view_is_the_callers(loop: Run, place: Market) -> None:
    """Raise the caller's own error from the block of a live view, and not a group of errors."""

    async def scenario() -> None:
        async with AsyncLiquidityProvider(place.node.url, ACCOUNT) as lp:
            with pytest.raises(ZeroDivisionError):
                async with live_book(lp, "ETH"):
                    _ = 1 / 0

    loop(scenario)
