"""`cfnode lp balances` and `cfnode lp orders`: a provider's free balances and open orders."""

from __future__ import annotations

import click

from cfnode.cli.lp.documents import open_document
from cfnode.cli.lp.options import client_of, shared
from cfnode.cli.lp.tables import amounts_text, order_row, whole_text
from cfnode.cli.options import json_lines_option
from cfnode.cli.output import print_json, print_list
from cfnode.cli.sdk_errors import reported
from cfnode.cli.tables import print_table
from cfnode.cli.values import AssetName
from cfnode.core.assets import ForeignAsset, text_of

__all__ = ["balances", "orders"]


@click.command()
@shared
def balances(url: str, account: str, as_json: bool) -> None:
    """Print the free balance of each asset: what is neither in orders nor on its way."""
    with reported(), client_of(url, account) as client:
        free_balances = client.get_balances()
    if as_json:
        print_json({asset: str(amount) for asset, amount in free_balances.items()})
        return
    held = {asset: amount for asset, amount in free_balances.items() if amount}
    rows = [(text_of(asset), whole_text(amount, asset)) for asset, amount in held.items()]
    print_table(("asset", "free"), rows, "no free balance: open a channel with `cfnode lp deposit ASSET`")


@click.command()
@click.option("--asset", type=AssetName(), help="Only orders of the pool of ASSET.")
@json_lines_option
@shared
def orders(asset: ForeignAsset | None, url: str, account: str, as_json: bool, as_lines: bool) -> None:
    """Print the open orders of the account, with what is left of them."""
    from cfnode.sdk.assets import name_of

    with reported(), client_of(url, account) as client:
        open_orders = client.get_orders(None if asset is None else name_of(asset))
    if as_json or as_lines:
        print_list(map(open_document, open_orders), as_lines=as_lines)
        return
    rows = [
        (*order_row(open_order.order), amounts_text(open_order.fees_earned)) for open_order in open_orders
    ]
    print_table(("asset", "side", "id", "tick", "price", "amount", "fees earned"), rows, "no open orders")
