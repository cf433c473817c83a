"""How do the two clients run calls? `SwapSDK` blocks, `AsyncSwapSDK` awaits under trio or asyncio.

Both drive the same calls. Their methods, one for each call, are in `methods.py`; this module drives them.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Generator, Iterator, Mapping
from types import TracebackType
from typing import Any, Generic, Never, TypeVar

from cfnode.sdk.calls import Call
from cfnode.sdk.errors import SdkError, TransportError
from cfnode.sdk.exchange import HttpAnswer, HttpCall
from cfnode.sdk.methods import AwaitedMethods, BlockingMethods
from cfnode.sdk.models.status import SwapStatus
from cfnode.sdk.options import BrokerOptions, Features, Options, Session
from cfnode.sdk.transport import AsyncTransport, Transport
from cfnode.sdk.watching import StatusWatch

__all__ = ["AsyncSwapSDK", "SwapSDK"]

T = TypeVar("T")
WATCH_SECONDS = 6.0
"""Polling interval of a status: one State Chain block."""
WATCH_FAILURES = 5
"""Requests in a row that may fail: half a minute."""


class _Client:
    """The common part of both clients: their options."""

    def __init__(
        self,
        options: Options | Mapping[str, Any] | None = None,
        *,
        network: str | None = None,
        broker: BrokerOptions | Mapping[str, Any] | None = None,
        rpc_url: str | None = None,
        backend_url: str | None = None,
        enabled_features: Features | Mapping[str, bool] | None = None,
        default_refund_addresses: Mapping[str, str] | None = None,
        timeout: float | None = None,
        channel_timeout: float | None = None,
        **unknown: Never,
    ) -> None:
        """Options as a record, as JSON, or by name, which takes precedence; see `Options`.

        Raises ValidationError for an unknown option, with the valid ones.
        """
        named = {
            "network": network,
            "broker": broker,
            "rpc_url": rpc_url,
            "backend_url": backend_url,
            "enabled_features": enabled_features,
            "default_refund_addresses": default_refund_addresses,
            "timeout": timeout,
            "channel_timeout": channel_timeout,
        }
        given = {name: value for name, value in named.items() if value is not None} | unknown
        self.session = _session(options, given)
        self._connect()

    def _connect(self) -> None:
        raise NotImplementedError


class SwapSDK(_Client, BlockingMethods):
    """The blocking client. It is a context manager, and threads may share it."""

    def _connect(self) -> None:
        self._transport = Transport()

    def call(self, call: Call[T]) -> T:
        """The result of any call."""
        steps = call.steps(self.session)
        answer = _start(steps)
        while isinstance(answer, HttpCall):
            answer = _advance(steps, self._try(answer))
        return answer.value

    def watch_status(
        self, reference: str | int, *, seconds: float = WATCH_SECONDS, failures: int = WATCH_FAILURES
    ) -> Iterator[SwapStatus]:
        """Yields the status at once and after each change, until it is final. `seconds`: polling interval.

        Raises a temporary error only after more than `failures` of them in a row; see `StatusWatch`.
        """
        watch = StatusWatch(reference, failures)
        while True:
            if (changed := watch.receive(self._poll(reference))) is not None:
                yield changed
            if watch.is_over:
                return
            time.sleep(seconds)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __enter__(self) -> SwapSDK:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _poll(self, reference: str | int) -> SwapStatus | SdkError:
        try:
            return self.get_status_v2(reference)
        except SdkError as error:
            return error

    def _try(self, call: HttpCall) -> HttpAnswer | TransportError:
        try:
            return self._transport.exchange(call)
        except TransportError as error:
            return error


class AsyncSwapSDK(_Client, AwaitedMethods):
    """The async client, for trio and asyncio; use it as an async context manager, or `await sdk.close()`."""

    def _connect(self) -> None:
        self._transport = AsyncTransport()

    async def call(self, call: Call[T]) -> T:
        """The result of any call."""
        steps = call.steps(self.session)
        answer = _start(steps)
        while isinstance(answer, HttpCall):
            answer = _advance(steps, await self._try(answer))
        return answer.value

    async def watch_status(
        self, reference: str | int, *, seconds: float = WATCH_SECONDS, failures: int = WATCH_FAILURES
    ) -> AsyncIterator[SwapStatus]:
        """As `SwapSDK.watch_status`, for `async for`."""
        import anyio

        watch = StatusWatch(reference, failures)
        while True:
            if (changed := watch.receive(await self._poll(reference))) is not None:
                yield changed
            if watch.is_over:
                return
            await anyio.sleep(seconds)

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def __aenter__(self) -> AsyncSwapSDK:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _poll(self, reference: str | int) -> SwapStatus | SdkError:
        try:
            return await self.get_status_v2(reference)
        except SdkError as error:
            return error

    async def _try(self, call: HttpCall) -> HttpAnswer | TransportError:
        try:
            return await self._transport.exchange(call)
        except TransportError as error:
            return error


class _Done(Generic[T]):
    """The result of a call, as opposed to a further exchange."""

    def __init__(self, value: T) -> None:
        self.value = value


def _start(steps: Generator[HttpCall, HttpAnswer, T]) -> HttpCall | _Done[T]:
    try:
        return next(steps)
    except StopIteration as stop:
        return _Done(stop.value)


def _advance(
    steps: Generator[HttpCall, HttpAnswer, T], answer: HttpAnswer | TransportError
) -> HttpCall | _Done[T]:
    try:
        return steps.throw(answer) if isinstance(answer, TransportError) else steps.send(answer)
    except StopIteration as stop:
        return _Done(stop.value)


def _session(options: Options | Mapping[str, Any] | None, named: Mapping[str, Any]) -> Session:
    chosen = options if isinstance(options, Options) else Options.from_json(options or {})
    return Session(
        chosen.replaced(named),
        now_ms=lambda: time.time_ns() // 1_000_000,
        monotonic=time.monotonic,
        random_bytes=os.urandom,
    )
