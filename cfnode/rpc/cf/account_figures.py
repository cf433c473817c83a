"""Figures of the accounts of the node's keys, for the metrics: answers of methods, amounts as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from cfnode.core.assets import ASSETS
from cfnode.node.metrics import BrokerFigures, ProviderFigures
from cfnode.rpc.cf.accounts import account_info
from cfnode.rpc.cf.method import query
from cfnode.rpc.cf.views import OPEN_CHANNELS

if TYPE_CHECKING:
    from cfnode.node.node import Node

__all__ = ["broker_figures", "provider_figures", "read_accounts_for_metrics"]

_FLIP = ASSETS["Flip"]


def read_accounts_for_metrics(node: Node) -> None:
    """Let the metrics read the accounts of the node's keys."""
    if node.broker is not None:
        node.metrics.read_broker_with(partial(broker_figures, node, node.broker.account))
    if node.provider is not None:
        node.metrics.read_provider_with(partial(provider_figures, node, node.provider.account))


async def broker_figures(node: Node, account: bytes, block: bytes) -> BrokerFigures:
    """Return the figures of a broker's account at a block, in whole units.

    Raises what the methods raise.
    """
    info = await account_info(node, account, block)
    channels = await OPEN_CHANNELS.handler(node, account, block)
    return BrokerFigures(
        flip=_flip(info),
        earned_fees=_whole_units(info.get("earned_fees", {})),
        open_channels=len(channels["chain_accounts"]),
    )


async def provider_figures(node: Node, account: bytes, block: bytes) -> ProviderFigures:
    """Return the figures of a liquidity provider's account at a block, in whole units.

    Raises what the methods raise.
    """
    info = await account_info(node, account, block)
    free_balances = await query(node, block, "cf_free_balances", account_id=account)
    return ProviderFigures(flip=_flip(info), free_balances=_whole_units(free_balances))


def _flip(info: Mapping[str, Any]) -> float:
    return float(int(info["flip_balance"], 16) / 10**_FLIP.decimals)


def _whole_units(amounts: Mapping[str, Mapping[str, str]]) -> dict[str, float]:
    """Return amounts by chain and symbol as amounts by `Ethereum/USDC`, in whole units."""
    return {
        f"{asset.chain}/{asset.symbol}": int(amount, 16) / 10**asset.decimals
        for asset in ASSETS.values()
        if (amount := amounts.get(asset.chain, {}).get(asset.symbol)) is not None
    }
