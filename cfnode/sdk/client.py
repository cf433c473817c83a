"""Clients of the swap SDK: `SwapSDK` blocks, `AsyncSwapSDK` awaits under trio or asyncio.

Both drive the same calls (`driving.py`). Their methods, one for each call, are in `methods.py`.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Never

from cfnode.sdk.driving import AwaitingDriver, BlockingDriver, Driver
from cfnode.sdk.errors import SdkError
from cfnode.sdk.methods import AwaitedMethods, BlockingMethods
from cfnode.sdk.models.status import SwapStatus
from cfnode.sdk.names import ChainName, NetworkName
from cfnode.sdk.options import BrokerOptions, ClientSession, Features, Options
from cfnode.sdk.watching import StatusWatch

__all__ = ["AsyncSwapSDK", "SwapSDK"]

log = logging.getLogger("cfnode.sdk")
STATUS_POLL_S = 6.0
"""Polling interval of a status: one State Chain block."""
MAX_POLL_FAILURES = 5
"""Requests in a row that may fail: half a minute."""


class _Client(Driver):
    """The common part of both clients: their options."""

    def __init__(
        self,
        options: Options | Mapping[str, Any] | None = None,
        *,
        network: NetworkName | None = None,
        broker: BrokerOptions | Mapping[str, Any] | None = None,
        rpc_url: str | None = None,
        backend_url: str | None = None,
        enabled_features: Features | Mapping[str, bool] | None = None,
        default_refund_addresses: Mapping[ChainName, str] | None = None,
        timeout: float | None = None,
        channel_timeout: float | None = None,
        rpc_token: str | None = None,
        rpc_token_file: str | os.PathLike[str] | None = None,
        **unknown: Never,
    ) -> None:
        """Take the options as a record, as JSON, or by name, which takes precedence; see `Options`.

        Without a network the client uses the main net, and logs a warning (`cfnode.sdk`). Raises
        ValidationError for an unknown option; its text lists the valid ones.
        """
        by_name = {
            "network": network,
            "broker": broker,
            "rpc_url": rpc_url,
            "backend_url": backend_url,
            "enabled_features": enabled_features,
            "default_refund_addresses": default_refund_addresses,
            "timeout": timeout,
            "channel_timeout": channel_timeout,
            "rpc_token": rpc_token,
            "rpc_token_file": rpc_token_file,
        }
        options_by_name = {name: value for name, value in by_name.items() if value is not None} | unknown
        super().__init__(_session(options, options_by_name))


class SwapSDK(_Client, BlockingDriver, BlockingMethods):
    """The blocking client.

    It is a context manager, and threads may share it:

        from cfnode.sdk import SwapSDK

        with SwapSDK(network="dev") as sdk:
            for asset in sdk.get_assets("Bitcoin"):
                print(asset.symbol, asset.minimum_swap_amount)
    """

    def watch_status(
        self, reference: str | int, *, seconds: float = STATUS_POLL_S, failures: int = MAX_POLL_FAILURES
    ) -> Iterator[SwapStatus]:
        """Yield the status at once and after each change, until it is final.

        `seconds` is the polling interval. Raises a temporary error only after more than `failures` of them in
        a row; see `StatusWatch`.
        """
        watch = StatusWatch(reference, failures)
        while True:
            if (status := watch.receive(self._poll(reference))) is not None:
                yield status
            if watch.is_over:
                return
            time.sleep(seconds)

    def _poll(self, reference: str | int) -> SwapStatus | SdkError:
        try:
            return self.get_status_v2(reference)
        except SdkError as error:
            return error


class AsyncSwapSDK(_Client, AwaitingDriver, AwaitedMethods):
    """The async client, for trio and asyncio.

    Use it as an async context manager, or `await sdk.close()`:

        import asyncio

        from cfnode.sdk import AsyncSwapSDK


        async def main() -> None:
            async with AsyncSwapSDK(network="dev") as sdk:
                quotes = await sdk.get_quote_v2("Bitcoin", "BTC", "Ethereum", "ETH", 100_000_000)
                print(quotes.regular.egress_amount)


        asyncio.run(main())
    """

    async def watch_status(
        self, reference: str | int, *, seconds: float = STATUS_POLL_S, failures: int = MAX_POLL_FAILURES
    ) -> AsyncIterator[SwapStatus]:
        """Yield the status at once and after each change, until it is final, for `async for`.

        `seconds`, `failures` and the errors are those of `SwapSDK.watch_status`.
        """
        import anyio

        watch = StatusWatch(reference, failures)
        while True:
            if (status := watch.receive(await self._poll(reference))) is not None:
                yield status
            if watch.is_over:
                return
            await anyio.sleep(seconds)

    async def _poll(self, reference: str | int) -> SwapStatus | SdkError:
        try:
            return await self.get_status_v2(reference)
        except SdkError as error:
            return error


def _session(options: Options | Mapping[str, Any] | None, by_name: Mapping[str, Any]) -> ClientSession:
    chosen = options if isinstance(options, Options) else Options.from_json(options or {})
    if not isinstance(options, Options) and "network" not in {**(options or {}), **by_name}:
        log.warning(
            "no network is given: this client uses the main net, where swaps move real money; "
            'network="mainnet" or another one ends this line'
        )
    return ClientSession(
        chosen.replaced(by_name),
        now_ms=lambda: time.time_ns() // 1_000_000,
        monotonic=time.monotonic,
        random_bytes=os.urandom,
    )
