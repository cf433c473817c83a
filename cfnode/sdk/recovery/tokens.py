"""Asset that a call pays, and text of its amounts."""

from __future__ import annotations

from cfnode.core.assets import ForeignAsset, assets_of, gas_asset
from cfnode.sdk.assets import contract_address, units
from cfnode.sdk.networks import NETWORKS
from cfnode.sdk.recovery.payload import Payload

__all__ = ["amount_text", "asset_of", "coin"]


def coin(amount: int, chain: str) -> str:
    """Return an amount of the chain's own coin as text, in units (`0.0012 ETH`)."""
    asset = gas_asset(chain)
    return f"{units(amount, asset.decimals)} {asset.symbol}"


def asset_of(payload: Payload) -> ForeignAsset | None:
    """Return the asset that a call pays; None for a token unknown to all networks of Chainflip."""
    if payload.is_native:
        return gas_asset(payload.chain)
    token = payload.token_text
    for network in NETWORKS.values():
        for asset in assets_of(payload.chain):
            if (contract_address(asset, network.tokens) or "").lower() == token.lower():
                return asset
    return None


def amount_text(payload: Payload, amount: int | None = None) -> str:
    """Return the amount of a call, or another amount of its asset, as text: `1.5 ETH`.

    For an unknown token the text has base units.
    """
    asset, amount = asset_of(payload), payload.transfer.amount if amount is None else amount
    if asset is None:
        return f"{amount} base units of the token {payload.token_text}"
    return f"{units(amount, asset.decimals)} {asset.symbol}"
