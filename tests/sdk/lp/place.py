"""A development node with a funded liquidity provider, and what its tests do there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trio

from cfnode.core import ss58
from cfnode.core.keys import Keypair
from cfnode.sdk.lp import AsyncLiquidityProvider, LiquidityProvider
from tests.process import NodeProcess, running_node, until
from tests.sdk.place import RECEIVER

ETH, USDC = {"chain": "Ethereum", "asset": "ETH"}, {"chain": "Ethereum", "asset": "USDC"}
ETHER, DOLLAR = 10**18, 10**6
ACCOUNT = ss58.encode(Keypair.from_suri("//Bob").account)
STRANGER = "0x" + "0c" * 20


@dataclass
class Market:
    """A node that seals when there is something to seal; its provider owns 100 ETH and 300,000 USDC."""

    node: NodeProcess

    def client(self, **options: Any) -> LiquidityProvider:
        """Return a client of the provider."""
        return LiquidityProvider(self.node.url, ACCOUNT, **options)

    def tick(self) -> int:
        """Return the tick of the pool's price."""
        tick: int = self.node.call("cf_pool_price", ETH, USDC)["tick"]
        return tick

    def fund(self) -> None:
        """Give the provider funds, and addresses for refunds."""
        self.node.call("lp_register_liquidity_refund_address", "Ethereum", RECEIVER)
        for asset, amount in ((ETH, 100 * ETHER), (USDC, 300_000 * DOLLAR)):
            opened = self.node.call("lp_request_liquidity_deposit_address_v2", asset)
            self.node.call("dev_deposit", opened["response"]["deposit_address"], asset, hex(amount))

    def swap(self, amount: int, blocks: int = 4) -> None:
        """Sell ether of the provider's own, which fills orders that buy; it takes some blocks.

        The last of them is final: fills are read from final blocks, and the voter is a task of its own.
        """
        limits = {"min_price": "0x0", "max_oracle_price_slippage": None}
        self.node.call("lp_schedule_swap", hex(amount), ETH, USDC, 5, limits, None, "InBlock")
        for _ in range(blocks):
            self.node.call("dev_newBlock")
        self.node.call("dev_finalize")


FLAGS = ("--dev", "--dev-lp=//Bob", "--dev-seal=instant")


@contextmanager
def market(folder: Path, *flags: str) -> Iterator[Market]:
    """Yield a market on a node of its own."""
    with running_node(folder, f"--base-path={folder}/base", *FLAGS, *flags) as node:
        new_market = Market(node)
        until(lambda: int(node.call("chain_getHeader")["number"], 16) > 0)
        new_market.fund()
        yield new_market


Scenario = Callable[[Any], Coroutine[Any, Any, None]]
Form = Callable[[Scenario, Market], None]


class _Coat:
    """The blocking client, whose methods look awaitable."""

    def __init__(self, client: LiquidityProvider) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def method(*arguments: Any, **named: Any) -> Any:
            return getattr(self._client, name)(*arguments, **named)

        return method


def blocking(scenario: Scenario, place: Market) -> None:
    """Run a scenario with the blocking client."""
    with place.client() as client:
        steps = scenario(_Coat(client))
        try:
            steps.send(None)
        except StopIteration:
            return
        raise AssertionError("a blocking client has waited for an event loop")


async def _with_client(scenario: Scenario, place: Market) -> None:
    async with AsyncLiquidityProvider(place.node.url, ACCOUNT) as client:
        await scenario(client)


def under_trio(scenario: Scenario, place: Market) -> None:
    """Run a scenario with the client for coroutines, under trio."""
    trio.run(_with_client, scenario, place)


def under_asyncio(scenario: Scenario, place: Market) -> None:
    """Run a scenario with the client for coroutines, under asyncio."""
    asyncio.run(_with_client(scenario, place))


FORMS: tuple[Form, ...] = (blocking, under_trio, under_asyncio)
