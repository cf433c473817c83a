"""In what do the releases of the runtime differ?

Each release is one value; everything that differs is read from it, so nothing else compares version numbers.
Types that differ are declared by functions marked `by_release`, into a catalog of the release. Two releases
can be composed in one process: a chain that was upgraded has blocks of both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from cfnode.core.assets import ASSETS, Asset, assets_since
from cfnode.core.scale import Codec

from .chains import CHAIN_INSTANCES, ChainInstance
from .frame.span import number
from .frame.table import TypeTable
from .frame.types import COMMON, Catalog
from .release_names import DEFAULT_RELEASE
from .values import FORMS, SemVer

__all__ = [
    "DEFAULT_RELEASE",
    "RELEASES",
    "Release",
    "Rules",
    "TronEnergy",
    "by_release",
    "codec_in",
    "release_for",
]

T = TypeVar("T")


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
    def number(self) -> tuple[int, ...]:
        """The name as a number that compares: (2, 2, 9)."""
        return number(self.name)

    @property
    def semver(self) -> SemVer:
        """The number as a value of `SemVer`."""
        major, minor, patch = self.number
        return SemVer(major=major, minor=minor, patch=patch)

    @cached_property
    def catalog(self) -> Catalog:
        """The types of the release. The modules that declare them have to be imported before."""
        catalog = Catalog(COMMON, FORMS)
        for declare in _DECLARERS:
            declare(catalog, self)
        return catalog

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


Declarer = Callable[[Catalog, Release], None]
_DECLARERS: list[Declarer] = []


def by_release(declare: Declarer) -> Declarer:
    """Mark a function that declares the types of a release into its catalog."""
    _DECLARERS.append(declare)
    return declare


_APIS = {
    "Core": 5,
    "Metadata": 2,
    "BlockBuilder": 6,
    "TaggedTransactionQueue": 3,
    "OffchainWorkerApi": 2,
    "AuraApi": 1,
    "SessionKeys": 1,
    "GrandpaApi": 3,
    "AccountNonceApi": 1,
    "TransactionPaymentApi": 4,
    "TransactionPaymentCallApi": 3,
    "CustomRuntimeApi": 18,
    "MonitoringRuntimeApi": 3,
}

_R2_2_3 = Release(
    name="2.2.3",
    spec_version=20_203,
    api_versions=_APIS,
    chains={name: chain for name, chain in CHAIN_INSTANCES.items() if name != "Bsc"},
    assets=tuple(assets_since("2.2")),
    left=frozenset({"Polkadot"}),
    dollar_tokens=(
        "Usdc", "ArbUsdc", "Usdt", "SolUsdc", "HubUsdt", "HubUsdc", "ArbUsdt", "SolUsdt", "TrxUsdt",
    ),
    rules=Rules(TronEnergy(65_000, 10_000, 75_000, 40_000), tron_addresses_in_advance=True),
)  # fmt: skip

_R2_2_9 = replace(_R2_2_3, name="2.2.9", spec_version=20_209, rules=Rules())

_ASSETHUB = CHAIN_INSTANCES["Assethub"]

_R2_3_0 = replace(
    _R2_2_9,
    name="2.3.0",
    spec_version=20_300,
    api_versions=_APIS | {"CustomRuntimeApi": 20, "MonitoringRuntimeApi": 4},
    chains=CHAIN_INSTANCES
    | {"Assethub": replace(_ASSETHUB, family=replace(_ASSETHUB.family, deposit_details="TxId"))},
    assets=tuple(assets_since("2.3")),
    dollar_tokens=(*_R2_2_9.dollar_tokens, "BscUsdt"),
    rules=Rules(
        minimum_limit_orders=True,
        rejections_below_dust_fail=True,
        pending_swaps_bind_providers=True,
        withdrawals_share_checks=True,
        funding_moves_flip=True,
    ),
)

RELEASES: dict[str, Release] = {release.name: release for release in (_R2_2_3, _R2_2_9, _R2_3_0)}
"""By name, the oldest first."""


def codec_in(release: str, text: str, scope: Mapping[str, str] | None = None) -> Codec:
    """The codec of a type expression in a release: migrations read with it what the last one has stored."""
    table = TypeTable(RELEASES[release].catalog)
    type_id = table.id(text, scope)
    return table.registry.codec(type_id)


def release_for(spec_version: int) -> Release:
    """The release with this spec version, or else the last one before it under this spec version.

    So tests can play an upgrade to a spec version that no release has.
    """
    earlier = [release for release in RELEASES.values() if release.spec_version <= spec_version]
    found = earlier[-1] if earlier else next(iter(RELEASES.values()))
    return found if found.spec_version == spec_version else replace(found, spec_version=spec_version)
