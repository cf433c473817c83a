"""The names of assets and chains that a client may use: those of the runtime of the block in question.

The official node of a release has the assets and chains of its release in its types: it lists those, and
refuses a parameter with another one before it calls the runtime. cfnode supports many releases, so it takes
the names from the metadata of the block's runtime. Readers of parameters are plain functions; a reader that
needs the runtime raises RuntimeNeeded, and `read_with_runtime` then reads all parameters again with that
runtime's names. So a call that names no asset and no chain costs nothing extra.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from cfnode.core.assets import CHAINS
from cfnode.core.runtime_names import MAX_NAMED_RUNTIMES, OF_THIS_BUILD, RuntimeNames, names_of
from cfnode.rpc.table.blocks import AT, CLIENT_CALLS
from cfnode.rpc.table.rows import Row
from cfnode.rpc.table.serde_types import Read
from cfnode.runtime.calls import RuntimeCallError
from cfnode.store import StateDiscarded, UnknownBlock

if TYPE_CHECKING:
    from cfnode.node.node import Node

__all__ = [
    "RuntimeNames",
    "RuntimeNeeded",
    "current_names",
    "enum_of_chains",
    "names_at",
    "names_of",
    "read_with_runtime",
    "using_names",
]

T = TypeVar("T")
_NO_STATE: Final = (UnknownBlock, StateDiscarded, RuntimeCallError)
Arguments = list[Any] | dict[str, Any]


class RuntimeNeeded(Exception):
    """A parameter cannot be read without the runtime of the block."""


_current: Final[ContextVar[RuntimeNames | None]] = ContextVar("current_names", default=OF_THIS_BUILD)


def current_names() -> RuntimeNames:
    """Return the names for the parameter that is being read: by default those of this build.

    Raises RuntimeNeeded if the runtime is not available yet.
    """
    names = _current.get()
    if names is None:
        raise RuntimeNeeded
    return names


@contextmanager
def using_names(names: RuntimeNames | None) -> Iterator[None]:
    """Read parameters with the names of this runtime.

    With None, the first reader that needs the names raises.
    """
    token = _current.set(names)
    try:
        yield
    finally:
        _current.reset(token)


def enum_of_chains(
    kind: Callable[[str, Mapping[str, T]], Read], owner: str, variants: Mapping[str, T]
) -> Read:
    """Return the reader of an enum that accepts a chain's variant only if the runtime has that chain.

    `kind` makes the reader of an enum from its owner and variants.
    """

    @lru_cache(MAX_NAMED_RUNTIMES)
    def reader(chains: tuple[str, ...]) -> Read:
        return kind(
            owner,
            {name: variant for name, variant in variants.items() if name not in CHAINS or name in chains},
        )

    return lambda value: reader(current_names().chains)(value)


async def names_at(node: Node, block: bytes) -> RuntimeNames:
    """Return the names of a block's runtime. Raises what `runtime_at` raises."""
    return names_of((await node.chain.runtime_at(block)).metadata.registry)


async def read_with_runtime(node: Any, row: Row, arguments: Arguments, read: Callable[[], T]) -> T:
    """Return the result of `read()`, with the names of the runtime of the block that the call is about.

    `read` reads the arguments of a row.
    """
    try:
        with using_names(None):
            return read()
    except RuntimeNeeded:
        names = await _names_for(node, row, arguments)
    with using_names(names):
        return read()


async def _names_for(node: Node, row: Row, arguments: Arguments) -> RuntimeNames:
    """Return the names at the call's block.

    If that block has no state, those at the best block, and then those of this build.
    """
    best = node.chain.best.hash
    for block in (_block_of(row, arguments) or best, best):
        try:
            if block == best:
                return await names_at(node, best)
            async with CLIENT_CALLS.of(node):
                return await names_at(node, block)
        except _NO_STATE:
            continue
    return OF_THIS_BUILD


def _block_of(row: Row, arguments: Arguments) -> bytes | None:
    """Return the block in the parameter `at`, if it is present and well-formed."""
    if AT not in row.params:
        return None
    index = row.params.index(AT)
    if isinstance(arguments, list):
        value = arguments[index] if index < len(arguments) else None
    else:
        value = next((arguments[name] for name in AT.names if name in arguments), None)
    try:
        block: bytes | None = AT.convert(value)
    except ValueError:
        return None
    return block
