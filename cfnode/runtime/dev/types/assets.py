"""Chains, assets and amounts by asset, as `cf_primitives::chains` declares them in runtime 2.2."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from cfnode.core.assets import CHAINS, assets_of, assets_since
from cfnode.runtime.dev.chains import MODULES
from cfnode.runtime.dev.frame.types import enum, struct

T = TypeVar("T")

RELEASE = "2.2"

enum("cf_primitives::chains::ForeignChain", {CHAINS[chain].index: chain for chain in MODULES})
enum("cf_primitives::chains::assets::any::Asset", {a.index: a.name for a in assets_since(RELEASE)})
for _chain, _module in MODULES.items():
    _assets = [asset for asset in assets_of(_chain) if asset.since == RELEASE]
    _path = f"cf_primitives::chains::assets::{_module}"
    enum(f"{_path}::Asset", {a.chain_index: a.name for a in _assets}, name=f"{_module}::Asset")
    _amounts = {asset.symbol.lower(): "T" for asset in _assets}
    struct(f"{_path}::AssetMap<T>", name=f"{_module}::AssetMap", **_amounts)
struct(
    "cf_primitives::chains::assets::any::AssetMap<T>",
    **{module: f"{module}::AssetMap<T>" for module in MODULES.values()},
)


DOLLAR_TOKENS = (
    "Usdc", "ArbUsdc", "Usdt", "SolUsdc", "HubUsdt", "HubUsdc", "ArbUsdt", "SolUsdt", "TrxUsdt",
)  # fmt: skip
"""The tokens of a dollar, in the order of their discriminants: the first limits of many things."""


def known_assets() -> tuple[str, ...]:
    """The names of the release's assets, in the order of an `AssetMap`."""
    return tuple(asset.name for chain in MODULES for asset in assets_of(chain) if asset.since == RELEASE)


def asset_map(value: Callable[[str], T]) -> dict[str, dict[str, T]]:
    """The value of an `AssetMap`: one for each asset of the release, by its name."""
    return {
        module: {a.symbol.lower(): value(a.name) for a in assets_of(chain) if a.since == RELEASE}
        for chain, module in MODULES.items()
    }
