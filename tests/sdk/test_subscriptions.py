"""Subscriptions on a running node, and what is said where there are none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import trio

from cfnode.sdk import RpcCallError, TimedOut, Unreachable
from cfnode.sdk.subscriptions import subscription
from tests.process import NodeProcess, running_node
from tests.sdk.loopback import Request, page, serving, unused_url


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    with running_node(tmp_path_factory.mktemp("heads"), "--dev", "--dev-seal=instant") as running:
        yield running


@pytest.mark.parametrize("scheme", ["http://", "ws://"])
async def test_new_heads_arrive_in_order(node: NodeProcess, scheme: str) -> None:
    numbers: list[int] = []
    with trio.fail_after(30):
        async with subscription(node.url.replace("http://", scheme), "chain_subscribeNewHeads") as heads:
            async for head in heads:
                numbers.append(int(head["number"], 16))
                if len(numbers) == 4:
                    break
                await trio.to_thread.run_sync(node.call, "dev_newBlock")
    assert numbers == list(range(numbers[0], numbers[0] + 4))


async def test_a_refusal_of_the_node(node: NodeProcess) -> None:
    with pytest.raises(RpcCallError) as caught:
        async with subscription(node.url, "cf_subscribe_nothing"):
            raise AssertionError("refused above")
    assert caught.value.rpc_code == -32601


async def test_an_error_of_the_caller_is_its_own(node: NodeProcess) -> None:
    with pytest.raises(ZeroDivisionError):
        async with subscription(node.url, "chain_subscribeNewHeads"):
            _ = 1 / 0


async def test_a_subscription_without_a_server_is_unreachable() -> None:
    with pytest.raises(Unreachable) as caught:
        async with subscription(unused_url(), "chain_subscribeNewHeads"):
            raise AssertionError("not connected")
    assert caught.value.retryable


async def test_a_server_without_websockets() -> None:
    def handle(request: Request) -> None:
        request.connection.sendall(page(200, b"<html>", "text/html"))

    with serving(handle) as server, pytest.raises(Unreachable):
        async with subscription(server.url, "chain_subscribeNewHeads"):
            raise AssertionError("not connected")


async def test_a_server_that_never_agrees() -> None:
    def handle(request: Request) -> None:
        request.release.wait(30)

    with serving(handle) as server, pytest.raises(TimedOut):
        async with subscription(server.url, "chain_subscribeNewHeads", seconds=0.3):
            raise AssertionError("not connected")
