"""`cfnode swap`: the swap SDK for people. Quote, deposit address, status, live progress."""

from __future__ import annotations

from collections.abc import Mapping

import click

from cfnode.cli.swap.follow import status, watch
from cfnode.cli.swap.quote import quote
from cfnode.cli.swap.request import request

__all__ = ["swap"]

_COMMANDS: Mapping[str, click.Command] = {
    "quote": quote,
    "request": request,
    "status": status,
    "watch": watch,
}


@click.group(
    epilog="An asset is written CHAIN/SYMBOL (Arbitrum/USDC); BTC, ETH, SOL, … mean the usual chain."
)
def swap() -> None:
    """Quote a swap, open its deposit channel, follow it."""


for _name, _command in _COMMANDS.items():
    swap.add_command(_command, _name)
