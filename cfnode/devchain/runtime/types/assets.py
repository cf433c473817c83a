"""Types of chains, assets and amounts by asset in each release, from `cf_primitives::chains`."""

from __future__ import annotations

from cfnode.core.assets import CHAINS
from cfnode.devchain.runtime.frame.types import Catalog
from cfnode.devchain.runtime.releases import Release, by_release

_CHAINS = "cf_primitives::chains"


@by_release
def _declare(catalog: Catalog, release: Release) -> None:
    catalog.enum(f"{_CHAINS}::ForeignChain", {CHAINS[chain].index: chain for chain in release.chains})
    catalog.enum(f"{_CHAINS}::assets::any::Asset", {asset.index: asset.name for asset in release.assets})
    for name, chain in release.chains.items():
        assets, path = release.assets_of(name), f"{_CHAINS}::assets::{chain.module}"
        variants = {asset.chain_index: asset.name for asset in assets}
        catalog.enum(f"{path}::Asset", variants, name=f"{chain.module}::Asset")
        amounts = {asset.symbol.lower(): "T" for asset in assets}
        catalog.struct(f"{path}::AssetMap<T>", name=f"{chain.module}::AssetMap", **amounts)
    modules = [chain.module for chain in release.chains.values()]
    members = {module: f"{module}::AssetMap<T>" for module in modules}
    catalog.struct(f"{_CHAINS}::assets::any::AssetMap<T>", **members)
