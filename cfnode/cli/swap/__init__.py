"""`cfnode swap`: commands for a swap with the SDK: quote, deposit address, status, live progress."""

from __future__ import annotations

import click

from cfnode.cli.groups import CommandGroup
from cfnode.cli.swap.follow import status, watch
from cfnode.cli.swap.quote import quote
from cfnode.cli.swap.request import request

__all__ = ["swap"]


@click.group(
    cls=CommandGroup,
    epilog="An asset is written CHAIN/SYMBOL (Arbitrum/USDC), or by its name: BTC, ETH, ArbUsdc. Any case.",
)
def swap() -> None:
    """Quote a swap, open its deposit channel, follow it."""


for command in (quote, request, status, watch):
    swap.add_command(command)
