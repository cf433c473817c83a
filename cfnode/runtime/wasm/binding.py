"""The binding of host functions: how WebAssembly calls Python, a quarter of a million times in a block.

wasmtime's public API creates value and type objects for every call: 8 µs. The C API has *unchecked* calls,
which pass an array of 16-byte slots: 0.3 µs. The C functions are part of wasmtime's API, but their use from
Python is not, so they are used only with the tested versions; the public API always works. Both bindings run
the same code over slots.

The unchecked calls are in `raw.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol

import wasmtime

from cfnode.runtime.wasm.host import HostSignature
from cfnode.runtime.wasm.host.signature import ARRAY_SIZES
from cfnode.runtime.wasm.memory import GuestMemory

__all__ = ["SLOT_WORDS", "Binding", "Make", "PublicBinding", "SlotFunction", "over_slots"]

Slots = Any
"""64-bit numbers of which every second one counts: `slots[2 * i]` is argument i, `slots[0]` the result."""
SlotFunction = Callable[[Slots], None]
Make = Callable[[], SlotFunction]

_LOW, _ALL = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
SLOT_WORDS = 2


class Binding(Protocol):
    """Calls between WebAssembly and Python."""

    def define(self, linker: wasmtime.Linker, name: str, kind: wasmtime.FuncType, make: Make) -> None:
        """Define the import `env`/`name`.

        `make` is called at its first use: most imports are never used.
        """
        ...

    def call(self, store: wasmtime.Store, function: wasmtime.Func, arguments: Sequence[int]) -> int:
        """Call an exported function over i32; return its result, unsigned.

        Raises what a host function raised, Trap and WasmtimeError.
        """
        ...

    def caller(self, store: wasmtime.Store, function: wasmtime.Func) -> Callable[[int], int]:
        """Return a function of one i32, prepared for frequent calls, that calls no host function."""
        ...

    def export(self, store: wasmtime.Store, instance: wasmtime.Instance, name: str) -> Any:
        """Return the item that an instance exports under this name, or None."""
        ...


# --- over slots


def over_slots(signature: HostSignature, function: Callable[..., Any], memory: GuestMemory) -> SlotFunction:
    """Return the host function with its arguments read from slots, and its result written there."""
    act: SlotFunction = _maker(signature)(function, memory)
    return act


@cache
def _maker(signature: HostSignature) -> Callable[[Callable[..., Any], GuestMemory], SlotFunction]:
    """Generate code for a signature: a loop over the arguments would cost more than most functions."""
    source = f"""
def make(function, memory):
    span, array, write, place, give = memory.span, memory.array, memory.write, memory.place, memory.place_span
    def act(slots):
        {_body(signature)}
    return act
"""
    scope: dict[str, Any] = {}
    exec(compile(source, f"<host function {signature}>", "exec"), scope)
    make: Callable[[Callable[..., Any], GuestMemory], SlotFunction] = scope["make"]
    return make


def _body(signature: HostSignature) -> str:
    arguments = ", ".join(_argument(kind, index) for index, kind in enumerate(signature.arguments))
    call = f"function({arguments})"
    if "buffer" in signature.arguments:
        buffer = f"slots[{SLOT_WORDS * signature.arguments.index('buffer')}] & {_LOW}"
        return f"written, result = {call}; write({buffer}, written); slots[0] = give(result)"
    match signature.result:
        case None:
            return call
        case "data":
            return f"slots[0] = give({call})"
        case "pointer":
            return f"slots[0] = place({call})"
        case _:
            return f"slots[0] = {call}"


def _argument(kind: str, index: int) -> str:
    slot = f"slots[{SLOT_WORDS * index}]"
    match kind:
        case "data":
            return f"span({slot})"
        case "buffer":
            return f"{slot} >> 32"
        case "u64":
            return slot
        case "u32":
            return f"{slot} & {_LOW}"
        case _:
            return f"array({slot} & {_LOW}, {ARRAY_SIZES[kind]})"  # type: ignore[index]


# --- the public API


class PublicBinding:
    """Callbacks and calls by wasmtime's documented API; twenty times slower."""

    def define(self, linker: wasmtime.Linker, name: str, kind: wasmtime.FuncType, make: Make) -> None:
        """Define the import `env`/`name`; `make` is called at its first use."""
        results = [str(result) for result in kind.results]
        act: SlotFunction | None = None

        def callback(*arguments: int) -> int | None:
            nonlocal act
            act = act or make()
            slots = [0] * (SLOT_WORDS * max(1, len(arguments)))
            for index, argument in enumerate(arguments):
                slots[SLOT_WORDS * index] = argument & _ALL
            act(slots)
            return _signed(slots[0], results[0]) if results else None

        linker.define_func("env", name, kind, callback)

    def call(self, store: wasmtime.Store, function: wasmtime.Func, arguments: Sequence[int]) -> int:
        """Call an exported function over i32; return its result, unsigned."""
        result = function(store, *(_signed(argument, "i32") for argument in arguments))
        return int(result or 0) & _ALL

    def caller(self, store: wasmtime.Store, function: wasmtime.Func) -> Callable[[int], int]:
        """Return a function of one i32 that calls no host function."""
        return lambda argument: self.call(store, function, (argument,))

    def export(self, store: wasmtime.Store, instance: wasmtime.Instance, name: str) -> Any:
        """Return the item that an instance exports under this name, or None.

        wasmtime creates an object of every export for it.
        """
        return instance.exports(store).get(name)


def _signed(number: int, kind: str) -> int:
    """Return the two's complement of this width."""
    width = 32 if kind == "i32" else 64
    number &= (1 << width) - 1
    return number - (1 << width) if number >> width - 1 else number
