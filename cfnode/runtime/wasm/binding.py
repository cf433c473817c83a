"""How does WebAssembly call Python, a quarter of a million times in a block?

wasmtime's public way builds value and type objects for every call: 8 µs. Below it lies the C interface's
*unchecked* one, which passes an array of 16-byte slots: 0.3 µs. Its symbols belong to wasmtime, but their
Python form does not, so it is used with the versions it was tested with, and the public way stays as the one
that always works. Both run the same code over slots.

The unchecked way stands in `raw.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol

import wasmtime

from cfnode.runtime.wasm.host import Signature
from cfnode.runtime.wasm.host.signature import ARRAY_SIZES
from cfnode.runtime.wasm.memory import GuestMemory

__all__ = ["SLOT_WORDS", "Act", "Binding", "Make", "PublicBinding", "over_slots"]

Slots = Any
"""64-bit numbers of which every second counts: `slots[2 * i]` is argument i, `slots[0]` the result."""
Act = Callable[[Slots], None]
Make = Callable[[], Act]

_LOW, _ALL = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
SLOT_WORDS = 2


class Binding(Protocol):
    """A way between the two worlds."""

    def define(self, linker: wasmtime.Linker, name: str, kind: wasmtime.FuncType, make: Make) -> None:
        """Let the import `env`/`name` act. What it does is made at its first call: most are never called."""
        ...

    def call(self, store: wasmtime.Store, function: wasmtime.Func, arguments: Sequence[int]) -> int:
        """Call an exported function over i32; its result, unsigned.

        Raises what an `act` raised, Trap and WasmtimeError.
        """
        ...

    def caller(self, store: wasmtime.Store, function: wasmtime.Func) -> Callable[[int], int]:
        """A function of one i32 that calls no host function, made ready for being called often."""
        ...

    def export(self, store: wasmtime.Store, instance: wasmtime.Instance, name: str) -> Any:
        """What an instance exports under this name, or None."""
        ...


# --- over slots


def over_slots(signature: Signature, function: Callable[..., Any], memory: GuestMemory) -> Act:
    """The host function with its arguments taken from slots, its result put there."""
    act: Act = _maker(signature)(function, memory)
    return act


@cache
def _maker(signature: Signature) -> Callable[[Callable[..., Any], GuestMemory], Act]:
    """Written out for each signature, since a loop over the arguments would cost more than most functions."""
    source = f"""
def make(function, memory):
    span, array, write, place, give = memory.span, memory.array, memory.write, memory.place, memory.give
    def act(slots):
        {_body(signature)}
    return act
"""
    scope: dict[str, Any] = {}
    exec(compile(source, f"<host function {signature}>", "exec"), scope)
    make: Callable[[Callable[..., Any], GuestMemory], Act] = scope["make"]
    return make


def _body(signature: Signature) -> str:
    arguments = ", ".join(_argument(kind, index) for index, kind in enumerate(signature.arguments))
    call = f"function({arguments})"
    if "room" in signature.arguments:
        room = f"slots[{SLOT_WORDS * signature.arguments.index('room')}] & {_LOW}"
        return f"written, result = {call}; write({room}, written); slots[0] = give(result)"
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
        case "room":
            return f"{slot} >> 32"
        case "u64":
            return slot
        case "u32":
            return f"{slot} & {_LOW}"
        case _:
            return f"array({slot} & {_LOW}, {ARRAY_SIZES[kind]})"  # type: ignore[index]


# --- the public way


class PublicBinding:
    """Callbacks and calls as wasmtime's own documentation shows them; twenty times slower."""

    def define(self, linker: wasmtime.Linker, name: str, kind: wasmtime.FuncType, make: Make) -> None:
        """As `Binding.define`."""
        results = [str(result) for result in kind.results]
        act: Act | None = None

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
        """As `Binding.call`."""
        result = function(store, *(_signed(argument, "i32") for argument in arguments))
        return int(result or 0) & _ALL

    def caller(self, store: wasmtime.Store, function: wasmtime.Func) -> Callable[[int], int]:
        """As `Binding.caller`."""
        return lambda argument: self.call(store, function, (argument,))

    def export(self, store: wasmtime.Store, instance: wasmtime.Instance, name: str) -> Any:
        """As `Binding.export`; makes an object of every export to give one."""
        return instance.exports(store).get(name)


def _signed(number: int, kind: str) -> int:
    """As the two's complement of this width."""
    width = 32 if kind == "i32" else 64
    number &= (1 << width) - 1
    return number - (1 << width) if number >> width - 1 else number
