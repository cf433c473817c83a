"""`cfnode lp cancel`: a command that cancels orders by pool, side and id, or all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.lp.documents import document
from cfnode.cli.lp.options import ORDER_ID, SIDES, client_of, shared
from cfnode.cli.lp.tables import order_row
from cfnode.cli.options import json_lines_option
from cfnode.cli.output import print_list
from cfnode.cli.sdk_errors import reported
from cfnode.cli.tables import print_table
from cfnode.cli.values import AssetName, OneOf
from cfnode.core.assets import ForeignAsset

if TYPE_CHECKING:
    from cfnode.sdk.lp.orders import StandingOrder

__all__ = ["cancel"]


@click.command()
@click.argument("asset", type=AssetName(), required=False)
@click.argument("side", type=OneOf((*SIDES, "range")), required=False)
@click.option("--id", "number", type=ORDER_ID, help="Only the order with this id.")
@click.option("--all", "every", is_flag=True, help="Cancel all orders of the account, in all pools.")
@json_lines_option
@shared
def cancel(
    asset: ForeignAsset | None,
    side: str | None,
    number: int | None,
    every: bool,
    url: str,
    account: str,
    as_json: bool,
    as_lines: bool,
) -> None:
    """Cancel the orders of ASSET, or only those of one SIDE or id; up to 100 with one transaction."""
    from cfnode.sdk.assets import name_of

    if every == (asset is not None) or (every and number is not None):
        raise CommandFailure(
            "no order is named, or too many: give an ASSET (and SIDE, --id), or --all alone", ExitCode.USAGE
        )
    with reported(), client_of(url, account) as client:
        if asset is None:
            closed: Sequence[StandingOrder] = client.cancel_all()
        else:
            standing = [open_order.order for open_order in client.get_orders(name_of(asset))]
            matching = [
                order for order in standing if side in (None, order.key[2]) and number in (None, order.id)
            ]
            closed = client.cancel(matching)
    if as_json or as_lines:
        print_list(map(document, closed), as_lines=as_lines)
        return
    print_table(("asset", "side", "id", "tick", "price", "amount"), map(order_row, closed), "no such order")
