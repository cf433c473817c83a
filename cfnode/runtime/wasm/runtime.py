"""How does WebAssembly answer at the door?

One call: a fresh instance, the arguments in its memory, the entry point, its output; host functions work on
the call's journal meanwhile. However it fails, it fails by an error that says what the runtime did: its own
panic text where it has said one.

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
from cfnode.runtime.wasm.engine import TICK_S, WASMTIME
from cfnode.runtime.wasm.host import Host, HostError
from cfnode.runtime.wasm.instance import LoadedModule, trap_place
from cfnode.store import StoreError

__all__ = ["WasmRuntime", "wasm_runtime"]

CALL_S = 25.0
"""Seconds that a call may run; the node's own patience is a little longer."""

BLOCK_S = 55.0
"""The same for a whole block."""

USUAL_HEAP_PAGES = 2048
"""Pages of 64 KiB beyond its first ones that a runtime may have, where the state does not say."""

MAX_HEAP_PAGES = 4096
"""What a state may ask for: 256 MiB."""

_TESTED_WITH_RAW = ("50.0.1",)
_BLOCK = "Core_execute_block"


def wasm_runtime(code: bytes) -> WasmRuntime:
    """The runtime of this `:code`; raises UnsupportedCode."""
    return WasmRuntime(code, Artefacts(directory()))


class WasmRuntime:
    """Code behind the door; implements `door.Runtime`. Loaded, or compiled, when it is first called."""

    def __init__(
        self,
        code: bytes,
        artefacts: Artefacts,
        *,
        binding: Binding | None = None,
        call_s: float = CALL_S,
        block_s: float = BLOCK_S,
    ) -> None:
        self._code, self._artefacts, self._binding = code, artefacts, binding
        self._call_s, self._block_s = call_s, block_s

    @cached_property
    def loaded(self) -> LoadedModule:
        """The module, compiled and bound."""
        module = self._artefacts.load(self._code)
        shim = self._artefacts.load((files(__package__) / "shim.wat").read_bytes(), lambda text: text)
        return LoadedModule(module, shim, Host(self._version_of), self._binding or _best_binding())

    @cached_property
    def _version(self) -> bytes:
        embedded = embedded_version(expand(self._code))
        return (
            self.call("Core_version", b"", Journal(ProofState(EMPTY_ROOT, [])))
            if embedded is None
            else embedded
        )

    def version(self) -> bytes:
        """SCALE RuntimeVersion."""
        return self._version

    def call(self, function: str, args: bytes, journal: Journal) -> bytes:
        """As `door.Runtime.call`. Raises the local faults too.

        What a host function raises without meaning to is a mistake of this node's: unlike a trap, it says
        nothing of the block, which other nodes may well execute.
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
        ticks = max(1, round(seconds / TICK_S)) + 1  # the present epoch is already running
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
        """As `door.Prepares.prepare`."""
        if "loaded" in self.__dict__:
            self.loaded.prepare()

    def _trapped(self, function: str, reason: str) -> NoReturn:
        words = [line for line in self.loaded.host.words if line]
        raise RuntimeTrap(f"{function}: {' / '.join(words) or reason}") from None

    def _version_of(self, code: bytes) -> bytes | None:
        """The version of code that this runtime is asked to put into the state.

        None decides what becomes of the block, so it must not stand for a local fault such as Deadline.
        """
        try:
            return WasmRuntime(code, self._artefacts).version()
        except (UnsupportedCode, RuntimeTrap, UnknownFunction):
            return None


def _best_binding() -> Binding:
    """The fastest one that is known to work with the wasmtime at hand."""
    if WASMTIME not in _TESTED_WITH_RAW:
        return PublicBinding()
    binding: Binding = import_module("cfnode.runtime.wasm.raw").RawBinding()
    return binding


def _heap_pages(journal: Journal) -> int:
    """How many pages the state grants; what a proof does not show, or what is no number, is the default."""
    with suppress(MissingNode):
        value = journal.get(HEAP_PAGES)
        if value is not None and len(value) == 8:
            return min(int.from_bytes(value, "little"), MAX_HEAP_PAGES)
    return USUAL_HEAP_PAGES


_SHIM_TRAPS = {
    "out_of_memory": "it wants more memory than it may have",
    "too_large": "it wants more than 32 MiB at once",
    "not_allocated": "it frees memory that was never allocated, or was overwritten",
}


def _reason(trap: wasmtime.Trap) -> str:
    """What the shim says by its functions' names, or wasmtime behind its list of frames."""
    place = trap_place(trap)
    if place in _SHIM_TRAPS:
        return _SHIM_TRAPS[place]
    lines = [line.strip() for line in trap.message.splitlines() if line.strip()]
    return lines[-1].removeprefix("1: ") if lines else "trap"
