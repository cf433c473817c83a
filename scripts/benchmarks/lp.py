"""Time that a development node takes for the calls of liquidity providers.

Measured: two hundred updates of orders at once, a fill on its way to a hundred subscribers, and what
`set_orders` of the SDK does before it sends a hundred changes. Other load on the machine takes time from all
of it: the first row says how busy the machine was.
"""

from __future__ import annotations

import os
import selectors
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from cfnode.core import ss58
from cfnode.core.keys import Keypair
from cfnode.sdk.exchange import HttpAnswer, SdkHttpCall
from cfnode.sdk.lp import LimitOrder, LiquidityProvider
from cfnode.sdk.lp.orders import Order
from scripts.benchmarks.rpc import connect_websocket
from scripts.benchmarks.swaps import (
    AT_ONCE,
    ETH,
    EVM_ADDRESS,
    ROUNDS,
    USDC,
    Client,
    Row,
    at_once,
    best_block,
    hear,
    masked,
    message,
    milliseconds,
    nonces_of,
    port_of,
)
from tests.process import NodeProcess, running_node

SUBSCRIBERS = 100
FILLS = 8
LEVELS = 100
ETHER, DOLLAR = 10**18, 10**6
ACCOUNT = ss58.encode(Keypair.from_suri("//Bob").account, 2112)


def run() -> list[Row]:
    """Return the rows of this benchmark."""
    load = f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    with tempfile.TemporaryDirectory(prefix="cfnode-bench-") as name:
        folder = Path(name)
        with _market(folder / "updates") as node:
            rows = [_updates(node), _levels(node)]
        with _market(folder / "fills") as node:
            rows.append(_fills(node))
    return [("load before the figures of liquidity providers", load, "", None), *rows]


@contextmanager
def _market(folder: Path) -> Iterator[NodeProcess]:
    """Run a development node whose provider has 1,000 ETH and 3,000,000 USDC."""
    folder.mkdir()
    with running_node(
        folder, "--dev", "--dev-lp=//Bob", "--dev-seal=instant", "--rpc-max-connections=600"
    ) as node:
        client = Client(node)
        while best_block(client) < 1:
            time.sleep(0.1)
        _result(client, "lp_register_liquidity_refund_address", "Ethereum", f"0x{EVM_ADDRESS.hex()}")
        for asset, amount in ((ETH, 1_000 * ETHER), (USDC, 3_000_000 * DOLLAR)):
            opened = _result(client, "lp_request_liquidity_deposit_address_v2", asset)
            _result(client, "dev_deposit", opened["response"]["deposit_address"], asset, hex(amount))
        yield node


def _result(client: Client, method: str, *params: Any) -> Any:
    answer = client.call(method, list(params))
    assert "result" in answer, answer
    return answer["result"]


def _tick(client: Client) -> int:
    tick: int = _result(client, "cf_pool_price", ETH, USDC)["tick"]
    return tick


# Updates


def _updates(node: NodeProcess) -> Row:
    rounds = [_updates_at_once(node, attempt) for attempt in range(ROUNDS)]
    seconds, spent = (min(figures[kind] for figures in rounds) for kind in (0, 1))
    faults = "".join(fault for _, _, fault in rounds)
    return (
        f"{AT_ONCE} updates of orders at once over HTTP, all answered, each nonce once",
        f"{seconds:.2f} s, {milliseconds(spent / AT_ONCE)} of processor time each{faults}",
        f"≤ {AT_ONCE * 15 / 1000:.0f} s",
        seconds <= AT_ONCE * 0.015 and not faults,
    )


