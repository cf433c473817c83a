"""Loaded modules, and an instance of a module for each call.

A runtime's variables must not leak from call to call, so each call gets its own instance: a store, the
bridge, the module with its memory, and the shim, which takes some 0.1 ms. Everything else is made once: the
host functions are bound to a linker, and use the host and the memory of the current call. So one loaded
module makes one call at a time. The next instance is prepared between calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import wasmtime

from cfnode.runtime.calls import OutOfMemory, UnsupportedCode
from cfnode.runtime.wasm.binding import Binding, over_slots
from cfnode.runtime.wasm.engine import engine
from cfnode.runtime.wasm.host import HOST_FUNCTIONS, HostError, HostFunctions, HostSignature
from cfnode.runtime.wasm.memory import GuestMemory
from cfnode.runtime.wasm.own_memory import MEMORY

__all__ = ["Instance", "LoadedModule", "trap_place"]

WASM_PAGE_BYTES = 1 << 16
MAX_PAGES = 1 << 16
_START_TICKS = 10
"""Epochs in which an instance must start: runtimes have no start function, but a module can."""

_ALLOCATOR = {
    "ext_allocator_malloc_version_1": HostSignature(("u32",), "u32"),
    "ext_allocator_free_version_1": HostSignature(("u32",), None),
}
"""The functions that the shim provides besides hashes, which are host functions too."""
_OF_NO_BLOCK = re.compile(
    r"ext_(offchain_\w+|crypto_\w+_(public_keys|generate(_proof_of_possession)?|sign(_prehashed)?))_version_\d+"
)
"""Functions that need an off-chain worker or a keystore.

Substrate has neither in a block or a call, and panics.
"""
_NO_MEMORY = "out_of_memory"
"""The shim's function that traps when the memory cannot grow."""


