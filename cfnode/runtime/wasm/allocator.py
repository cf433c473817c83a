"""How is memory allocated for a runtime that exports its own memory, where the shim cannot do it?

The shim imports the memory that it allocates from, so the memory must exist before the runtime. A runtime
that exports its memory gets this allocator instead: the same algorithm, with its state in Python.

Substrate's freeing-bump allocator: blocks of 8 bytes to 32 MiB in powers of two, each behind a header of 8
bytes, never joined.
"""

from __future__ import annotations

from cfnode.runtime.wasm.host import HostError
from cfnode.runtime.wasm.memory import GuestMemory

__all__ = ["MAX_ALLOCATION", "Allocator"]

MAX_ALLOCATION = 32 << 20
_HEADER = 8


class Allocator:
    """Allocates memory above `base`."""

    def __init__(self, memory: GuestMemory, base: int) -> None:
        self._memory = memory
        self._top = base + 7 & ~7
        self._free: dict[int, list[int]] = {}
        self._orders: dict[int, int] = {}

    def allocate(self, size: int) -> int:
        """A pointer to `size` free bytes; raises HostError."""
        if size > MAX_ALLOCATION:
            raise HostError(f"{size} bytes are too many for one allocation; {MAX_ALLOCATION} at most")
        order = max(0, (size - 1).bit_length() - 3)
        free = self._free.get(order)
        pointer = free.pop() if free else self._extend(order)
        self._orders[pointer] = order
        return pointer

    def _extend(self, order: int) -> int:
        pointer = self._top + _HEADER
        self._memory.grow_to(pointer + (8 << order))
        self._top = pointer + (8 << order)
        return pointer

    def free(self, pointer: int) -> None:
        """Free memory; raises HostError."""
        order = self._orders.pop(pointer, None)
        if order is None:
            raise HostError(f"no memory was allocated at {pointer:#x}")
        self._free.setdefault(order, []).append(pointer)
