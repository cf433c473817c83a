"""Subscriptions on a running node, and what is said where there are none."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import pytest

from cfnode.sdk import RpcCallError, TimedOut, Unreachable
from cfnode.sdk.subscriptions import subscription
from tests.process import NodeProcess, running_node
from tests.sdk.loopback import Request, page, serving, unused_url
from tests.support.loops import LOOPS, Run


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """Yield a development chain that adds blocks on request."""
    with running_node(tmp_path_factory.mktemp("heads"), "--dev", "--dev-seal=instant") as running:
        yield running


@LOOPS
@pytest.mark.parametrize("scheme", ["http://", "ws://"])
def test_new_heads_arrive_in_order(loop: Run, node: NodeProcess, scheme: str) -> None:
    """Yield heads one by one, by http:// as by ws://."""
    numbers: list[int] = []

    async def scenario() -> None:
        async with subscription(node.url.replace("http://", scheme), "chain_subscribeNewHeads") as heads:
            async for head in heads:
                numbers.append(int(head["number"], 16))
                if len(numbers) == 4:
                    break
                await anyio.to_thread.run_sync(node.call, "dev_newBlock")

    loop(scenario)
    assert numbers == list(range(numbers[0], numbers[0] + 4))


@LOOPS
def test_a_refusal_of_the_node(loop: Run, node: NodeProcess) -> None:
    """Raise the node's own error for an unknown subscription."""

    async def scenario() -> None:
        with pytest.raises(RpcCallError) as caught:
            async with subscription(node.url, "cf_subscribe_nothing"):
                raise AssertionError("refused above")
        assert caught.value.rpc_code == -32601

    loop(scenario)


@LOOPS
def test_an_error_of_the_caller_is_its_own(loop: Run, node: NodeProcess) -> None:
    """Raise the caller's own error from the block of a subscription."""

    async def scenario() -> None:
        with pytest.raises(ZeroDivisionError):
            async with subscription(node.url, "chain_subscribeNewHeads"):
                _ = 1 / 0

    loop(scenario)


@LOOPS
def test_a_subscription_without_a_server_is_unreachable(loop: Run) -> None:
    """Raise Unreachable, safe to repeat, where nothing listens."""

    async def scenario() -> None:
        with pytest.raises(Unreachable) as caught:
            async with subscription(unused_url(), "chain_subscribeNewHeads"):
                raise AssertionError("not connected")
        assert caught.value.retryable

    loop(scenario)


@LOOPS
def test_a_server_without_websockets(loop: Run) -> None:
    """Raise Unreachable where the server does not speak WebSocket."""

    def handle(request: Request) -> None:
        request.connection.sendall(page(200, b"<html>", "text/html"))

    async def scenario() -> None:
        with pytest.raises(Unreachable):
            async with subscription(server.url, "chain_subscribeNewHeads"):
                raise AssertionError("not connected")

    with serving(handle) as server:
        loop(scenario)


@LOOPS
def test_a_server_that_never_agrees(loop: Run) -> None:
    """Raise TimedOut where the server never answers the handshake."""

    def handle(request: Request) -> None:
        request.release.wait(30)

    async def scenario() -> None:
        with pytest.raises(TimedOut):
            async with subscription(server.url, "chain_subscribeNewHeads", seconds=0.3):
                raise AssertionError("not connected")

    with serving(handle) as server:
        loop(scenario)
