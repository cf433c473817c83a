"""What processes of a test run compute alike: geneses, runtimes and metadata of development chains.

Each is a function of its arguments alone. A test process remembers the last results; a fork server has
those of the default chain before it forks, so that each node and executor finds them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

KEPT = 4
FUNCTIONS = (
    ("cfnode.devchain.genesis", "dev_chain_spec"),
    ("cfnode.devchain.runtime.runtime", "development_runtime"),
    ("cfnode.node.chain.runtime_info", "_decode_and_compile"),
)


def remember(put: Callable[[Any, str, Any], None] = setattr) -> None:
    """Let these functions keep their last results; `put` sets an attribute of a module."""
    for name, function in FUNCTIONS:
        module = import_module(name)
        put(module, function, lru_cache(maxsize=KEPT)(getattr(module, function)))


def prepare() -> None:
    """Compute what a default development chain needs; after `remember`."""
    from cfnode.core.scale import ByteCursor
    from cfnode.core.state import CODE
    from cfnode.devchain import genesis
    from cfnode.devchain.runtime import runtime
    from cfnode.node.chain import runtime_info
    from cfnode.runtime.journal import Journal
    from tests.runtime.memory_state import MemoryState

    state = MemoryState(dict(genesis.load_spec(genesis.DEVELOPMENT, None, ()).genesis.top))
    code = state.get(CODE)
    assert code is not None
    version = (15).to_bytes(4, "little")
    cursor = ByteCursor(
        runtime.development_runtime(code).call("Metadata_metadata_at_version", version, Journal(state))
    )
    assert cursor.boolean()
    runtime_info._decode_and_compile(cursor.bytes())
