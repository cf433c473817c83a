"""Options that the commands of a liquidity provider share: the account, the node, an order's id."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.chain import base_path_option
from cfnode.cli.credentials import node_token
from cfnode.cli.lp.guessing import guessed_account
from cfnode.cli.options import json_option, node_option
from cfnode.cli.values import WholeNumber

if TYPE_CHECKING:
    from cfnode.sdk.lp import LiquidityProvider

__all__ = ["ORDER_ID", "SIDES", "client_of", "id_option", "shared"]

SIDES = ("sell", "buy")
ORDER_ID = WholeNumber(0, 2**64 - 1)

_account_option = click.option(
    "--lp-account",
    "account",
    envvar="CFNODE_LP_ACCOUNT",
    show_envvar=True,
    metavar="ADDRESS",
    help="Address of the node's liquidity provider.  [default: that of the one `lqpr` key below --base-path]",
)
id_option = click.option(
    "--id",
    "number",
    type=ORDER_ID,
    required=True,
    help="Id of the order, of your choice. The same id again changes the order; it is not placed twice.",
)


def shared(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the account (guessed if there is one key only), the node and --json to a command."""

    @wraps(command)
    def filled(url: str, account: str | None, base_path: Path | None, **parameters: Any) -> Any:
        return command(url=url, account=account or guessed_account(url, base_path), **parameters)

    return _account_option(base_path_option(node_option()(json_option(filled))))


def client_of(url: str, account: str | None = None) -> LiquidityProvider:
    """Return the SDK's client for a node; a context manager."""
    from cfnode.sdk.lp import LiquidityProvider

    return LiquidityProvider(url, account, token=node_token(url))
