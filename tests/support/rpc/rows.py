"""Rows of a method table for a node that stands in for one."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import trio
import trio.testing

from cfnode.core.jsonrpc import RpcError
from cfnode.rpc.substrate.system import METHODS
from cfnode.rpc.table.convert import TEXT, U32
from cfnode.rpc.table.rows import Access, Method, Param, Subscription
from tests.rpc.clients import StandIn


def echo(node: StandIn, text: str, times: int | None) -> str:
    """Say it again."""
    return text * (1 if times is None else times)


async def wait_for_ever(node: StandIn) -> None:
    """Wait for ever."""
    await trio.sleep_forever()


def break_down(node: StandIn) -> None:
    """Raise, as a handler with a bug."""
    raise ZeroDivisionError("secret detail")


ECHO = Method(
    "test_echo",
    echo,
    aliases=("echo",),
    params=(Param("the_text", TEXT), Param("times", U32, optional=True)),
)
ROWS = (
    *METHODS,
    ECHO,
    Method("test_wait", wait_for_ever),
    Method("test_bug", break_down),
    Method("test_unsafe", lambda node: True, access=Access.UNSAFE),
    Method("test_spend", lambda node: True, access=Access.BROKER),
    Method("test_submit", lambda node: True, submits=True),
)


async def count(node: StandIn, last: int) -> AsyncGenerator[int, None]:
    """Count from 0 to `last`, then wait."""
    if last > 1_000_000:
        raise RpcError(-32020, "that is too far")

    async def numbers() -> AsyncGenerator[int, None]:
        for number in range(last + 1):
            yield number
        await trio.sleep_forever()

    return numbers()


COUNT = Subscription(
    "test_subscribeCount",
    count,
    notification="test_count",
    unsubscribe="test_unsubscribeCount",
    params=(Param("last", U32),),
)
