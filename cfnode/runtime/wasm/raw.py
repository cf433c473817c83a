"""The binding over wasmtime's C API, which passes slots without the public API (`binding.py`).

Two rules apply to a raw callback. No exception may leave it: ctypes would print it, and WebAssembly would
continue with undefined data; so every exception is caught, stored, and raised again when the outermost call
returns. And the upper half of a slot with an i32 is undefined.

wasmtime C API: `wasmtime_linker_define_func_unchecked`, `wasmtime_func_call_unchecked`,
`wasmtime_instance_export_get`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import wasmtime
from wasmtime import _bindings, _ffi
from wasmtime._extern import wrap_extern

from cfnode.runtime.wasm.binding import SLOT_WORDS, Make, SlotFunction

__all__ = ["RawBinding"]

_library = ctypes.CDLL(_bindings.dll._name)  # type: ignore[attr-defined]
_Callback = ctypes.CFUNCTYPE(
    ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64), ctypes.c_size_t
)
_Error = ctypes.POINTER(_ffi.wasmtime_error_t)
_TrapPointer = ctypes.POINTER(_ffi.wasm_trap_t)


def _declare(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(_library, name)
    function.restype, function.argtypes = result, arguments
    return function


_define = _declare(
    "wasmtime_linker_define_func_unchecked", _Error,
    ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p,
    _Callback, ctypes.c_void_p, ctypes.c_void_p,
)  # fmt: skip
_call = _declare(
    "wasmtime_func_call_unchecked", ctypes.c_void_p,  # an error, mostly None: a typed pointer takes longer
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p,
)  # fmt: skip
_export = _declare(
    "wasmtime_instance_export_get", ctypes.c_bool,
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p,
)  # fmt: skip
_trap_new = _declare("wasmtime_trap_new", ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
_TRAP = b"a host function failed"


class RawBinding:
    """Callbacks and calls over raw slots. The callbacks live as long as this object does."""

    def __init__(self) -> None:
        self._kept: list[Any] = []
        self._raised: BaseException | None = None

    def define(self, linker: wasmtime.Linker, name: str, kind: wasmtime.FuncType, make: Make) -> None:
        """Define the import `env`/`name`; `make` is called at its first use. Raises WasmtimeError."""
        act: SlotFunction | None = None

        def callback(_environment: int, _caller: int, slots: Any, _count: int) -> int:
            nonlocal act
            try:
                if act is None:
                    act = make()
                act(slots)
                return 0
            except BaseException as error:
                self._raised = error
                return int(_trap_new(_TRAP, len(_TRAP)))

        pointer = _Callback(callback)
        self._kept.append(pointer)
        encoded_name = name.encode()
        error = _define(
            _address(linker), b"env", 3, encoded_name, len(encoded_name), _address(kind), pointer, None, None
        )
        if error:
            raise wasmtime.WasmtimeError._from_ptr(error)

    def call(self, store: wasmtime.Store, function: wasmtime.Func, arguments: Sequence[int]) -> int:
        """Call an exported function over i32; return its result, unsigned.

        Raises what a host function raised, Trap and WasmtimeError.
        """
        slots = (ctypes.c_uint64 * (SLOT_WORDS * max(1, len(arguments))))()
        for index, argument in enumerate(arguments):
            slots[SLOT_WORDS * index] = argument
        trap = _TrapPointer()
        context = ctypes.cast(store._context(), ctypes.c_void_p)
        error = _call(
            context, ctypes.byref(function._func), slots, len(slots) // SLOT_WORDS, ctypes.byref(trap)
        )
        if error or trap or self._raised is not None:
            self._fail(error, trap)
        return int(slots[0])

    def caller(self, store: wasmtime.Store, function: wasmtime.Func) -> Callable[[int], int]:
        """Return a function of one i32 that calls no host function, prepared for frequent calls.

        Everything that does not depend on the argument is created once.
        """
        context = ctypes.cast(store._context(), ctypes.c_void_p)
        pointer, slots, trap = ctypes.byref(function._func), (ctypes.c_uint64 * SLOT_WORDS)(), _TrapPointer()
        trapped = ctypes.byref(trap)

        def call(argument: int) -> int:
            slots[0] = argument
            error = _call(context, pointer, slots, 1, trapped)
            if error or trap:
                self._fail(error, trap)
            return slots[0]

        return call

    def export(self, store: wasmtime.Store, instance: wasmtime.Instance, name: str) -> Any:
        """Return the item that an instance exports under this name, or None."""
        exported = _ffi.wasmtime_extern_t()
        encoded_name = name.encode()
        pointer = ctypes.byref(instance._instance)
        if not _export(
            ctypes.cast(store._context(), ctypes.c_void_p),
            pointer,
            encoded_name,
            len(encoded_name),
            ctypes.byref(exported),
        ):
            return None
        return wrap_extern(exported)

    def _fail(self, error: Any, trap: Any) -> NoReturn:
        failure: Exception = (
            wasmtime.WasmtimeError._from_ptr(ctypes.cast(error, _Error))
            if error
            else wasmtime.Trap._from_ptr(trap)
            if trap
            else wasmtime.WasmtimeError("a host function failed and the call went on")
        )
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised from None
        raise failure


def _address(thing: Any) -> ctypes.c_void_p:
    return ctypes.cast(thing.ptr(), ctypes.c_void_p)
