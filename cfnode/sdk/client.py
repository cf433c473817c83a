"""The two clients: `SwapSDK` blocks, `AsyncSwapSDK` is awaited under trio or asyncio.

Both drive the same calls; a method here is nothing but the name under which a call is offered. Its arguments
are the fields of the call, in order, and may also be given by name.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Mapping
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
from cfnode.sdk.errors import TransportError
from cfnode.sdk.exchange import HttpAnswer, HttpCall
from cfnode.sdk.models.status import SwapStatus
from cfnode.sdk.options import Options, OptionsByName, Session
from cfnode.sdk.transport import AsyncTransport, Transport

__all__ = ["AsyncSwapSDK", "SwapSDK"]

P = ParamSpec("P")
T = TypeVar("T")
WATCH_SECONDS = 6.0
"""Between two looks at a status: one State Chain block."""


class _Blocking(Generic[P, T]):
    """A call offered as a method that returns its result."""

    def __init__(self, call: Callable[P, Call[T]]) -> None:
        self._call = call
        self.__doc__ = call.__doc__

    def __get__(self, client: SwapSDK, owner: type[SwapSDK] | None = None) -> Callable[P, T]:
        def method(*arguments: P.args, **named: P.kwargs) -> T:
            return client.call(self._call(*arguments, **named))

        method.__doc__ = self.__doc__
        return method


class _Awaited(Generic[P, T]):
    """A call offered as a method whose result is awaited."""

    def __init__(self, call: Callable[P, Call[T]]) -> None:
        self._call = call
        self.__doc__ = call.__doc__

    def __get__(
        self, client: AsyncSwapSDK, owner: type[AsyncSwapSDK] | None = None
    ) -> Callable[P, Coroutine[Any, Any, T]]:
        async def method(*arguments: P.args, **named: P.kwargs) -> T:
            return await client.call(self._call(*arguments, **named))

        method.__doc__ = self.__doc__
        return method


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

    def watch_status(self, reference: str | int, *, seconds: float = WATCH_SECONDS) -> Iterator[SwapStatus]:
        """The status at once and after each change, until it is final. `seconds` lie between two looks."""
        previous = None
        while previous is None or not previous.is_final:
            status = self.get_status_v2(reference)
            if status != previous:
                yield status
            elif not status.is_final:
                time.sleep(seconds)
            previous = status

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __enter__(self) -> SwapSDK:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

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
        self, reference: str | int, *, seconds: float = WATCH_SECONDS
    ) -> AsyncIterator[SwapStatus]:
        """The status at once and after each change, until it is final. `seconds` lie between two looks."""
        import anyio

        previous = None
        while previous is None or not previous.is_final:
            status = await self.get_status_v2(reference)
            if status != previous:
                yield status
            elif not status.is_final:
                await anyio.sleep(seconds)
            previous = status

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def __aenter__(self) -> AsyncSwapSDK:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

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
        random_bytes=secrets.token_bytes,
    )
