"""Cache of the outputs of runtime calls, by block.

A block fixes its state, and a state fixes the output of each call. Clients of a front end make the same few
calls at every block, so outputs are kept for the blocks that were last requested, up to a number of bytes.

A caller that makes a call while the same call is being executed waits for that output, or that error. If each
of them executed the call again, a call of 25 s would fail for the fifth caller after 125. An error is not
kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

import trio

__all__ = ["Call", "CallCache"]

MAX_CALL_CACHE_BYTES = 16 << 20
"""Bytes of calls and outputs that are kept."""

MAX_OUTPUT = 1 << 20
"""Bytes of a call and its output above which the output is not kept: metadata, which has another cache."""

MAX_CALL_CACHE_BLOCKS = 16
"""Blocks whose outputs are kept: clients ask about the best and the finalized one, and those just below."""

CALL_ENTRY_BYTES = 400
"""Bytes of memory that a kept output takes besides its content."""

Call = tuple[str, bytes]
"""The name of a runtime API function, and its SCALE-encoded arguments."""

Ask = Callable[[Sequence[Call]], Awaitable[list[bytes]]]
"""A function that makes calls, and returns their outputs in order."""


class _CallsUnderWay:
    """Calls that are being made together.

    At the end they have outputs, or an error, or neither if their caller was cancelled.
    """

    def __init__(self, calls: Sequence[Call]) -> None:
        self.calls = frozenset(calls)
        self.outputs: dict[Call, bytes] = {}
        self.error: Exception | None = None
        self.is_discarded = False
        """Whether the state was discarded meanwhile: then the outputs are not kept."""
        self.over = trio.Event()


class CallCache:
    """The outputs of runtime calls, by block."""

    def __init__(self) -> None:
        self._blocks: OrderedDict[bytes, dict[Call, bytes]] = OrderedDict()
        self._asked: dict[tuple[bytes, Call], _CallsUnderWay] = {}
        self.size = 0
        """The number of bytes kept."""

    async def all(self, block: bytes, calls: Sequence[Call], ask: Ask) -> list[bytes]:
        """Return the outputs of calls on a block's state: kept ones, or those that `ask` returns now.

        Raise what `ask` raises.
        """
        await trio.lowlevel.checkpoint()
        outputs = self._kept(block, calls)
        while missing := [call for call in dict.fromkeys(calls) if call not in outputs]:
            running = {call: self._asked[block, call] for call in missing if (block, call) in self._asked}
            if new_calls := [call for call in missing if call not in running]:
                outputs.update(await self._ask(block, new_calls, ask))
            for call, under_way in running.items():
                await under_way.over.wait()
                if under_way.error is not None and under_way.calls.issubset(missing):
                    raise under_way.error  # the first failure fails all, and all of them are wanted
                if call in under_way.outputs:
                    outputs[call] = under_way.outputs[call]
        return [outputs[call] for call in calls]

    def drop(self, block: bytes) -> None:
        """Drop the outputs of a block whose state has been discarded: calls on it fail."""
        self._evict(block)
        for (asked_block, _), under_way in self._asked.items():
            under_way.is_discarded |= asked_block == block

    def _evict(self, block: bytes) -> None:
        outputs = self._blocks.pop(block, {})
        self.size -= sum(_cost(call, output) for call, output in outputs.items())

    async def _ask(self, block: bytes, calls: Sequence[Call], ask: Ask) -> dict[Call, bytes]:
        batch = _CallsUnderWay(calls)
        self._asked.update(dict.fromkeys([(block, call) for call in calls], batch))
        try:
            batch.outputs = dict(zip(calls, await ask(calls), strict=True))
        except Exception as error:
            batch.error = error
            raise
        finally:
            for call in calls:
                del self._asked[block, call]
            batch.over.set()
        for call, output in batch.outputs.items():
            if not batch.is_discarded:
                self._keep(block, call, output)
        return batch.outputs

    def _kept(self, block: bytes, calls: Sequence[Call]) -> dict[Call, bytes]:
        outputs = self._blocks.get(block)
        if outputs is None:
            return {}
        self._blocks.move_to_end(block)
        return {call: outputs[call] for call in calls if call in outputs}

    def _keep(self, block: bytes, call: Call, output: bytes) -> None:
        cost = _cost(call, output)
        if cost > MAX_OUTPUT:
            return
        outputs = self._blocks.setdefault(block, {})
        self._blocks.move_to_end(block)
        if call not in outputs:
            self.size += cost
        outputs[call] = output
        while len(self._blocks) > MAX_CALL_CACHE_BLOCKS or self.size > MAX_CALL_CACHE_BYTES:
            self._evict(next(iter(self._blocks)))


def _cost(call: Call, output: bytes) -> int:
    return CALL_ENTRY_BYTES + len(call[1]) + len(output)
