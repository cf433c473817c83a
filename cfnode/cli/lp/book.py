"""`cfnode lp book`: the limit orders of a pool, once or at each block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from cfnode.cli.credentials import node_token
from cfnode.cli.lp.documents import book_document
from cfnode.cli.lp.options import client_of
from cfnode.cli.lp.tables import price_text, whole_text
from cfnode.cli.options import every_option, json_option, node_option
from cfnode.cli.output import console, print_json, print_text
from cfnode.cli.sdk_errors import reported
from cfnode.cli.tables import table_text
from cfnode.cli.values import AssetName, WholeNumber
from cfnode.core.assets import ForeignAsset, text_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from cfnode.sdk.errors import SdkError
    from cfnode.sdk.lp import OrderBook
    from cfnode.sdk.names import AssetName as Name

__all__ = ["book"]


@click.command()
@click.argument("asset", type=AssetName())
@click.option("--levels", type=WholeNumber(1, 1000), default=10, show_default=True, help="Levels of a side.")
@click.option("--live", is_flag=True, help="Go on at each best block; --json prints one book per line.")
@every_option()
@node_option()
@json_option
def book(asset: ForeignAsset, levels: int, live: bool, every: float, url: str, as_json: bool) -> None:
    """Print the limit orders of all providers in the pool of ASSET, by price, and the pool's prices.

    With --live a node that goes away is tried again each --every seconds, for a minute.
    """
    from cfnode.sdk.assets import name_of

    if live:
        with reported("stopped"), _screen(as_json) as print_book:
            _follow(url, name_of(asset), levels, every, print_book)
        return
    with reported(), client_of(url) as client:
        order_book = client.get_book(name_of(asset), levels)
    if as_json:
        print_json(book_document(order_book))
    else:
        console().print(_screen_of(order_book), soft_wrap=True)


def _follow(
    url: str, asset: Name, levels: int, every: float, print_book: Callable[[OrderBook], None]
) -> None:
    import trio

    from cfnode.sdk.lp import AsyncLiquidityProvider, live_book

    async def run() -> None:
        async with (
            AsyncLiquidityProvider(url, token=node_token(url)) as client,
            live_book(client, asset, levels, seconds=every, on_lost=_report_lost) as books,
        ):
            async for order_book in books:
                print_book(order_book)

    trio.run(run)


def _report_lost(error: SdkError) -> None:
    print_text(f"Warning: {error.message}; trying again", err=True)


@contextmanager
def _screen(as_json: bool) -> Iterator[Callable[[OrderBook], None]]:
    """Yield a printer of books: JSON lines, in place of the previous book at a terminal, else below it."""
    if as_json:
        yield lambda order_book: print_json(book_document(order_book), is_line=True)
        return
    terminal = console()
    if not terminal.is_terminal:
        yield lambda order_book: terminal.print(_screen_of(order_book), soft_wrap=True)
        return
    from rich.live import Live

    with Live(console=terminal, auto_refresh=False) as area:
        yield lambda order_book: area.update(_screen_of(order_book), refresh=True)


def _screen_of(order_book: OrderBook) -> RenderableType:
    """Return the levels as a table, asks above bids, and the prices below it."""
    from rich.console import Group
    from rich.text import Text

    sides = [("sell", level, order_book.asset) for level in reversed(order_book.asks)]
    sides += [("buy", level, order_book.quote) for level in order_book.bids]
    rows = [
        (side, str(level.tick), price_text(level.price), whole_text(level.amount, unit))
        for side, level, unit in sides
    ]
    table = table_text(("side", "tick", "price", "on sale"), rows)
    bid, ask = (
        None if price is None else price_text(price) for price in (order_book.best_bid, order_book.best_ask)
    )
    line = (
        f"a swap sells {text_of(order_book.asset)} at {bid}, buys at {ask}; "
        f"range orders: {price_text(order_book.range_price)}"
    )
    return Group(table if rows else Text(f"no limit orders of {text_of(order_book.asset)}"), Text(line))
