"""How is a module made ready once, and given a fresh instance for every call?

A runtime's own variables must not leak from call to call, so each gets an instance of its own: a store, a
memory, the shim and the module, some 0.9 ms. What does not depend on the call is made once: the host
functions are bound to a linker, and look at the host and the memory of the call at work. So one loaded module
does one call at a time.

A module that exports its memory instead of importing it cannot have the shim, which must exist before it; it
gets the allocator in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import wasmtime

from cfnode.runtime.door import UnsupportedCode
from cfnode.runtime.wasm.allocator import Allocator
from cfnode.runtime.wasm.binding import Binding, over_slots
from cfnode.runtime.wasm.engine import engine
from cfnode.runtime.wasm.host import HOST_FUNCTIONS, Host, HostError, Signature
from cfnode.runtime.wasm.memory import GuestMemory

__all__ = ["Instance", "LoadedModule"]

PAGE = 1 << 16
_ALLOCATOR = {
    "ext_allocator_malloc_version_1": Signature(("u32",), "u32"),
    "ext_allocator_free_version_1": Signature(("u32",), None),
}
_MALLOC = "ext_allocator_malloc_version_1"


class LoadedModule:
    """A compiled runtime with its host functions bound; one call at a time."""

    def __init__(self, module: wasmtime.Module, shim: wasmtime.Module, host: Host, binding: Binding) -> None:
        self.host = host
        self.functions = {found.name for found in module.exports if isinstance(found.type, wasmtime.FuncType)}
        self.memory = GuestMemory()
        self.allocator: Allocator | None = None
        self._module, self._shim, self._binding = module, shim, binding
        self._linker = wasmtime.Linker(engine())
        self._linker.allow_shadowing = True
        self._imports_memory = _imports_memory(module)
        self._provided = {found.name for found in shim.exports} if self._imports_memory else set()
        for wanted in module.imports:
            self._bind(wanted)

    def _bind(self, wanted: wasmtime.ImportType) -> None:
        name, kind = wanted.name or "", wanted.type
        if wanted.module == "env" and isinstance(kind, wasmtime.MemoryType) and name == "memory":
            return
        if wanted.module != "env" or not name.startswith("ext_") or not isinstance(kind, wasmtime.FuncType):
            raise UnsupportedCode(f"the state's code imports {wanted.module}.{name}, which no host offers")
        signature = _ALLOCATOR.get(name) or HOST_FUNCTIONS.get(name)
        if signature is None:
            self._binding.define(self._linker, name, kind, partial(_not_offered, name))
            return
        if _types(kind) != (signature.parameter_types, signature.result_types):
            raise UnsupportedCode(f"the state's code imports {name} with another signature")
        if name not in self._provided:
            self._binding.define(
                self._linker, name, kind, over_slots(signature, self._function(name), self.memory)
            )

    def _function(self, name: str) -> Callable[..., Any]:
        if name not in _ALLOCATOR:
            function: Callable[..., Any] = getattr(self.host, name)
            return function
        return self._allocate if name == _MALLOC else self._release

    def _allocate(self, size: int) -> int:
        if self.allocator is None:
            raise HostError("the runtime allocates before its heap is known")
        return self.allocator.allocate(size)

    def _release(self, pointer: int) -> None:
        if self.allocator is None:
            raise HostError("the runtime frees before its heap is known")
        self.allocator.free(pointer)

    @contextmanager
    def instance(self, heap_pages: int, ticks: int) -> Iterator[Instance]:
        """A fresh instance with so many pages beyond its first ones, and so many epochs to live.

        Raises wasmtime's errors and traps, and HostError.
        """
        store = wasmtime.Store(engine())
        try:
            store.set_epoch_deadline(ticks)
            yield self._instantiate(store, heap_pages)
        finally:
            self.allocator = None
            self.memory.detach()
            store.close()

    def _instantiate(self, store: wasmtime.Store, heap_pages: int) -> Instance:
        if not self._imports_memory:
            return self._with_own_memory(store, heap_pages)
        first = _first_pages(self._module)
        pages = min(first + heap_pages, 1 << 16)
        memory = wasmtime.Memory(store, wasmtime.MemoryType(wasmtime.Limits(first, pages)))
        shim = wasmtime.Instance(store, self._shim, [memory]).exports(store)
        self._linker.define(store, "env", "memory", memory)
        for name in self._provided:
            if name.startswith("ext_"):
                self._linker.define(store, "env", name, shim[name])
        malloc = shim[_MALLOC]
        assert isinstance(malloc, wasmtime.Func)
        self.memory.attach(store, memory, lambda size: self._binding.call(store, malloc, (size,)))
        exports = self._linker.instantiate(store, self._module).exports(store)
        top = shim["top"]
        assert isinstance(top, wasmtime.Global)
        top.set_value(store, _heap_base(store, exports) + 7 & ~7)
        return Instance(self, store, exports)

    def _with_own_memory(self, store: wasmtime.Store, heap_pages: int) -> Instance:
        store.set_limits(memory_size=(_own_pages(self._module) + heap_pages) * PAGE)
        exports = self._linker.instantiate(store, self._module).exports(store)
        memory = exports["memory"]
        assert isinstance(memory, wasmtime.Memory)
        self.memory.attach(store, memory, self._allocate)
        self.allocator = Allocator(self.memory, _heap_base(store, exports))
        return Instance(self, store, exports)

    def run(self, store: wasmtime.Store, function: wasmtime.Func, args: bytes) -> bytes:
        """Call a runtime's entry point: pointer and length of the arguments, span of the output."""
        pointer = self.memory.place(args) if args else 0
        return self.memory.span(self._binding.call(store, function, (pointer, len(args))))


