"""Requests to an executor process, and how their answers are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import trio

from cfnode.core.header import Header
from cfnode.core.state import Changes
from cfnode.runtime import frames
from cfnode.runtime.calls import BuiltBlock, HostFault
from cfnode.runtime.failures import raised

__all__ = ["AnyRequest", "ExecutorRequest", "built", "changes", "outputs"]

T = TypeVar("T")

Read = Callable[[frames.Result, frames.Assembly], T]
"""A reader of the answer, from its last message and the parts before. Raises HostFault for another one."""


def outputs(result: frames.Result, assembly: frames.Assembly) -> list[bytes]:
    """Return the outputs of calls."""
    if isinstance(result, frames.Output):
        return assembly.take_outputs(result)
    raise _other(result, "outputs")


def changes(result: frames.Result, assembly: frames.Assembly) -> Changes:
    """Return the changes of an executed block."""
    if isinstance(result, frames.Changed):
        return assembly.take_changes(result.root)
    raise _other(result, "the changes of a block")


def built(result: frames.Result, assembly: frames.Assembly) -> BuiltBlock:
    """Return a block that was built."""
    if isinstance(result, frames.Built):
        changes = assembly.take_changes(result.root)
        return BuiltBlock(Header.decode(result.header), result.body, changes, result.refused)
    raise _other(result, "a block")


def _other(result: frames.Result, asked: str) -> HostFault:
    return HostFault(f"the executor process was asked for {asked}, and answers {type(result).__name__}")


class ExecutorRequest(Generic[T]):
    """One request and its future answer, which `read` returns."""

    def __init__(
        self,
        number: int,
        function: str,
        seconds: float,
        orders: Sequence[frames.Order],
        read: Read[T],
        *,
        block_work: bool = False,
    ) -> None:
        self.id = number
        self.function = function
        self.seconds = seconds
        self.orders = orders
        self.block_work = block_work
        self.sent = False
        """Whether an executor process has it, though others may come before it there."""
        self.attempts = 0
        """The number of processes that had it as their next request and ended without an answer."""
        self.abandoned = False
        """Whether no task waits for the answer any more: the request may then be skipped."""
        self._read = read
        self._outcome: tuple[T] | Exception | None = None
        self._answered = trio.Event()

    @property
    def done(self) -> bool:
        """Whether the request has been answered."""
        return self._answered.is_set()

    @property
    def failure(self) -> Exception | None:
        """The error with which the request failed; None if it was answered, or is not done."""
        return self._outcome if isinstance(self._outcome, Exception) else None

    async def wait(self) -> None:
        """Wait for the answer or the failure."""
        await self._answered.wait()

    async def answer(self) -> T:
        """Wait for the answer and return it. Raises the failure."""
        await self.wait()
        while self._outcome is None:  # never: it is set before the event
            await self.wait()
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome[0]

    def conclude(self, end: frames.Result | frames.Failed, assembly: frames.Assembly) -> None:
        """Set the answer, or the failure, that the process reports."""
        if isinstance(end, frames.Failed):
            self.fail(raised(end))
            return
        try:
            self._outcome = (self._read(end, assembly),)
        except HostFault as error:
            self._outcome = error
        self._answered.set()

    def fail(self, error: Exception) -> None:
        """Set the failure, unless there is an answer."""
        if not self.done:
            self._outcome = error
            self._answered.set()


AnyRequest = ExecutorRequest[Any]
"""A request whatever the type of its answer."""
