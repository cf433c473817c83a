"""One scenario for every form of the client: blocking, under trio, under asyncio.

A scenario is an async function of a client. The blocking client is handed to it in a coat whose methods look
awaitable; the scenario then never really waits, and is driven by hand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

import pytest
import trio

from cfnode.sdk import AsyncSwapSDK, SwapSDK

T = TypeVar("T")
Scenario = Callable[[Any], Coroutine[Any, Any, T]]
Form = Callable[[Scenario[Any], Mapping[str, Any]], Any]


class _Coat:
    def __init__(self, sdk: SwapSDK) -> None:
        self._sdk = sdk

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def method(*arguments: Any, **named: Any) -> Any:
            return getattr(self._sdk, name)(*arguments, **named)

        return method


def blocking(scenario: Scenario[T], options: Mapping[str, Any]) -> T:
    """Run a scenario with the blocking client."""
    with SwapSDK(options) as sdk:
        steps = scenario(_Coat(sdk))
        try:
            steps.send(None)
        except StopIteration as stop:
            result: T = stop.value
            return result
        raise AssertionError("a blocking client has waited for an event loop")


async def _with_client(scenario: Scenario[T], options: Mapping[str, Any]) -> T:
    async with AsyncSwapSDK(options) as sdk:
        return await scenario(sdk)


def under_trio(scenario: Scenario[T], options: Mapping[str, Any]) -> T:
    """Run a scenario with the client for coroutines, under trio."""
    return trio.run(_with_client, scenario, options)


def under_asyncio(scenario: Scenario[T], options: Mapping[str, Any]) -> T:
    """Run a scenario with the client for coroutines, under asyncio."""
    return asyncio.run(_with_client(scenario, options))


FORMS: tuple[Form, ...] = (blocking, under_trio, under_asyncio)
all_forms = pytest.mark.parametrize("form", FORMS)
