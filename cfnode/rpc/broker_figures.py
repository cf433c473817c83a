"""What does the broker's account have, for the metrics? The answers of two methods, amounts as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfnode.core.assets import ASSETS
from cfnode.node.metrics import BrokerFigures
from cfnode.rpc.cf.accounts import account_info
from cfnode.rpc.cf.views import OPEN_CHANNELS

if TYPE_CHECKING:
    from cfnode.node.node import Node

__all__ = ["broker_figures"]

_FLIP = ASSETS["Flip"]


async def broker_figures(node: Node, account: bytes, block: bytes) -> BrokerFigures:
    """The account at a block, in whole units. Raises what the methods raise."""
    info = await account_info(node, account, block)
    channels = await OPEN_CHANNELS.handler(node, account, block)
    earned = info.get("earned_fees", {})
    return BrokerFigures(
        flip=int(info["flip_balance"], 16) / 10**_FLIP.decimals,
        earned_fees={
            f"{asset.chain}/{asset.symbol}": int(amount, 16) / 10**asset.decimals
            for asset in ASSETS.values()
            if (amount := earned.get(asset.chain, {}).get(asset.symbol)) is not None
        },
        open_channels=len(channels["chain_accounts"]),
    )
