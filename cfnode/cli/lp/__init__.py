"""`cfnode lp`: the commands of a liquidity provider."""

from __future__ import annotations

import click

from cfnode.cli.groups import CommandGroup
from cfnode.cli.lp.account import deposit, refund_address, register, withdraw
from cfnode.cli.lp.book import book
from cfnode.cli.lp.cancelling import cancel
from cfnode.cli.lp.fills import fills
from cfnode.cli.lp.owned import balances, orders
from cfnode.cli.lp.placing import set_limit, set_range
from cfnode.cli.lp.replay import replay

__all__ = ["lp"]


@click.group(
    cls=CommandGroup,
    epilog="An asset is written CHAIN/SYMBOL (Arbitrum/ETH), or by its name: BTC, ETH, ArbEth. Any case. A "
    "price is USDC for one whole unit of the asset; amounts are whole units. The node's key signs; where the "
    "commands cannot find its address, export CFNODE_LP_ACCOUNT=cF…",
)
def lp() -> None:
    """Deposits, balances, orders, fills and withdrawals of a liquidity provider."""


for command in (
    register,
    refund_address,
    deposit,
    withdraw,
    balances,
    orders,
    book,
    set_limit,
    set_range,
    cancel,
    fills,
    replay,
):
    lp.add_command(command)
