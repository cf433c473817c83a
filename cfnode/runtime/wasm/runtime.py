"""Runtime calls in WebAssembly: a fresh instance for each call, and the errors of its failures.

Each call gets a fresh instance with the arguments in its memory; the entry point returns the output, while
host functions work on the call's journal. A failure becomes an error with the runtime's own panic text, if
there is one.

Polkadot spec, "Runtime APIs" (calling convention) and "Host API".
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from importlib import import_module
from importlib.resources import files
from typing import NoReturn

import wasmtime

from cfnode.core.state import HEAP_PAGES
from cfnode.core.trie import EMPTY_ROOT, MissingNode, ProofState, TrieError
from cfnode.runtime.calls import (
    Deadline,
    HostFault,
    OutOfMemory,
    RuntimeCallError,
    RuntimeTrap,
    UnknownFunction,
    UnsupportedCode,
)
from cfnode.runtime.journal import Journal
from cfnode.runtime.wasm.artefacts import Artefacts, directory
from cfnode.runtime.wasm.binding import Binding, PublicBinding
from cfnode.runtime.wasm.code import embedded_version, expand
from cfnode.runtime.wasm.engine import EPOCH_TICK_S, WASMTIME
from cfnode.runtime.wasm.host import HostError, HostFunctions
from cfnode.runtime.wasm.instance import LoadedModule, trap_place
from cfnode.runtime.wasm.own_memory import with_own_memory
from cfnode.store import StoreError

__all__ = ["WasmRuntime", "wasm_runtime"]

MAX_CALL_RUN_S = 25.0
"""Seconds that a call may run; the node's own limit is a little longer."""

MAX_BLOCK_RUN_S = 55.0
"""Seconds that a whole block may run."""

USUAL_HEAP_PAGES = 2048
"""Heap pages of 64 KiB beyond the first ones, if the state does not set them."""

MAX_HEAP_PAGES = 4096
"""The highest number that a state may set: 256 MiB."""

_TESTED_WITH_RAW = ("50.0.1",)
_BLOCK = "Core_execute_block"


def wasm_runtime(code: bytes) -> WasmRuntime:
    """Return the runtime of this `:code`. Raises UnsupportedCode."""
    return WasmRuntime(code, Artefacts(directory()))


class WasmRuntime:
    """A runtime in WebAssembly; implements `calls.Runtime`. It is loaded, or compiled, at its first call."""

    def __init__(
        self,
        code: bytes,
        artefacts: Artefacts,
        *,
        binding: Binding | None = None,
        call_s: float = MAX_CALL_RUN_S,
        block_s: float = MAX_BLOCK_RUN_S,
    ) -> None:
        self._code, self._artefacts, self._binding = code, artefacts, binding
        self._call_s, self._block_s = call_s, block_s

    @cached_property
    def loaded(self) -> LoadedModule:
        """The module, compiled and bound."""
        module = self._artefacts.load(self._code, lambda code: with_own_memory(expand(code)))
        bridge, shim = (
            self._artefacts.load((files(__package__) / name).read_bytes(), lambda text: text)
            for name in ("bridge.wat", "shim.wat")
        )
        host = HostFunctions(self._version_of)
        return LoadedModule(module, bridge, shim, host, self._binding or _best_binding())

    @cached_property
    def _version(self) -> bytes:
        embedded = embedded_version(expand(self._code))
        return (
            self.call("Core_version", b"", Journal(ProofState(EMPTY_ROOT, [])))
            if embedded is None
            else embedded
        )

    def version(self) -> bytes:
        """Return the SCALE RuntimeVersion."""
        return self._version

    def call(self, function: str, args: bytes, journal: Journal) -> bytes:
        """Return the SCALE output of an entry point; writes go to the journal.

        Raises verdicts (UnknownFunction, RuntimeTrap) and local faults. An unexpected exception of a host
        function is a bug in this node: unlike a trap, it is no verdict on the block, which other nodes may
        well execute.
        """
        try:
            return self._call(function, args, journal)
        except (RuntimeCallError, MissingNode, TrieError, StoreError):
            raise
        except MemoryError:
            raise OutOfMemory(f"no memory is left for {function}") from None
        except Exception as error:
            raise HostFault(f"{function}: {type(error).__name__}: {error}") from error

    def _call(self, function: str, args: bytes, journal: Journal) -> bytes:
        loaded = self.loaded
        if function not in loaded.functions:
            raise UnknownFunction(function)
        seconds = self._block_s if function == _BLOCK else self._call_s
        ticks = max(1, round(seconds / EPOCH_TICK_S)) + 1  # the present epoch is already running
        loaded.host.enter(journal)
        try:
            with loaded.instance(_heap_pages(journal), ticks) as instance:
                return instance.call(function, args)
        except wasmtime.Trap as trap:
            if trap.trap_code is wasmtime.TrapCode.INTERRUPT:
                raise Deadline(function, seconds) from None
            self._trapped(function, _reason(trap))
        except (wasmtime.WasmtimeError, HostError) as error:
            self._trapped(function, str(error))
        finally:
            loaded.host.leave()

    def prepare(self) -> None:
        """Create the instance of the next call in advance, if the module is loaded."""
        if "loaded" in self.__dict__:
            self.loaded.prepare()

    def _trapped(self, function: str, reason: str) -> NoReturn:
        messages = [line for line in self.loaded.host.messages if line]
        raise RuntimeTrap(f"{function}: {' / '.join(messages) or reason}") from None

    def _version_of(self, code: bytes) -> bytes | None:
        """Return the version of new code that this runtime is about to put into the state.

        None for invalid code. None affects the result of the block, so it must not stand for a local fault
        such as Deadline.
        """
        try:
            return WasmRuntime(code, self._artefacts).version()
        except (UnsupportedCode, RuntimeTrap, UnknownFunction):
            return None


def _best_binding() -> Binding:
    """Return the fastest binding that is known to work with the installed wasmtime."""
    if WASMTIME not in _TESTED_WITH_RAW:
        return PublicBinding()
    binding: Binding = import_module("cfnode.runtime.wasm.raw").RawBinding()
    return binding


def _heap_pages(journal: Journal) -> int:
    """Return the heap pages that the state sets.

    The default if a proof lacks the value, or it is malformed.
    """
    with suppress(MissingNode):
        value = journal.get(HEAP_PAGES)
        if value is not None and len(value) == 8:
            return min(int.from_bytes(value, "little"), MAX_HEAP_PAGES)
    return USUAL_HEAP_PAGES


_SHIM_TRAPS = {
    "out_of_memory": "it allocates more memory than its limit",
    "too_large": "it allocates more than 32 MiB at once",
    "not_allocated": "it frees memory that was never allocated, or was overwritten",
}


def _reason(trap: wasmtime.Trap) -> str:
    """Return the reason of a trap.

    By the shim's function that trapped, or wasmtime's text after its frames.
    """
    place = trap_place(trap)
    if place in _SHIM_TRAPS:
        return _SHIM_TRAPS[place]
    lines = [line.strip() for line in trap.message.splitlines() if line.strip()]
    return lines[-1].removeprefix("1: ") if lines else "trap"
