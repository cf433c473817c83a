"""Copies of bytes between Python and the memory of a running runtime, with checked pointers.

Every pointer of a runtime is checked against the size of its memory: one that leads outside is an error of
the call, never an access. The memory grows inside WebAssembly without notice, so the size is read again
before an access is refused. Growing never moves the memory: the engine reserves its whole address range
beforehand.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import wasmtime

from cfnode.runtime.wasm.host import HostError

__all__ = ["GuestMemory"]

_WRITABLE = 0x200  # PyBUF_WRITE
_view_of = ctypes.pythonapi.PyMemoryView_FromMemory
_view_of.restype = ctypes.py_object
_view_of.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int]

_LOW = 0xFFFFFFFF

MAX_PAGES_AT_ONCE = (32 << 20) // (1 << 16) + 2
"""Pages that one allocation may add: its maximum size, the block's header, and the start of the last page."""


class GuestMemory:
    """The memory of one instance after the other. A *span* is pointer | length << 32."""

    __slots__ = ("_allocate", "_max_pages", "_memory", "_size", "_store", "_view")

    def __init__(self) -> None:
        self._view = memoryview(b"")
        self._size = 0

    def attach(
        self,
        store: wasmtime.Store,
        memory: wasmtime.Memory,
        max_pages: int,
        allocate: Callable[[int], int],
    ) -> None:
        """Use the memory of an instance.

        `allocate`: a function from a size in bytes to the pointer of free memory.
        """
        self._store, self._memory, self._max_pages, self._allocate = store, memory, max_pages, allocate
        self._refresh()

    def detach(self) -> None:
        """Release the memory; must be called before its store is closed."""
        self._view.release()
        self._view, self._size = memoryview(b""), 0

    def _refresh(self) -> None:
        size = self._memory.data_len(self._store)
        address = ctypes.addressof(self._memory.data_ptr(self._store).contents) if size else 0
        self._view.release()
        self._view = _view_of(address, size, _WRITABLE) if size else memoryview(b"")
        self._size = size

    def _outside(self, pointer: int, size: int) -> bool:
        if pointer + size > self._size:
            self._refresh()
        return pointer + size > self._size

    @property
    def below_limit(self) -> bool:
        """Whether any single allocation, failed or not, would have stayed within the memory's limit."""
        return self._memory.size(self._store) + MAX_PAGES_AT_ONCE <= self._max_pages

    def array(self, pointer: int, size: int) -> bytes:
        """Return the bytes at a pointer. Raises HostError."""
        end = pointer + size
        if end > self._size and self._outside(pointer, size):
            raise HostError(f"{size} bytes at {pointer:#x} lie outside of the runtime's memory")
        return self._view[pointer:end].tobytes()

    def span(self, span: int) -> bytes:
        """Return the bytes of a span. Raises HostError."""
        pointer = span & _LOW
        end = pointer + (span >> 32)
        if end > self._size and self._outside(pointer, span >> 32):
            raise HostError(f"{span >> 32} bytes at {pointer:#x} lie outside of the runtime's memory")
        return self._view[pointer:end].tobytes()

    def write(self, pointer: int, data: bytes) -> None:
        """Write bytes at a pointer. Raises HostError."""
        end = pointer + len(data)
        if end > self._size and self._outside(pointer, len(data)):
            raise HostError(f"{len(data)} bytes for {pointer:#x} would lie outside of the runtime's memory")
        self._view[pointer:end] = data

    def place(self, data: bytes) -> int:
        """Write bytes into new memory; return its pointer."""
        pointer = self._allocate(len(data))
        self.write(pointer, data)
        return pointer

    def place_span(self, data: bytes) -> int:
        """Write bytes into new memory; return its span."""
        return len(data) << 32 | self.place(data)
