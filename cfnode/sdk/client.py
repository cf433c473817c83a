"""The two clients: `SwapSDK` blocks, `AsyncSwapSDK` is awaited under trio or asyncio.

Both drive the same calls; a method here is nothing but the name under which a call is offered. Its arguments
are the fields of the call, in order, and may also be given by name.
"""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Mapping
from functools import cached_property
from types import TracebackType
from typing import Any, Generic, ParamSpec, TypeVar, Unpack

from cfnode.sdk.calls import Call
from cfnode.sdk.calls.deposits import RequestDepositAddress, RequestDepositAddressV2
from cfnode.sdk.calls.infos import (
    GetAssets,
    GetBoostLiquidity,
    GetChainList,
    GetChannelOpeningFees,
    GetRequiredBlockConfirmations,
    GetSwapLimits,
)
from cfnode.sdk.calls.quotes import GetQuote, GetQuoteV2
from cfnode.sdk.calls.statuses import GetStatus, GetStatusV2
from cfnode.sdk.calls.vault_swaps import EncodeVaultSwapData
from cfnode.sdk.errors import SdkError, TransportError
from cfnode.sdk.exchange import HttpAnswer, HttpCall
from cfnode.sdk.models.status import SwapStatus
from cfnode.sdk.options import Options, OptionsByName, Session
from cfnode.sdk.transport import AsyncTransport, Transport
from cfnode.sdk.watching import StatusWatch

__all__ = ["AsyncSwapSDK", "SwapSDK"]

P = ParamSpec("P")
T = TypeVar("T")
WATCH_SECONDS = 6.0
"""Between two looks at a status: one State Chain block."""
WATCH_FAILURES = 5
"""Looks in a row that may fail: half a minute."""


class _Offered(Generic[P, T]):
    """A call under the name of a method, which has the call's signature and description."""

    def __init__(self, call: Callable[P, Call[T]]) -> None:
        self._call = call
        self.__doc__ = call.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner.__name__, name

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self._call).replace(return_annotation=inspect.Signature.empty)

    def _named(self, method: Any) -> Any:
        method.__name__, method.__qualname__ = self._name, f"{self._owner}.{self._name}"
        method.__doc__, method.__signature__ = self.__doc__, self._signature
        return method

    def _no_client(self) -> TypeError:
        return TypeError(f"{self._name} is a method of a client: {self._owner}(…).{self._name}(…)")


class _Blocking(_Offered[P, T]):
    """A call whose result the method returns."""

    def __get__(self, client: SwapSDK | None, owner: type[SwapSDK]) -> Callable[P, T]:
        def method(*arguments: P.args, **named: P.kwargs) -> T:
            if client is None:
                raise self._no_client()
            return client.call(self._call(*arguments, **named))

        found: Callable[P, T] = self._named(method)
        return found


class _Awaited(_Offered[P, T]):
    """A call whose result is awaited."""

    def __get__(
        self, client: AsyncSwapSDK | None, owner: type[AsyncSwapSDK]
    ) -> Callable[P, Coroutine[Any, Any, T]]:
        async def method(*arguments: P.args, **named: P.kwargs) -> T:
            if client is None:
                raise self._no_client()
            return await client.call(self._call(*arguments, **named))

        found: Callable[P, Coroutine[Any, Any, T]] = self._named(method)
        return found


class SwapSDK:
    """The blocking client. Options as a record, as the documents' JSON, or by name; see `Options`.

    It may be used as a context manager, and shared by threads.
    """

    def __init__(
        self, options: Options | Mapping[str, Any] | None = None, **named: Unpack[OptionsByName]
    ) -> None:
        self.session = _session(options, named)
        self._transport = Transport()

    get_quote = _Blocking(GetQuote)
    get_quote_v2 = _Blocking(GetQuoteV2)
    get_status = _Blocking(GetStatus)
    get_status_v2 = _Blocking(GetStatusV2)
    request_deposit_address = _Blocking(RequestDepositAddress)
    request_deposit_address_v2 = _Blocking(RequestDepositAddressV2)
    encode_vault_swap_data = _Blocking(EncodeVaultSwapData)
    get_chains = _Blocking(GetChainList)
    get_assets = _Blocking(GetAssets)
    get_swap_limits = _Blocking(GetSwapLimits)
    get_required_block_confirmations = _Blocking(GetRequiredBlockConfirmations)
    get_channel_opening_fees = _Blocking(GetChannelOpeningFees)
    get_boost_liquidity = _Blocking(GetBoostLiquidity)

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
        """The status at once and after each change, until it is final. `seconds` lie between two looks.

        Raises an error that may pass only after more than `failures` of them in a row; see `StatusWatch`.
        """
        watch = StatusWatch(reference, failures)
        while True:
            if (changed := watch.receive(self._look(reference))) is not None:
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

    def _look(self, reference: str | int) -> SwapStatus | SdkError:
        try:
            return self.get_status_v2(reference)
        except SdkError as error:
            return error

    def _try(self, call: HttpCall) -> HttpAnswer | TransportError:
        try:
            return self._transport.exchange(call)
        except TransportError as error:
            return error


class AsyncSwapSDK:
    """The async client, for trio and asyncio; use it as an async context manager, or `await sdk.close()`."""

    def __init__(
        self, options: Options | Mapping[str, Any] | None = None, **named: Unpack[OptionsByName]
    ) -> None:
        self.session = _session(options, named)
        self._transport = AsyncTransport()

    get_quote = _Awaited(GetQuote)
    get_quote_v2 = _Awaited(GetQuoteV2)
    get_status = _Awaited(GetStatus)
    get_status_v2 = _Awaited(GetStatusV2)
    request_deposit_address = _Awaited(RequestDepositAddress)
    request_deposit_address_v2 = _Awaited(RequestDepositAddressV2)
    encode_vault_swap_data = _Awaited(EncodeVaultSwapData)
    get_chains = _Awaited(GetChainList)
    get_assets = _Awaited(GetAssets)
    get_swap_limits = _Awaited(GetSwapLimits)
    get_required_block_confirmations = _Awaited(GetRequiredBlockConfirmations)
    get_channel_opening_fees = _Awaited(GetChannelOpeningFees)
    get_boost_liquidity = _Awaited(GetBoostLiquidity)

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
        """As `SwapSDK.watch_status`, to be iterated with `async for`."""
        import anyio

        watch = StatusWatch(reference, failures)
        while True:
            if (changed := watch.receive(await self._look(reference))) is not None:
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

    async def _look(self, reference: str | int) -> SwapStatus | SdkError:
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
    """What a call returned, apart from the exchanges that it still wants."""

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
    if named:
        chosen = chosen.replaced(named)
    return Session(
        chosen,
        now_ms=lambda: time.time_ns() // 1_000_000,
        monotonic=time.monotonic,
        random_bytes=os.urandom,
    )
