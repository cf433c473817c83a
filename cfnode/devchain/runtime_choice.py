"""Choice of the runtime that runs the `:code` of a state: the development runtime, or WebAssembly.

A development chain's `:code` begins with its own prefix; all other code is WebAssembly. Every node that the
command line starts, on the main net too, chooses its runtime here.
"""

from __future__ import annotations

from cfnode.core.chainspec import ChainSpec, RawGenesis
from cfnode.core.state import CODE
from cfnode.runtime.calls import Runtime

__all__ = ["RUNTIMES", "runs_development", "runtime_for"]

RUNTIMES = f"{__name__}:runtime_for"
"""The name of `runtime_for`, for the executor process."""

_MARK = b"cfnode-dev:"


def runtime_for(code: bytes) -> Runtime:
    """Return the runtime of this `:code`. Raises UnsupportedCode."""
    if code.startswith(_MARK):
        # Imported late: it is large, and a node on the main net never needs it.
        from cfnode.devchain.runtime.runtime import development_runtime

        return development_runtime(code)
    # Imported late: wasmtime is large, and neither the node itself nor a development chain needs it.
    from cfnode.runtime.wasm.runtime import wasm_runtime

    return wasm_runtime(code)


def runs_development(spec: ChainSpec) -> bool:
    """Return whether a chain begins in the development runtime."""
    genesis = spec.genesis
    return isinstance(genesis, RawGenesis) and genesis.top.get(CODE, b"").startswith(_MARK)
