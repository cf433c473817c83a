"""The type of a release: everything in which releases of the runtime differ.

Each release is one value (`releases`), with its chains and assets, and the `rules` that its pallets follow.
Nothing else compares version numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from cfnode.core.assets import ForeignAsset, vault_swap_chains

from .chains import ASSET_TERMS, DOLLAR, ChainInstance
from .rules import Rules
from .values import SemVer

__all__ = ["Number", "Release", "number"]

T = TypeVar("T")
Number = tuple[int, ...]


def number(release: str) -> Number:
    """Return a release's name as a number that compares: (2, 2, 9)."""
    return tuple(map(int, release.split(".")))


@dataclass(frozen=True, eq=False)
class Release:
    """One release: its number, and what it knows.

    `chains` stand in the order of their hooks, `assets` in that of their discriminants. The main net has left
    the chains in `left`: deposits are refused, and their assets have no pool.
    """

    name: str
    spec_version: int
    api_versions: Mapping[str, int]
    chains: Mapping[str, ChainInstance]
    assets: tuple[ForeignAsset, ...]
    left: frozenset[str]
    rules: Rules

    @cached_property
    def number(self) -> Number:
        """The name as a number that compares: (2, 2, 9)."""
        return number(self.name)

    @property
    def semver(self) -> SemVer:
        """The number as a value of `SemVer`."""
        major, minor, patch = self.number
        return SemVer(major=major, minor=minor, patch=patch)

    def dollars(self, amount: int) -> list[tuple[str, int]]:
        """Return an amount of dollars in each token that is worth a dollar, in the token's smallest unit."""
        return [
            (asset.name, amount * 10**asset.decimals)
            for asset in self.assets
            if ASSET_TERMS[asset.name].price == DOLLAR
        ]

    @property
    def vault_swap_chains(self) -> list[str]:
        """The chains whose vaults take swaps, in the order of the types that list them."""
        return [name for name in vault_swap_chains() if name in self.chains]

    def assets_of(self, chain: str) -> tuple[ForeignAsset, ...]:
        """Return the assets of one chain, in the order of the chain's own enum."""
        return tuple(
            sorted((asset for asset in self.assets if asset.chain == chain), key=lambda a: a.chain_index)
        )

    @cached_property
    def asset_names(self) -> tuple[str, ...]:
        """The names of the assets, in the order of an `AssetMap`."""
        return tuple(asset.name for chain in self.chains for asset in self.assets_of(chain))

    def asset_map(self, value: Callable[[str], T]) -> dict[str, dict[str, T]]:
        """Return the value of an `AssetMap`, with `value(name)` for each asset."""
        return {
            chain.module: {asset.symbol.lower(): value(asset.name) for asset in self.assets_of(name)}
            for name, chain in self.chains.items()
        }
