"""Cache of the outputs of runtime calls, by block.

A block fixes its state, and a state fixes the output of each call. Clients of a front end make the same few
calls at every block, so outputs are kept for the blocks that were last requested, up to a number of bytes.

A caller that makes a call while the same call is being executed waits for that output, or that error
(`flow/shared_work.py`). If each of them executed the call again, a call of 25 s would fail for the fifth
caller after 125. An error is not kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import trio

from cfnode.flow.shared_work import SharedWork

__all__ = ["CallCache", "RuntimeCall"]

MAX_CALL_CACHE_BYTES = 16 << 20
"""Bytes of calls and outputs that are kept."""

MAX_OUTPUT = 1 << 20
"""Bytes of a call and its output above which the output is not kept: metadata, which has another cache."""

MAX_CALL_CACHE_BLOCKS = 16
"""Blocks whose outputs are kept: clients ask about the best and the finalized one, and those just below."""

CALL_ENTRY_BYTES = 400
"""Bytes of memory that a kept output takes besides its content."""

RuntimeCall = tuple[str, bytes]
"""The name of a runtime API function, and its SCALE-encoded arguments."""

Ask = Callable[[Sequence[RuntimeCall]], Awaitable[list[bytes]]]
"""A function that makes calls, and returns their outputs in order."""


@dataclass(slots=True, eq=False)
class _CallRequest:
    """Calls on the state of a block that are being made."""

    block: bytes
    is_discarded: bool = False
    """Whether the state was discarded meanwhile: then the outputs are not kept."""


class CallCache:
    """The outputs of runtime calls, by block."""

    def __init__(self) -> None:
        self._blocks: OrderedDict[bytes, dict[RuntimeCall, bytes]] = OrderedDict()
        self._asking = SharedWork[tuple[bytes, RuntimeCall], bytes]()
        self._requests = set[_CallRequest]()
        self.size = 0
        """The number of bytes kept."""

    async def all(self, block: bytes, calls: Sequence[RuntimeCall], ask: Ask) -> list[bytes]:
        """Return the outputs of calls on a block's state: kept ones, or those that `ask` returns now.

        Raise what `ask` raises.
        """
        await trio.lowlevel.checkpoint()
        outputs = self._kept(block, calls)
        if missing := [(block, call) for call in dict.fromkeys(calls) if call not in outputs]:

            async def work(keys: Sequence[tuple[bytes, RuntimeCall]]) -> list[bytes]:
                return await self._ask(block, [call for _, call in keys], ask)

            computed = await self._asking.together(missing, work)
            outputs.update({call: output for (_, call), output in computed.items()})
        return [outputs[call] for call in calls]

    def drop(self, block: bytes) -> None:
        """Drop the outputs of a block whose state has been discarded: calls on it fail."""
        self._evict(block)
        for request in self._requests:
            request.is_discarded |= request.block == block

    def _evict(self, block: bytes) -> None:
        outputs = self._blocks.pop(block, {})
        self.size -= sum(_cost(call, output) for call, output in outputs.items())

    async def _ask(self, block: bytes, calls: Sequence[RuntimeCall], ask: Ask) -> list[bytes]:
        self._requests.add(request := _CallRequest(block))
        try:
            outputs = await ask(calls)
        finally:
            self._requests.discard(request)
        for call, output in zip(calls, outputs, strict=True):
            if not request.is_discarded:
                self._keep(block, call, output)
        return outputs

    def _kept(self, block: bytes, calls: Sequence[RuntimeCall]) -> dict[RuntimeCall, bytes]:
        outputs = self._blocks.get(block)
        if outputs is None:
            return {}
        self._blocks.move_to_end(block)
        return {call: outputs[call] for call in calls if call in outputs}

    def _keep(self, block: bytes, call: RuntimeCall, output: bytes) -> None:
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


def _cost(call: RuntimeCall, output: bytes) -> int:
    return CALL_ENTRY_BYTES + len(call[1]) + len(output)