def _processor_seconds(node: NodeProcess) -> float:
    """Return the processor time that the node and its executors have used so far, in seconds."""
    pid = node.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    ticks = 0
    for process_id in (str(pid), *children):
        fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _updates_at_once(node: NodeProcess, attempt: int) -> tuple[float, float, str]:
    """Return seconds until the last answer, the node's processor time, and faults of the answers."""
    client = Client(node)
    first, block = _result(client, "system_accountNextIndex", ACCOUNT), best_block(client)
    tick = _tick(client) + 500 + attempt

    def terms(number: int) -> list[Any]:
        return [ETH, USDC, "sell", number, tick + number % 50, hex(ETHER // 10), None, "InBlock"]

    seconds_before = _processor_seconds(node)
    seconds, answers = at_once(node, [("lp_set_limit_order", terms(number)) for number in range(AT_ONCE)])
    spent = _processor_seconds(node) - seconds_before
    answered = sum("result" in answer for answer in answers)
    nonces = nonces_of(client, range(block + 1, best_block(client) + 1))
    if answered == AT_ONCE and sorted(nonces) == list(range(first, first + AT_ONCE)):
        return seconds, spent, ""
    return (
        seconds,
        spent,
        f" ({answered} answered, {len(nonces)} nonces, {len(set(nonces))} of them distinct)",
    )


# Levels


def _levels(node: NodeProcess) -> Row:
    """Measure the time that `set_orders` takes for a hundred orders without its waits for answers."""
    seconds = min(_before_sending(node, attempt) for attempt in range(ROUNDS))
    return (
        f"set_orders of {LEVELS} levels, from the call to the first change sent, without the node's time",
        milliseconds(seconds),
        "≤ 50 ms",
        seconds <= 0.050,
    )


def _before_sending(node: NodeProcess, attempt: int) -> float:
    with LiquidityProvider(node.url, ACCOUNT) as lp:
        exchange, waited, sent = lp._transport.exchange, 0.0, 0.0

        def timed(call: SdkHttpCall) -> HttpAnswer:
            nonlocal waited, sent
            began = time.perf_counter()
            if not sent and b'"lp_' in (call.body or b""):
                sent = began
            answer = exchange(call)
            waited += 0.0 if sent else time.perf_counter() - began
            return answer

        lp._transport.exchange = timed  # type: ignore[method-assign]
        tick = _tick(Client(node)) + 900
        desired: list[Order] = [
            LimitOrder("ETH", "sell", number, "0.01", tick=tick + number + attempt)
            for number in range(LEVELS)
        ]
        began = time.perf_counter()
        lp.set_orders(desired)
        return sent - began - waited


# Fills


def _fills(node: NodeProcess) -> Row:
    client = Client(node)
    with ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        for _ in range(SUBSCRIBERS):
            listener = stack.enter_context(connect_websocket(port_of(node)))
            listener.sendall(masked(message("lp_subscribe_order_fills", [])))
            selector.register(listener, selectors.EVENT_READ, listener)
        hear(selector, 2 * SUBSCRIBERS)  # the answer, and the fills of the present block
        author = stack.enter_context(connect_websocket(port_of(node)))
        author.sendall(masked(message("chain_subscribeFinalizedHeads", [])))
        selector.register(author, selectors.EVENT_READ, author)
        hear(selector, 2)
        times = [lateness for _ in range(FILLS) for lateness in _lateness(client, selector, author)]
    lateness_p99 = sorted(times)[len(times) * 99 // 100]
    return (
        f"a fill reaches {SUBSCRIBERS} subscribers after its block's header does, p99 of {FILLS} fills",
        milliseconds(lateness_p99),
        "≤ 150 ms",
        lateness_p99 <= 0.150,
    )


def _lateness(client: Client, selector: selectors.BaseSelector, author: socket.socket) -> list[float]:
    """Return for each subscriber the seconds from the block's header to its fill.

    The header's time is that at its own subscriber.
    """
    terms = [ETH, USDC, "buy", 1, _tick(client) + 20, hex(50_000 * DOLLAR), None, "InBlock"]
    _result(client, "lp_set_limit_order", *terms)
    limits = {"min_price": "0x0", "max_oracle_price_slippage": None}
    _result(client, "lp_schedule_swap", hex(ETHER), ETH, USDC, 5, limits, None, "InBlock")
    times = list[float]()
    while not times:
        _result(client, "dev_newBlock")
        times = _arrivals(selector, author)
    return times


def _arrivals(selector: selectors.BaseSelector, author: socket.socket) -> list[float]:
    """Return how much later than the newest header each fill came; nothing if no order was filled."""
    header, times, pending = 0.0, list[float](), dict[int, bytes]()
    while ready := selector.select(0.5 if not times else 2.0):
        for key, _ in ready:
            data, now = key.data.recv(65536), time.perf_counter()
            if key.data is author:
                header = now
                continue
            pending[key.fd] = pending.get(key.fd, b"")[-20:] + data
            if b'"limit_order":{' in pending[key.fd]:
                times.append(now)
                del pending[key.fd]
        if len(times) >= SUBSCRIBERS:
            break
    return [arrival - header for arrival in times]
