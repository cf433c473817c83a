"""How does JSON write one value for each asset?

Clients expect every asset of the newest release, whatever the runtime at hand knows. What it does not know
yet is empty: zero, null or [], as Chainflip's node writes the answers of older runtimes. What it knows and
this build does not stands under the names of its type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cfnode.core.assets import CHAINS, assets_of
from cfnode.core.scale.types import Composite, PortableType, Sequence, Variants
from cfnode.rpc.cf.present import Presenter, Show

__all__ = ["asset_map", "by_asset", "lower_chains"]

_CHAIN_OF_MODULE = {chain.address.lower(): chain.name for chain in CHAINS.values()}


def by_asset(values: Mapping[str, Any], empty: Any) -> dict[str, dict[str, Any]]:
    """An object with every asset, from the values by name of asset (`ArbUsdc`) that there are."""
    return {
        chain: {asset.symbol: values.get(asset.name, empty) for asset in assets_of(chain)} for chain in CHAINS
    }


def asset_map(presenter: Presenter, row: PortableType, bare: bool) -> Show:
    """The form of an `AssetMap<T>`: an object by chain of objects by symbol."""
    assert isinstance(row.definition, Composite)
    modules = {field.name or "": _leaves(presenter, field.type) for field in row.definition.fields}
    empty = next(_empty(presenter, leaf, bare) for leaves in modules.values() for leaf in leaves.values())
    shows = {
        module: {symbol: presenter.of(leaf, bare) for symbol, leaf in leaves.items()}
        for module, leaves in modules.items()
    }
    return lambda value: _shown(shows, value, empty)


def _leaves(presenter: Presenter, type_id: int) -> dict[str, int]:
    definition = presenter.registry.type(type_id).definition
    assert isinstance(definition, Composite)
    return {field.name or "": field.type for field in definition.fields}


def _empty(presenter: Presenter, type_id: int, bare: bool) -> Any:
    definition = presenter.registry.type(type_id).definition
    match definition:
        case Variants():
            return None
        case Sequence():
            return []
        case Composite(fields) if len(fields) == 1:
            return _empty(presenter, fields[0].type, bare)
    return presenter.of(type_id, bare)(0)


def _shown(shows: Mapping[str, Mapping[str, Show]], value: Any, empty: Any) -> dict[str, dict[str, Any]]:
    shown = by_asset({}, empty)
    for module, leaves in shows.items():
        chain = _CHAIN_OF_MODULE.get(module, module.capitalize())
        symbols = shown.setdefault(chain, {})
        for symbol, show in leaves.items():
            symbols[symbol.upper()] = show(value[module][symbol])
    return shown


def lower_chains() -> tuple[str, ...]:
    """The names of all chains as members of the monitoring structures have them."""
    return tuple(chain.lower() for chain in CHAINS)
