"""Names of the assets and chains of a runtime, read from the enums in its metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cfnode.core.assets import ASSETS, CHAINS
from cfnode.core.bounded import BoundedDict
from cfnode.core.scale import ScaleError, TypeRegistry
from cfnode.core.scale.types import Variants

__all__ = ["MAX_NAMED_RUNTIMES", "OF_THIS_BUILD", "RuntimeNames", "names_of"]

MAX_NAMED_RUNTIMES: Final = 8
"""Runtimes whose names are cached: a chain with an upgrade has two, and tests run several chains."""


@dataclass(frozen=True, slots=True)
class RuntimeNames:
    """The assets, in the order of an `AssetMap`, and the chains, in that of their numbers."""

    assets: tuple[str, ...]
    chains: tuple[str, ...]


def _in_order(assets: Sequence[str]) -> tuple[str, ...]:
    """Return the names of assets in the order of their chains; those unknown to this build come last."""
    unknown_place = len(CHAINS) + 1, 0

    def place(name: str) -> tuple[int, int]:
        asset = ASSETS.get(name)
        return unknown_place if asset is None else (CHAINS[asset.chain].index, asset.chain_index)

    return tuple(sorted(assets, key=place))


OF_THIS_BUILD: Final = RuntimeNames(_in_order(list(ASSETS)), tuple(CHAINS))
_cached: Final[BoundedDict[int, tuple[TypeRegistry, RuntimeNames]]] = BoundedDict(MAX_NAMED_RUNTIMES)
"""By the id() of the registry, which is unique as long as the registry is kept here."""


def names_of(registry: TypeRegistry) -> RuntimeNames:
    """Return the names of the runtime that has these types."""
    key = id(registry)
    cached = _cached.get(key)
    if cached is None:
        cached = _cached[key] = registry, _read_names(registry)
    return cached[1]


def _read_names(registry: TypeRegistry) -> RuntimeNames:
    """Return the names in the enums of a type table.

    A runtime without such enums is not Chainflip's: it gets the names of this build.
    """
    try:
        assets = _in_order(_cases(registry, "any", "Asset"))
        return RuntimeNames(assets, _cases(registry, "chains", "ForeignChain"))
    except ScaleError:
        return OF_THIS_BUILD


def _cases(registry: TypeRegistry, *path: str) -> tuple[str, ...]:
    definition = registry.find(*path).definition
    assert isinstance(definition, Variants)
    return tuple(case.name for case in sorted(definition.variants, key=lambda case: case.index))
