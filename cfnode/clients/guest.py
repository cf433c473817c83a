"""Context managers of trio, held open for a task of asyncio.

A trio run is the guest of the asyncio loop (`trio.lowlevel.start_guest_run`): its tasks take turns with those
of the loop, in the loop's thread; a thread of trio's only waits for input. A loop can have one guest, so one
serves all that is open in the loop. It starts with the first and has ended when the last is left.

1. `held` starts a task in the guest, which enters the context manager, waits, and leaves it.
2. A `GuestCall` runs a function in the guest. Its result or its error goes to the task of asyncio that waits
   for it. If that task is cancelled, so is the function; the task goes on when the function has ended.
3. When the context manager ends by itself, its calls end with its error.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, Final, Generic, TypeVar
from weakref import WeakKeyDictionary

import anyio
import trio

__all__ = ["Ended", "GuestCall", "HeldContext", "held", "is_under_trio"]

T = TypeVar("T")
R = TypeVar("R")


class Ended(Exception):
    """Error for a call to a context manager that is not open."""


class _Guest:
    """The trio run in an asyncio loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.users = 0
        self.ended: asyncio.Future[None] = loop.create_future()
        self._loop = loop
        self._leave = trio.Event()
        trio.lowlevel.start_guest_run(
            self._leave.wait,
            run_sync_soon_threadsafe=loop.call_soon_threadsafe,
            run_sync_soon_not_threadsafe=loop.call_soon,
            done_callback=self._end,
            host_uses_signal_set_wakeup_fd=True,
        )

    async def leave(self) -> None:
        self._leave.set()
        await _one_of(self.ended)

    def _end(self, outcome: Any) -> None:
        _GUESTS.pop(self._loop, None)
        self.ended.set_result(None)
        outcome.unwrap()  # an error of trio itself, or Ctrl-C, is the loop's


_GUESTS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Guest]] = WeakKeyDictionary()


@asynccontextmanager
async def _guest() -> AsyncIterator[_Guest]:
    """Yield the guest of the loop, which runs as long as one task needs it."""
    loop = asyncio.get_running_loop()
    while (guest := _GUESTS.get(loop)) is not None and not guest.users:
        await asyncio.wait([guest.ended])
    if guest is None:
        _require_no_run()
        guest = _GUESTS[loop] = _Guest(loop)
    guest.users += 1
    try:
        yield guest
    finally:
        guest.users -= 1
        if not guest.users:
            await guest.leave()


def _require_no_run() -> None:
    try:
        trio.lowlevel.current_trio_token()
    except RuntimeError:
        return
    raise RuntimeError(
        "this asyncio loop has a trio run of the program's own as its guest, and can have only one: "
        "open the connection in a task of that trio run"
    )


class GuestCall(Generic[R]):
    """A function that runs in the guest."""

    def __init__(self, guest: _Guest, function: Callable[[], Awaitable[R]]) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._guest = guest
        self._scope = trio.CancelScope()
        self._results: list[R] = []
        self._error: Exception | None = None
        trio.lowlevel.spawn_system_task(self._run, function)

    async def _run(self, function: Callable[[], Awaitable[R]]) -> None:
        try:
            with self._scope:
                self._results.append(await function())
        except Exception as error:
            self._error = error
        finally:
            self.done.set_result(None)

    def cancel(self) -> None:
        """Cancel the function."""
        self._scope.cancel()

    async def end(self) -> None:
        """Cancel the function, and wait for its end."""
        self.cancel()
        await _one_of(self.done, self._guest.ended)

    async def wait(self) -> None:
        """Wait for the end of the function, which a cancellation of the waiting task leaves running."""
        await asyncio.wait([self.done, self._guest.ended], return_when=asyncio.FIRST_COMPLETED)

    async def finish(self) -> None:
        """Wait for the end of the function, which a cancellation of the waiting task cancels."""
        try:
            await self.wait()
        except asyncio.CancelledError:
            await self.end()
            raise

    def result(self) -> R:
        """Return what the function returned. Raise its error, or Ended if it was cancelled."""
        if self._error is not None:
            raise self._error
        if not self._results:
            raise Ended("cancelled")
        return self._results[0]


class HeldContext(Generic[T]):
    """An open context manager in the guest: the value that it yields, and calls that end with it."""

    value: T

    def __init__(self, guest: _Guest) -> None:
        self.entered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._guest = guest
        self._leave = trio.Event()
        self._calls: set[GuestCall[Any]] = set()
        self._is_open = False
        self._error: Exception | None = None

    def start(self, function: Callable[[], Awaitable[R]]) -> GuestCall[R]:
        """Start a function in the guest. Raise Ended, or the error of the context manager, if it is left."""
        if not self._is_open:
            raise self._error or Ended("left")
        call = GuestCall(self._guest, function)
        self._calls.add(call)
        call.done.add_done_callback(lambda _: self._calls.discard(call))
        return call

    def result(self, call: GuestCall[R]) -> R:
        """Return the result of a call that has ended. Raise its error, or why it was cancelled."""
        try:
            return call.result()
        except Ended:
            raise self._error or Ended("left") from None

    async def hold(self, manager: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        """Enter a context manager, wait for `leave`, and leave it. This runs in the guest."""
        try:
            async with manager() as self.value:
                self._is_open = True
                self.entered.set_result(None)
                await self._leave.wait()
        except Exception as error:
            self._error = error
            raise
        finally:
            self._is_open = False
            for call in self._calls:
                call.cancel()

    def leave(self) -> None:
        """Let the context manager be left as after a return."""
        self._leave.set()


@asynccontextmanager
async def held(manager: Callable[[], AbstractAsyncContextManager[T]]) -> AsyncIterator[HeldContext[T]]:
    """Hold a context manager of trio open for a block of asyncio. Raise its errors.

    After a return or an error of the block, the context manager is left as after a return; a cancellation of
    the block cancels it. The error or the cancellation then goes on.
    """
    async with _guest() as guest:
        holder = HeldContext[T](guest)
        holding = GuestCall(guest, partial(holder.hold, manager))
        try:
            await asyncio.wait([holder.entered, holding.done], return_when=asyncio.FIRST_COMPLETED)
            if not holder.entered.done():
                holding.result()
            yield holder
        except Exception:
            holder.leave()
            await holding.finish()
            raise
        except BaseException:
            await holding.end()
            raise
        holder.leave()
        await holding.finish()
        holding.result()


def is_under_trio() -> bool:
    """Return whether the caller is a task of trio, rather than of asyncio."""
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True


async def _one_of(*futures: asyncio.Future[None]) -> None:
    """Wait for the first of some futures, even if the task is cancelled; the cancellation follows."""
    cancelled: asyncio.CancelledError | None = None
    with anyio.CancelScope(shield=True):
        while not any(future.done() for future in futures):
            try:
                await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError as error:
                cancelled = error
    if cancelled is not None:
        raise cancelled
