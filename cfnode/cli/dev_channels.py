"""Deposit channels of a development chain, by their address or their id."""

from __future__ import annotations

from contextlib import suppress

from cfnode.cli.credentials import node_token
from cfnode.cli.exits import CommandFailure
from cfnode.cli.sdk_errors import reported
from cfnode.swaps.identity import ChannelId, UnknownChain

__all__ = ["deposit_address"]


def deposit_address(url: str, text: str, timeout: float) -> str:
    """Return the address of the deposit channel with this id, from the node's swap service.

    A text that is no channel id is returned unchanged. Raises Failure.
    """
    with suppress(UnknownChain):  # the SDK names the known ones
        if ChannelId.parse(text) is None:
            return text
    from cfnode.sdk import SwapSDK

    token = node_token(url)
    with reported(), SwapSDK(network="dev", rpc_url=url, rpc_token=token, timeout=timeout) as sdk:
        channel = sdk.get_status_v2(text).deposit_channel
    if channel is None:
        raise CommandFailure(f"{text} is not a deposit channel: give the id or the address of one")
    return channel.deposit_address
