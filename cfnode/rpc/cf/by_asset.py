"""One value for each asset in JSON: an object by chain of objects by symbol.

The object has exactly the assets of the block's runtime, as in the official node of that runtime; an asset
unknown to this build stands under the name of its type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cfnode.core.assets import ASSETS, CHAINS
from cfnode.core.scale.types import Composite, PortableType
from cfnode.rpc.cf.json_encoder import Encode, JsonEncoder

__all__ = ["asset_map", "by_asset"]

_CHAIN_OF_MODULE = {chain.address.lower(): chain.name for chain in CHAINS.values()}


def by_asset(assets: Iterable[str], values: Mapping[str, Any], empty: Any) -> dict[str, dict[str, Any]]:
    """Return an object with these assets.

    `values`: by asset name (`ArbUsdc`). A missing value is `empty`.
    """
    by_chain: dict[str, dict[str, Any]] = {}
    for name in assets:
        if asset := ASSETS.get(name):
            by_chain.setdefault(asset.chain, {})[asset.symbol] = values.get(name, empty)
    return by_chain


def asset_map(encoder: JsonEncoder, row: PortableType, plain_numbers: bool) -> Encode:
    """Return the encoder of an `AssetMap<T>`: an object by chain of objects by symbol."""
    assert isinstance(row.definition, Composite)
    encoders = {
        field.name or "": {
            symbol: encoder.of(type_id, plain_numbers)
            for symbol, type_id in _leaves(encoder, field.type).items()
        }
        for field in row.definition.fields
    }
    return lambda value: _encoded(encoders, value)


def _leaves(encoder: JsonEncoder, type_id: int) -> dict[str, int]:
    definition = encoder.registry.type(type_id).definition
    assert isinstance(definition, Composite)
    return {field.name or "": field.type for field in definition.fields}


def _encoded(encoders: Mapping[str, Mapping[str, Encode]], value: Any) -> dict[str, dict[str, Any]]:
    return {
        _CHAIN_OF_MODULE.get(module, module.capitalize()): {
            symbol.upper(): encode(value[module][symbol]) for symbol, encode in leaves.items()
        }
        for module, leaves in encoders.items()
    }
