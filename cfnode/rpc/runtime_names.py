"""Which assets and chains may a client name? Those of the runtime of the block that it asks about.

The official node of a release has the assets and chains of its release in its types: it lists those, and a
parameter with another one is refused before anything is asked. A node of many releases has them from the
metadata of the block's runtime. Readers of parameters are plain functions; where one needs the runtime, it
raises RuntimeNeeded, and `read_with_runtime` reads all parameters again with that runtime at hand. So a call
that names no asset and no chain costs nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from cfnode.core.assets import ASSETS, CHAINS
from cfnode.core.scale import Registry, ScaleError
from cfnode.core.scale.types import Variants
from cfnode.rpc.blocks import AT, CLIENT_CALLS
from cfnode.rpc.serde_types import Read
from cfnode.rpc.table import Row
from cfnode.runtime.calls import RuntimeCallError
from cfnode.store import StateDiscarded, UnknownBlock

if TYPE_CHECKING:
    from cfnode.node.node import Node

__all__ = [
    "RuntimeNames",
    "RuntimeNeeded",
    "current_names",
    "names_at",
    "names_of",
    "enum_of_chains",
    "read_with_runtime",
    "using_names",
]

T = TypeVar("T")
MAX_RUNTIMES: Final = 8
"""Runtimes whose names are kept: a chain that is upgraded has two, and tests run several chains."""
_NO_STATE: Final = (UnknownBlock, StateDiscarded, RuntimeCallError)
Arguments = list[Any] | dict[str, Any]


class RuntimeNeeded(Exception):
    """A parameter cannot be read without the runtime of the block."""


@dataclass(frozen=True, slots=True)
class RuntimeNames:
    """The assets, in the order of an `AssetMap`, and the chains, in that of their numbers."""

    assets: tuple[str, ...]
    chains: tuple[str, ...]


def _in_order(assets: Sequence[str]) -> tuple[str, ...]:
    """Assets that this build does not know come last."""
    later = len(CHAINS) + 1, 0

    def place(name: str) -> tuple[int, int]:
        asset = ASSETS.get(name)
        return later if asset is None else (CHAINS[asset.chain].index, asset.chain_index)

    return tuple(sorted(assets, key=place))


_OF_THIS_BUILD: Final = RuntimeNames(_in_order(list(ASSETS)), tuple(CHAINS))
_known: Final[ContextVar[RuntimeNames | None]] = ContextVar("current_names", default=_OF_THIS_BUILD)
_kept: Final[dict[int, tuple[Registry, RuntimeNames]]] = {}
"""By the identity of the types, which cannot be another's as long as they are kept here."""


def current_names() -> RuntimeNames:
    """What the parameter that is being read may name: by default what this build knows.

    Raises RuntimeNeeded where the runtime is not at hand yet.
    """
    found = _known.get()
    if found is None:
        raise RuntimeNeeded
    return found


@contextmanager
def using_names(found: RuntimeNames | None) -> Iterator[None]:
    """Parameters are read by this runtime; with None, the first reader that needs one raises."""
    token = _known.set(found)
    try:
        yield
    finally:
        _known.reset(token)


def enum_of_chains(
    kind: Callable[[str, Mapping[str, T]], Read], owner: str, variants: Mapping[str, T]
) -> Read:
    """The reader of an enum (`kind`) that has a variant for a chain only if the runtime has the chain."""

    @lru_cache(MAX_RUNTIMES)
    def reader(chains: tuple[str, ...]) -> Read:
        return kind(
            owner, {name: each for name, each in variants.items() if name not in CHAINS or name in chains}
        )

    return lambda value: reader(current_names().chains)(value)


async def names_at(node: Node, block: bytes) -> RuntimeNames:
    """What the runtime of a block knows. Raises what `runtime_at` raises."""
    return names_of((await node.chain.runtime_at(block)).metadata.registry)


def names_of(registry: Registry) -> RuntimeNames:
    """What a runtime with these types knows."""
    key = id(registry)
    kept = _kept.get(key)
    if kept is None:
        while len(_kept) >= MAX_RUNTIMES:
            del _kept[next(iter(_kept))]
        kept = _kept[key] = registry, _of(registry)
    return kept[1]


def _of(registry: Registry) -> RuntimeNames:
    """A runtime that has no assets is not Chainflip's: no name is refused for it."""
    try:
        return RuntimeNames(_in_order(_cases(registry, "any", "Asset")), _cases(registry, "chains", "ForeignChain"))
    except ScaleError:
        return _OF_THIS_BUILD


def _cases(registry: Registry, *path: str) -> tuple[str, ...]:
    definition = registry.find(*path).definition
    assert isinstance(definition, Variants)
    return tuple(case.name for case in sorted(definition.variants, key=lambda case: case.index))


async def read_with_runtime(node: Any, row: Row, given: Arguments, read: Callable[[], T]) -> T:
    """`read()`, which reads what was given to a row, by the runtime of the block that the call is about."""
    try:
        with using_names(None):
            return read()
    except RuntimeNeeded:
        found = await _known_for(node, row, given)
    with using_names(found):
        return read()


async def _known_for(node: Node, row: Row, given: Arguments) -> RuntimeNames:
    """Of a block without state the best one's; a chain that has none yet refuses no name."""
    best = node.chain.best.hash
    for block in (_asked_about(row, given) or best, best):
        try:
            if block == best:
                return await names_at(node, best)
            async with CLIENT_CALLS:
                return await names_at(node, block)
        except _NO_STATE:
            continue
    return _OF_THIS_BUILD


def _asked_about(row: Row, given: Arguments) -> bytes | None:
    """The block that the parameter `at` names, if there is one and it can be read."""
    if AT not in row.params:
        return None
    index = row.params.index(AT)
    if isinstance(given, list):
        value = given[index] if index < len(given) else None
    else:
        value = next((given[name] for name in AT.names if name in given), None)
    try:
        found: bytes | None = AT.convert(value)
    except ValueError:
        return None
    return found
