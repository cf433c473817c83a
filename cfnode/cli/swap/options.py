"""What the swap commands share: whom they talk to, and how people write assets and amounts."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.exits import ExitCode, Failure
from cfnode.core.assets import ASSETS, Asset

if TYPE_CHECKING:
    from rich.console import Console

    from cfnode.sdk import SwapSDK

__all__ = ["NETWORKS", "amount_of", "asset_of", "client", "console", "shared_options", "units"]

_USUAL = {
    "ETH": "Eth",
    "FLIP": "Flip",
    "USDC": "Usdc",
    "USDT": "Usdt",
    "WBTC": "Wbtc",
    "BTC": "Btc",
    "SOL": "Sol",
    "DOT": "HubDot",
    "TRX": "Trx",
    "BNB": "Bnb",
}
NETWORKS = ("mainnet", "perseverance", "sisyphos", "backspin", "dev")
_OPTIONS = (
    click.option("--network", type=click.Choice(NETWORKS), default="mainnet", show_default=True),
    click.option("--node", metavar="URL", help="A State Chain node, in place of the network's public one."),
    click.option("--backend", metavar="URL", help="A swap service, in place of the network's own."),
    click.option("--broker", metavar="URL", help="Your broker; without it the swap service opens channels."),
    click.option(
        "--commission", type=click.IntRange(0, 1000), help="Your broker's commission, basis points."
    ),
    click.option("--json", "as_json", is_flag=True, help="The result as JSON on standard output."),
)


def shared_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options that `client` takes."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def client(
    network: str, node: str | None, backend: str | None, broker: str | None, commission: int | None, dca: bool
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


def asset_of(text: str) -> Asset:
    """The asset that a person wrote: `Arbitrum/USDC` (or with a dot), `ArbUsdc`, or a mere symbol."""
    chain, slash, symbol = text.replace(".", "/", 1).partition("/")
    for asset in ASSETS.values():
        if slash and (asset.chain.lower(), asset.symbol) == (chain.lower(), symbol.upper()):
            return asset
        if not slash and asset.name.lower() == text.lower():
            return asset
    if not slash and text.upper() in _USUAL:
        return ASSETS[_USUAL[text.upper()]]
    known = ", ".join(f"{asset.chain}/{asset.symbol}" for asset in ASSETS.values())
    raise Failure(f"no asset {text!r}; there are: {known}", ExitCode.USAGE)


def amount_of(text: str, asset: Asset) -> int:
    """Base units of an amount that a person wrote in whole coins (`0.5`)."""
    try:
        amount = Decimal(text).scaleb(asset.decimals)
    except InvalidOperation:
        amount = Decimal(-1)
    if not amount.is_finite() or not 0 < amount < 2**128 or amount % 1:
        raise Failure(
            f"{text!r} is no amount of {asset.symbol}: it takes at most {asset.decimals} decimals",
            ExitCode.USAGE,
        )
    return int(amount)


def console() -> Console:
    """For tables: a terminal's own width, else wide enough for each of them."""
    from rich.console import Console

    found = Console()
    return found if found.is_terminal else Console(width=140)


def units(amount: int | None, asset: Asset) -> str:
    """Base units as people count them, with the symbol."""
    if amount is None:
        return ""
    from cfnode.sdk.assets import units as counted

    return f"{counted(amount, asset.decimals)} {asset.symbol}"
