"""Options and SDK client that the swap commands share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.credentials import node_token, token_in
from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.options import json_option, node_option
from cfnode.cli.values import OneOf, WholeNumber, atoms
from cfnode.core.assets import ForeignAsset, asset_by_symbol, whole_text
from cfnode.sdk.networks import NETWORKS
from cfnode.swaps.limits import MAX_COMMISSION_BPS

if TYPE_CHECKING:
    from cfnode.sdk import AssetSymbol, ChainName, SwapSDK

__all__ = [
    "amount_of",
    "backend_option",
    "broker_options",
    "client",
    "eth_rpc_option",
    "fee_text",
    "flags_of",
    "limits_in",
    "network_option",
    "pair_of",
    "repeated_options",
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
    help="Network, for its public node and swap service; dev: a development node on this machine.",
)
sdk_node_option = node_option(
    "node",
    default=None,
    text="State Chain node, instead of the network's public one; for dev also its swap service and broker.",
)
backend_option = click.option(
    "--backend", metavar="URL", help="Swap service, instead of the network's own; for dev that of --node."
)


def eth_rpc_option(text: str) -> Callable[..., Any]:
    """Return the option `--eth-rpc URL`, also from the environment."""
    return click.option("--eth-rpc", metavar="URL", envvar="CFNODE_ETH_RPC", show_envvar=True, help=text)


_LIMIT = re.compile(r"(below min|above max)(imum swap amount )\(([0-9]{1,40})\)")
"""A limit in base units, in an error of the swap service or of the SDK."""
_WITHIN = {"below min": "give at least that", "above max": "give no more"}
_SERVICES = (network_option, sdk_node_option, backend_option)
_BROKER = (
    click.option(
        "--broker",
        metavar="URL",
        help="Your broker.  [default: the swap service opens channels; for dev with a commission, the node]",
    ),
    click.option(
        "--commission",
        type=WholeNumber(0, MAX_COMMISSION_BPS),
        help="Your broker's commission in basis points.  [default: 0]",
    ),
    click.option(
        "--broker-token-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="File with the bearer token that your broker requires.  [default: --token-file, if --node has "
        "the same address]",
    ),
)


def repeated_options(services: Iterable[tuple[str, str | None]]) -> tuple[str, ...]:
    """Return the options for the same services in a printed command, without secrets in addresses."""
    from cfnode.sdk.exchange import origin_of

    return tuple(
        f"{name}={value if name == '--network' or origin_of(value) == value.rstrip('/') else 'URL'}"
        for name, value in services
        if value is not None
    )


def service_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for the services, and --json, to a command."""
    return _with((*_SERVICES, json_option), command)


def broker_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for the broker and its commission to a command."""
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
    broker_token_file: Path | None = None,
    *,
    dca: bool = False,
    needs_broker: bool = False,
) -> SwapSDK:
    """Return a blocking client from the shared options.

    `needs_broker`: the request has what only a broker grants; a development chain's node is one.
    """
    from cfnode.sdk import Networks, SwapSDK

    broker_settings: dict[str, Any] | None = None
    wants_broker = needs_broker or commission is not None or broker_token_file is not None
    if broker is None and wants_broker and NETWORKS[network].is_one_server:
        broker = node or NETWORKS[network].rpc_url
    if broker is not None:
        token = None if broker_token_file is None else token_in(broker_token_file, "--broker-token-file")
        broker_settings = {"url": broker, "commissionBps": commission or 0, "token": token}
    elif commission is not None or broker_token_file is not None:
        flag = "--commission" if broker_token_file is None else "--broker-token-file"
        raise CommandFailure(f"{flag} needs --broker URL: add it", ExitCode.USAGE)
    return SwapSDK(
        network=Networks(network),
        rpc_url=node,
        rpc_token=node_token(node or NETWORKS[network].rpc_url),
        backend_url=backend,
        broker=broker_settings,
        enabled_features={"dca": dca},
    )


def flags_of(network: str, node: str | None, backend: str | None) -> tuple[str, ...]:
    """Return the options for the same services in another command, without secrets in addresses."""
    return repeated_options((("--network", network), ("--node", node), ("--backend", backend)))


def pair_of(
    source: ForeignAsset, destination: ForeignAsset
) -> tuple[ChainName, AssetSymbol, ChainName, AssetSymbol]:
    """Return the first arguments of the SDK's older methods: chain and symbol of both assets."""
    from cfnode.sdk.assets import chain_of, symbol_of

    return chain_of(source), symbol_of(source), chain_of(destination), symbol_of(destination)


def amount_of(number: Decimal, asset: ForeignAsset) -> int:
    """Return an amount of whole coins in base units. Raise Failure (usage)."""
    return atoms(number, asset.decimals)


@contextmanager
def limits_in(asset: ForeignAsset) -> Iterator[None]:
    """Write limits in errors in whole coins of the asset, as the commands take amounts."""
    from cfnode.sdk import SdkError

    try:
        yield
    except SdkError as error:
        error.message = _LIMIT.sub(
            lambda match: f"{match[1]}{match[2]}({units(int(match[3]), asset)}): {_WITHIN[match[1]]}",
            error.message,
        )
        raise


def units(amount: int | None, asset: ForeignAsset) -> str:
    """Return an amount in base units as text in whole coins, with the symbol."""
    if amount is None:
        return ""
    from cfnode.sdk.assets import units as counted

    return f"{counted(amount, asset.decimals)} {asset.symbol}"


def fee_text(kind: str, amount: int, chain: str, symbol: str) -> str:
    """Return a fee in whole coins, with its kind; no chain stands next to it."""
    try:
        return f"{whole_text(amount, asset_by_symbol(chain, symbol))} {kind.lower()}"
    except KeyError:
        return f"{amount} base units of {symbol} {kind.lower()}"