class Instance:
    """A runtime for one call."""

    __slots__ = ("_exports", "_loaded", "_store")

    def __init__(self, loaded: LoadedModule, store: wasmtime.Store, exports: Any) -> None:
        self._loaded, self._store, self._exports = loaded, store, exports

    def call(self, function: str, args: bytes) -> bytes:
        """The output of an exported function."""
        return self._loaded.run(self._store, self._exports[function], args)


def _not_offered(name: str, _slots: Any) -> None:
    raise HostError(f"the runtime calls {name}, which this node does not offer")


def _types(kind: wasmtime.FuncType) -> tuple[list[str], list[str]]:
    return [str(one) for one in kind.params], [str(one) for one in kind.results]


def _memory_import(module: wasmtime.Module) -> wasmtime.MemoryType | None:
    found = (wanted.type for wanted in module.imports if wanted.module == "env" and wanted.name == "memory")
    kind = next(found, None)
    return kind if isinstance(kind, wasmtime.MemoryType) else None


def _memory_export(module: wasmtime.Module) -> wasmtime.MemoryType | None:
    kind = next((found.type for found in module.exports if found.name == "memory"), None)
    return kind if isinstance(kind, wasmtime.MemoryType) else None


def _imports_memory(module: wasmtime.Module) -> bool:
    """Whether the memory comes from outside; raises UnsupportedCode where there is none at all."""
    if _memory_import(module) is not None:
        return True
    if _memory_export(module) is None:
        raise UnsupportedCode("the state's code has no memory: it neither imports nor exports one")
    return False


def _first_pages(module: wasmtime.Module) -> int:
    kind = _memory_import(module)
    return kind.limits.min if kind else 0


def _own_pages(module: wasmtime.Module) -> int:
    kind = _memory_export(module)
    return kind.limits.min if kind else 0


def _heap_base(store: wasmtime.Store, exports: Any) -> int:
    base = exports.get("__heap_base")
    if not isinstance(base, wasmtime.Global):
        raise UnsupportedCode("the state's code does not say where its heap begins (__heap_base)")
    return int(base.value(store))