class LoadedModule:
    """A compiled runtime with its host functions bound; one call at a time."""

    def __init__(
        self,
        module: wasmtime.Module,
        bridge: wasmtime.Module,
        shim: wasmtime.Module,
        host: HostFunctions,
        binding: Binding,
    ) -> None:
        self.host = host
        exports, imports = module.exports, module.imports  # each access creates all of their objects again
        self.functions = {export.name for export in exports if isinstance(export.type, wasmtime.FuncType)}
        self.memory = GuestMemory()
        self._module, self._bridge, self._shim, self._binding = module, bridge, shim, binding
        self._spare: Instance | None = None
        self._last_heap_pages = 0
        self._linker = wasmtime.Linker(engine())
        self._linker.allow_shadowing = True
        self._first_pages = _first_pages(exports)
        self._provided = [
            export.name for export in bridge.exports if isinstance(export.type, wasmtime.FuncType)
        ]
        for imported in imports:
            self._bind(imported)

    def _bind(self, wanted: wasmtime.ImportType) -> None:
        name, kind = wanted.name or "", wanted.type
        if wanted.module != "env" or not name.startswith("ext_") or not isinstance(kind, wasmtime.FuncType):
            raise UnsupportedCode(f"the state's code imports {wanted.module}.{name}, which no host provides")
        signature = _ALLOCATOR.get(name) or HOST_FUNCTIONS.get(name)
        if signature is None:
            self._binding.define(self._linker, name, kind, lambda: partial(_not_offered, name))
            return
        if _types(kind) != (signature.parameter_types, signature.result_types):
            raise UnsupportedCode(f"the state's code imports {name} with another signature")
        if name not in self._provided:
            make = partial(over_slots, signature, getattr(self.host, name), self.memory)
            self._binding.define(self._linker, name, kind, make)

    @contextmanager
    def instance(self, heap_pages: int, ticks: int) -> Iterator[Instance]:
        """Provide a fresh instance to the block.

        It has `heap_pages` pages beyond its first ones, and a limit of `ticks` epochs. Raises wasmtime's
        errors and traps, HostError, and UnsupportedCode.
        """
        try:
            if self._spare is None or self._spare.heap_pages != heap_pages:
                self._discard()
                self._spare = self._instantiate(wasmtime.Store(engine()), heap_pages)
            self._spare.store.set_epoch_deadline(ticks)
            yield self._spare
        finally:
            self._discard()

    def prepare(self) -> None:
        """Create the instance of the next call in advance; an error will occur again in that call."""
        if self._spare is None:
            with suppress(wasmtime.WasmtimeError, wasmtime.Trap, HostError, UnsupportedCode, MemoryError):
                self._spare = self._instantiate(wasmtime.Store(engine()), self._last_heap_pages)

    def _discard(self) -> None:
        spare, self._spare = self._spare, None
        self.memory.detach()
        if spare is not None:
            self._last_heap_pages = spare.heap_pages
            spare.store.close()

    def _instantiate(self, store: wasmtime.Store, heap_pages: int) -> Instance:
        store.set_epoch_deadline(_START_TICKS)
        try:
            return Instance(self, store, self._connected(store, heap_pages), heap_pages)
        except BaseException as error:
            self.memory.detach()
            store.close()
            if isinstance(error, wasmtime.WasmtimeError):  # the call has not begun: no verdict on its input
                raise UnsupportedCode(f"the state's code cannot be instantiated: {error}") from error
            raise

    def _connected(self, store: wasmtime.Store, heap_pages: int) -> wasmtime.Instance:
        pages = min(self._first_pages + heap_pages, MAX_PAGES)
        store.set_limits(memory_size=pages * WASM_PAGE_BYTES)
        bridge = wasmtime.Instance(store, self._bridge, []).exports(store)
        for name in self._provided:
            self._linker.define(store, "env", name, bridge[name])
        instance = self._linker.instantiate(store, self._module)
        memory = self._binding.export(store, instance, MEMORY)
        shim = wasmtime.Instance(store, self._shim, [memory, bridge["functions"]]).exports(store)
        malloc, top = shim["malloc"], shim["top"]
        assert isinstance(malloc, wasmtime.Func)
        assert isinstance(top, wasmtime.Global)
        self.memory.attach(store, memory, pages, self._binding.caller(store, malloc))
        top.set_value(store, self._heap_base(store, instance) + 7 & ~7)
        return instance

    def _heap_base(self, store: wasmtime.Store, instance: wasmtime.Instance) -> int:
        base = self._binding.export(store, instance, "__heap_base")
        if not isinstance(base, wasmtime.Global):
            raise UnsupportedCode("the state's code does not export the start of its heap (__heap_base)")
        return int(base.value(store))

    def run(self, store: wasmtime.Store, instance: wasmtime.Instance, function: str, args: bytes) -> bytes:
        """Call a runtime's entry point: pointer and length of the arguments, span of the output.

        Return the output. Raises OutOfMemory where the system refuses memory below the runtime's limit.
        """
        entry = self._binding.export(store, instance, function)
        try:
            pointer = self.memory.place(args) if args else 0
            return self.memory.span(self._binding.call(store, entry, (pointer, len(args))))
        except wasmtime.Trap as trap:
            if trap_place(trap) == _NO_MEMORY and self.memory.below_limit:
                raise OutOfMemory(
                    f"{function}: the system refuses memory below the runtime's limit"
                ) from None
            raise


class Instance:
    """A runtime for one call."""

    __slots__ = ("_instance", "_loaded", "heap_pages", "store")

    def __init__(
        self, loaded: LoadedModule, store: wasmtime.Store, instance: wasmtime.Instance, heap_pages: int
    ) -> None:
        self._loaded, self.store, self._instance, self.heap_pages = loaded, store, instance, heap_pages

    def call(self, function: str, args: bytes) -> bytes:
        """Call an exported function and return its output."""
        return self._loaded.run(self.store, self._instance, function, args)


def trap_place(trap: wasmtime.Trap) -> str | None:
    """Return the name of the function that trapped, if it has one."""
    frames = trap.frames
    return frames[0].func_name if frames else None


def _not_offered(name: str, _slots: Any) -> None:
    """Trap where every node traps, which is a verdict on the block; else raise a local fault of this node."""
    text = f"the runtime calls {name}, which this node does not provide"
    raise HostError(text) if _OF_NO_BLOCK.fullmatch(name) else UnsupportedCode(text)


def _types(kind: wasmtime.FuncType) -> tuple[list[str], list[str]]:
    return [str(value_type) for value_type in kind.params], [str(value_type) for value_type in kind.results]


def _first_pages(exports: Sequence[wasmtime.ExportType]) -> int:
    """Return the pages of 64 KiB that the runtime begins with.

    Raises UnsupportedCode where it has no memory.
    """
    memory = next((export.type for export in exports if export.name == MEMORY), None)
    if not isinstance(memory, wasmtime.MemoryType):
        raise UnsupportedCode("the state's code has no memory: it neither imports nor exports one")
    return memory.limits.min
