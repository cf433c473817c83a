"""What is a release of the runtime?

Each release is one value (`releases`); everything that differs between two of them is read from it, so that
nothing else compares version numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from cfnode.core.assets import ASSETS, Asset

from .chains import ChainInstance
from .values import SemVer

__all__ = ["Number", "Release", "Rules", "TronEnergy", "number"]

T = TypeVar("T")
Number = tuple[int, ...]


def number(release: str) -> Number:
    """A release's name as a number that compares: (2, 2, 9)."""
    return tuple(map(int, release.split(".")))


@dataclass(frozen=True, slots=True)
class TronEnergy:
    """Energy with which fees on Tron are estimated, beyond that of a batch: what each part of it takes."""

    fetch_token: int
    transfer: int
    transfer_token: int
    message: int


@dataclass(frozen=True, slots=True)
class Rules:
    """What pallets do in one release and not in another."""

    tron_energy: TronEnergy = TronEnergy(66_000, 15_000, 80_000, 45_000)
    tron_addresses_in_advance: bool = False
    """Addresses of deposit channels on Tron are kept back for accounts before they ask for them."""
    minimum_limit_orders: bool = False
    """A limit order must not be left with less than the least amount of its asset."""
    rejections_below_dust_fail: bool = False
    """A rejected deposit of which no more than dust is left is not sent back."""
    pending_swaps_bind_providers: bool = False
    """A liquidity provider keeps its role as long as a swap on the chain is its own."""
    withdrawals_share_checks: bool = False
    """Fees of brokers and affiliates are checked alike: safe mode, funds, whether the address is allowed."""
    funding_moves_flip: bool = False
    """FLIP that an account gets from the vault is due to the gateway at once, not when its swap is done."""


@dataclass(frozen=True, eq=False)
class Release:
    """One release: its number, and what it knows.

    `chains` stand in the order of their hooks, `assets` in that of their discriminants. The main net has left
    the chains in `left`: deposits are refused, and their assets have no pool. `dollar_tokens` are the tokens
    of a dollar, by discriminant: the first limits of many things.
    """

    name: str
    spec_version: int
    api_versions: Mapping[str, int]
    chains: Mapping[str, ChainInstance]
    assets: tuple[Asset, ...]
    left: frozenset[str]
    dollar_tokens: tuple[str, ...]
    rules: Rules = Rules()

    @cached_property
    def number(self) -> Number:
        """The name as a number that compares: (2, 2, 9)."""
        return number(self.name)

    @property
    def semver(self) -> SemVer:
        """The number as a value of `SemVer`."""
        major, minor, patch = self.number
        return SemVer(major=major, minor=minor, patch=patch)

    def has(self, release: str) -> bool:
        """Whether what came with a release is in this one."""
        return self.number >= number(release)

    def dollars(self, amount: int) -> list[tuple[str, int]]:
        """An amount of dollars in each of their tokens, in its smallest unit."""
        return [(token, amount * 10 ** ASSETS[token].decimals) for token in self.dollar_tokens]

    def assets_of(self, chain: str) -> tuple[Asset, ...]:
        """The assets of one chain, in the order of the chain's own enum."""
        return tuple(sorted((a for a in self.assets if a.chain == chain), key=lambda a: a.chain_index))

    @cached_property
    def asset_names(self) -> tuple[str, ...]:
        """The names of the assets, in the order of an `AssetMap`."""
        return tuple(asset.name for chain in self.chains for asset in self.assets_of(chain))

    def asset_map(self, value: Callable[[str], T]) -> dict[str, dict[str, T]]:
        """The value of an `AssetMap`: one for each asset, by its name."""
        return {
            chain.module: {a.symbol.lower(): value(a.name) for a in self.assets_of(name)}
            for name, chain in self.chains.items()
        }
