"""What is a request to the executor process, and which error does its failure become in the node?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import trio

from cfnode.core.state import Changes
from cfnode.runtime import frames
from cfnode.runtime.calls import (
    BlockRefused,
    BuiltBlock,
    Deadline,
    HostFault,
    MessageTooLarge,
    Missing,
    OutOfMemory,
    ProofRefused,
    RuntimeTrap,
    StoreFault,
    UnknownFunction,
    UnsupportedCode,
)
from cfnode.store import StateDiscarded, UnknownBlock

__all__ = ["Request", "failure"]

Result = list[bytes] | Changes | BuiltBlock


class Request:
    """One request and its future answer."""

    def __init__(
        self,
        number: int,
        function: str,
        seconds: float,
        orders: Sequence[frames.Order],
        *,
        block_work: bool = False,
    ) -> None:
        self.id = number
        self.function = function
        self.seconds = seconds
        self.orders = orders
        self.block_work = block_work
        self.sent = False
        """An executor process has it, though others may come before it there."""
        self.attempts = 0
        """Processes that had it as their next request and ended without an answer."""
        self.abandoned = False
        """No task waits for the answer any more: the request may be skipped."""
        self._result: Result | Exception | None = None
        self._answered = trio.Event()

    @property
    def done(self) -> bool:
        """Whether the request has been answered."""
        return self._answered.is_set()

    @property
    def failure(self) -> Exception | None:
        """Why the request failed; None if it was answered, or is not done."""
        return self._result if isinstance(self._result, Exception) else None

    async def wait(self) -> None:
        """Wait for the answer or the failure."""
        await self._answered.wait()

    async def answer(self) -> Result:
        """Wait for the answer; raises the failure."""
        await self.wait()
        if isinstance(self._result, Exception):
            raise self._result
        assert self._result is not None
        return self._result

    def succeed(self, result: Result) -> None:
        """Set the answer."""
        self._result = result
        self._answered.set()

    def fail(self, error: Exception) -> None:
        """Set the failure, unless there is an answer."""
        if not self.done:
            self._result = error
            self._answered.set()


_BY_KIND: dict[str, Callable[[frames.Failed], Exception]] = {
    "RuntimeTrap": lambda failed: RuntimeTrap(failed.text),
    "Deadline": lambda failed: Deadline(failed.text, float(failed.key)),
    "UnknownFunction": lambda failed: UnknownFunction(failed.text),
    "UnsupportedCode": lambda failed: UnsupportedCode(failed.text),
    "BlockRefused": lambda failed: BlockRefused(failed.text),
    "MissingNode": lambda failed: Missing(failed.key, failed.child),
    "TrieError": lambda failed: ProofRefused(failed.text),
    "ScaleError": lambda failed: RuntimeTrap(failed.text),
    "UnknownBlock": lambda failed: UnknownBlock(failed.key),
    "StateDiscarded": lambda failed: StateDiscarded(failed.key),
    "StoreError": lambda failed: StoreFault(failed.text),
    "StoreFault": lambda failed: StoreFault(failed.text),
    "OutOfMemory": lambda failed: OutOfMemory(failed.text),
    "MessageTooLarge": lambda failed: MessageTooLarge(failed.text),
    "HostFault": lambda failed: HostFault(failed.text),
}


def failure(failed: frames.Failed) -> Exception:
    """The error that the executor process reported, as the node raises it."""
    make = _BY_KIND.get(failed.kind)
    return make(failed) if make else HostFault(f"{failed.kind}: {failed.text}")
