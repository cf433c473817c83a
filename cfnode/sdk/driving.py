"""Drivers of calls, which send the HTTP exchanges that a call yields, blocking or awaiting.

Each driver is a base of the clients, before the class of their methods.
"""

from __future__ import annotations

from collections.abc import Generator
from types import TracebackType
from typing import Generic, Self, TypeVar

from cfnode.sdk.calls import Call
from cfnode.sdk.credentials import credentials_of
from cfnode.sdk.errors import TransportError
from cfnode.sdk.exchange import HttpAnswer, SdkHttpCall
from cfnode.sdk.options import ClientSession
from cfnode.sdk.transport import AsyncTransport, Transport

__all__ = ["AwaitingDriver", "BlockingDriver", "Driver"]

T = TypeVar("T")


class Driver:
    """The state that calls share; the base of both drivers."""

    def __init__(self, session: ClientSession) -> None:
        self.session = session
        self._connect()

    def _connect(self) -> None:
        raise NotImplementedError


class BlockingDriver(Driver):
    """A driver that blocks, and a context manager; threads may share it."""

    def _connect(self) -> None:
        self._transport = Transport(credentials_of(self.session))

    def call(self, call: Call[T]) -> T:
        """Run any call; return its result."""
        steps = call.steps(self.session)
        answer = _start(steps)
        while isinstance(answer, SdkHttpCall):
            answer = _advance(steps, self._try(answer))
        return answer.value

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __enter__(self) -> Self:
        """Return the driver, whose connections the end of the block closes."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        self.close()

    def _try(self, call: SdkHttpCall) -> HttpAnswer | TransportError:
        try:
            return self._transport.exchange(call)
        except TransportError as error:
            return error


class AwaitingDriver(Driver):
    """A driver that awaits, under trio or asyncio, and an async context manager."""

    def _connect(self) -> None:
        self._transport = AsyncTransport(credentials_of(self.session))

    async def call(self, call: Call[T]) -> T:
        """Run any call; return its result."""
        steps = call.steps(self.session)
        answer = _start(steps)
        while isinstance(answer, SdkHttpCall):
            answer = _advance(steps, await self._try(answer))
        return answer.value

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        """Return the driver, whose connections the end of the block closes."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        await self.close()

    async def _try(self, call: SdkHttpCall) -> HttpAnswer | TransportError:
        try:
            return await self._transport.exchange(call)
        except TransportError as error:
            return error


class _Done(Generic[T]):
    """The result of a call, as opposed to a further exchange."""

    def __init__(self, value: T) -> None:
        self.value = value


def _start(steps: Generator[SdkHttpCall, HttpAnswer, T]) -> SdkHttpCall | _Done[T]:
    try:
        return next(steps)
    except StopIteration as stop:
        return _Done(stop.value)


def _advance(
    steps: Generator[SdkHttpCall, HttpAnswer, T], answer: HttpAnswer | TransportError
) -> SdkHttpCall | _Done[T]:
    try:
        return steps.throw(answer) if isinstance(answer, TransportError) else steps.send(answer)
    except StopIteration as stop:
        return _Done(stop.value)
