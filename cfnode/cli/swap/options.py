"""What the swap commands share: which services they ask, and how their clients are built."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.exits import ExitCode, Failure
from cfnode.cli.options import json_option, node_option
from cfnode.cli.values import OneOf, atoms
from cfnode.core.assets import Asset
from cfnode.sdk.networks import NETWORKS
from cfnode.sdk.options import MAX_COMMISSION_BPS

if TYPE_CHECKING:
    from cfnode.sdk import SwapSDK

__all__ = [
    "amount_of",
    "backend_option",
    "broker_options",
    "client",
    "network_option",
    "sdk_node_option",
    "service_options",
    "units",
]

network_option = click.option(
    "--network",
    envvar="CFNODE_NETWORK",
    show_envvar=True,
    type=OneOf(NETWORKS),
    default="mainnet",
    show_default=True,
    help="Names the public node and the swap service; dev: a development node on this machine.",
)
sdk_node_option = node_option(
    "node", default=None, text="A State Chain node, in place of the network's public one."
)
backend_option = click.option(
    "--backend", metavar="URL", help="A swap service, in place of the network's own."
)
_SERVICES = (network_option, sdk_node_option, backend_option)
_BROKER = (
    click.option("--broker", metavar="URL", help="Your broker; without it the swap service opens channels."),
    click.option(
        "--commission",
        type=click.IntRange(0, MAX_COMMISSION_BPS),
        help="Your broker's commission, basis points.",
    ),
)


def service_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the services that are asked, and --json."""
    return _with((*_SERVICES, json_option), command)


def broker_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the broker whose commission is part of a swap."""
    return _with(_BROKER, command)


def _with(options: tuple[Any, ...], command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command


def client(
    network: str,
    node: str | None,
    backend: str | None,
    broker: str | None = None,
    commission: int | None = None,
    *,
    dca: bool = False,
) -> SwapSDK:
    """A blocking client by the shared options."""
    from cfnode.sdk import SwapSDK

    if commission is not None and broker is None:
        raise Failure("--commission is the broker's: give --broker URL too", ExitCode.USAGE)
    return SwapSDK(
        network=network,
        rpc_url=node,
        backend_url=backend,
        broker={"url": broker, "commissionBps": commission or 0} if broker else None,
        enabled_features={"dca": dca},
    )


def amount_of(number: Decimal, asset: Asset) -> int:
    """Base units of an amount in whole coins, which is above zero. Raises Failure (usage)."""
    if not number:
        raise Failure(f"an amount of {asset.symbol} is above zero", ExitCode.USAGE)
    return atoms(number, asset.decimals)


def units(amount: int | None, asset: Asset) -> str:
    """Base units as people count them, with the symbol."""
    if amount is None:
        return ""
    from cfnode.sdk.assets import units as counted

    return f"{counted(amount, asset.decimals)} {asset.symbol}"
