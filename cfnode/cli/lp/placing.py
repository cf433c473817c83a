"""`cfnode lp set-limit` and `set-range`: commands that place or change one order."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.lp.documents import document
from cfnode.cli.lp.options import SIDES, client_of, id_option, shared
from cfnode.cli.lp.tables import order_row
from cfnode.cli.options import require_one
from cfnode.cli.output import print_json
from cfnode.cli.sdk_errors import reported
from cfnode.cli.values import AssetName, Integer, OneOf, Units, WholeNumber
from cfnode.core.assets import ForeignAsset

if TYPE_CHECKING:
    from cfnode.sdk.lp import LiquidityProvider, Plan
    from cfnode.sdk.lp.orders import Order, StandingOrder

__all__ = ["set_limit", "set_range"]

_PAIR = (Units(), Units())


@click.command("set-limit")
@click.argument("asset", type=AssetName())
@click.argument("side", type=OneOf(SIDES))
@click.argument("amount", type=Units())
@click.option(
    "--price", type=Units(), help="USDC for one ASSET; becomes the next tick that is not worse for you."
)
@click.option("--tick", type=Integer(), help="Tick, instead of a price; each tick is 0.01 % above the last.")
@id_option
@shared
def set_limit(
    asset: ForeignAsset,
    side: Any,
    amount: Decimal,
    price: Decimal | None,
    tick: int | None,
    number: int,
    url: str,
    account: str,
    as_json: bool,
) -> None:
    """Let a limit order sell or buy ASSET: exactly AMOUNT, whether the order stands already or not.

    AMOUNT is of the asset that you give: ASSET to sell it, USDC to buy it. An order that stands so is not
    touched, and no other order is.
    """
    from cfnode.sdk.assets import name_of
    from cfnode.sdk.lp import LimitOrder

    require_one("price", ("--price PRICE", price), ("--tick TICK", tick))
    with reported(), client_of(url, account) as client:
        order = LimitOrder(name_of(asset), side, number, amount, price=price, tick=tick)
        plan = client.set_orders([order], keep_others=True)
    _report(plan, order, as_json)


@click.command("set-range")
@click.argument("asset", type=AssetName())
@click.option(
    "--price", type=_PAIR, metavar="LOW HIGH", help="USDC for one ASSET; the range contains both prices."
)
@click.option(
    "--tick",
    type=(Integer(), Integer()),
    metavar="LOW HIGH",
    help="Ticks of both ends, instead of prices.",
)
@click.option(
    "--amounts",
    type=_PAIR,
    metavar="ASSET USDC",
    help="Maximum amounts of both assets; the order gets the liquidity that they pay for now.",
)
@click.option(
    "--minimum",
    type=_PAIR,
    metavar="ASSET USDC",
    help="Minimum amounts to use, with --amounts.  [default: 0 0]",
)
@click.option("--liquidity", type=WholeNumber(1), help="Liquidity in the chain's units, instead of amounts.")
@id_option
@shared
def set_range(
    asset: ForeignAsset,
    price: tuple[Decimal, Decimal] | None,
    tick: tuple[int, int] | None,
    amounts: tuple[Decimal, Decimal] | None,
    minimum: tuple[Decimal, Decimal] | None,
    liquidity: int | None,
    number: int,
    url: str,
    account: str,
    as_json: bool,
) -> None:
    """Let a range order of ASSET and USDC have exactly a range and a size, whether it stands already or not.

    An order that stands so is not touched, and no other order is. What --amounts leave over is not spent: the
    pool's price decides in which ratio both are used.
    """
    from cfnode.sdk.assets import name_of
    from cfnode.sdk.lp import RangeOrder, RangeOrderByAmounts

    require_one("range", ("--price LOW HIGH", price), ("--tick LOW HIGH", tick))
    require_one("size", ("--amounts ASSET USDC", amounts), ("--liquidity NUMBER", liquidity))
    if minimum is not None and amounts is None:
        raise CommandFailure("--minimum needs --amounts ASSET USDC: add it", ExitCode.USAGE)
    with reported(), client_of(url, account) as client:
        low, high = price or tick or (0, 0)
        order: Order
        if amounts is None:
            order = RangeOrder(name_of(asset), number, low, high, liquidity or 0)
        else:
            least, of_quote = minimum or (0, 0)
            order = RangeOrderByAmounts(
                name_of(asset), number, low, high, *amounts, min_base=least, min_quote=of_quote
            )
        plan = client.set_orders([order], keep_others=True)
        stands = _standing(client, order)
    _report(plan, stands, as_json)


def _standing(client: LiquidityProvider, order: Order) -> StandingOrder:
    """Return an order as it stands now."""
    for open_order in client.get_orders(order.asset):
        if open_order.order.key == order.key:
            return open_order.order
    raise CommandFailure(
        f"{order} is no longer open, since another client changed it: `cfnode lp orders` prints the open ones"
    )


def _report(plan: Plan, order: StandingOrder, as_json: bool) -> None:
    """Print the order, and whether it has changed."""
    if as_json:
        print_json({"order": document(order), "changed": plan.calls > 0})
        return
    asset, side, number, tick, price, amount = order_row(order)
    outcome = "set" if plan.calls else "unchanged"
    click.echo(f"{outcome}: {side} order {number} of {asset}: {amount} at {price} (tick {tick})")
