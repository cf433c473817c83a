"""The engine of wasmtime: the settings for a runtime, and the epochs that end a call that never returns.

The settings that affect results are Substrate's: canonical NaN, a stack of 1 MiB, no vector instructions, no
threads. A clock thread counts *epochs*; a call that is still in WebAssembly when its epochs are used up
traps. Epochs do not interrupt a host function: the node limits the whole call, and kills the process.
"""

from __future__ import annotations

import threading
import time
from functools import cache
from hashlib import blake2b
from importlib.metadata import version

import wasmtime

__all__ = ["EPOCH_TICK_S", "WASMTIME", "engine", "fingerprint"]

WASMTIME = version("wasmtime")

EPOCH_TICK_S = 0.5
"""Seconds of an epoch."""

_STACK = 1 << 20

_SETTINGS: dict[str, bool | int | str] = {
    "strategy": "cranelift",
    "cranelift_opt_level": "speed",
    "cranelift_nan_canonicalization": True,
    "max_wasm_stack": _STACK,
    "epoch_interruption": True,
    "wasm_relaxed_simd": False,
    "wasm_simd": False,
    "wasm_threads": False,
    "wasm_memory64": False,
    "wasm_component_model": False,
    "wasm_multi_memory": True,  # the shim's; a runtime of ours has one memory, or is refused
}


_FORM = "own memory"
"""The change that is made to a module before it is compiled (`own_memory.py`)."""


def fingerprint() -> str:
    """Return a hash, in 16 hex digits, of everything but the module that compiled code depends on."""
    return blake2b(f"{WASMTIME} {sorted(_SETTINGS.items())} {_FORM}".encode(), digest_size=8).hexdigest()


@cache
def engine() -> wasmtime.Engine:
    """Return the process's engine; its epochs are counted from the first call on."""
    config = wasmtime.Config()
    for name, value in _SETTINGS.items():
        setattr(config, name, value)
    new_engine = wasmtime.Engine(config)
    threading.Thread(target=_count_epochs, args=(new_engine,), daemon=True).start()
    return new_engine


def _count_epochs(counted: wasmtime.Engine) -> None:
    while True:
        time.sleep(EPOCH_TICK_S)
        counted.increment_epoch()
