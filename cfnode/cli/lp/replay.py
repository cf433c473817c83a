"""`cfnode lp replay`: the profit of a strategy on a recorded market, as tables or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.options import json_option
from cfnode.cli.output import print_json
from cfnode.cli.sdk_errors import reported
from cfnode.cli.tables import print_table
from cfnode.cli.values import AssetName, Instant, Seconds, Units
from cfnode.core.assets import ASSETS, text_of

if TYPE_CHECKING:
    from cfnode.testing.replay import Report

__all__ = ["replay"]

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
PROGRESS_LINES = 10
"""Lines of progress where standard error is no terminal."""


@click.command()
@click.option(
    "--prices", type=FILE, required=True, metavar="FILE", help="CSV with the columns time,asset,price."
)
@click.option("--swaps", type=FILE, metavar="FILE", help="CSV with the columns time,from,to,amount.")
@click.option(
    "--strategy",
    required=True,
    metavar="MODULE:FUNCTION",
    help="Function of a Market that returns all orders that should be open. The module is in the current "
    "folder, or installed.",
)
@click.option(
    "--fund",
    "funds",
    required=True,
    multiple=True,
    metavar="ASSET=AMOUNT",
    help="Funds that the account deposits first, such as ETH=10; repeat it for each asset.",
)
@click.option("--from", "start", type=Instant(), help="First block.  [default: the first price]")
@click.option("--to", "end", type=Instant(), help="Last block.  [default: the last record]")
@click.option(
    "--depth",
    type=Units(),
    default="1000000",
    show_default=True,
    help="USDC of other providers in each pool, at the file's price.",
)
@click.option(
    "--strategy-timeout",
    "strategy_s",
    type=Seconds(),
    default="10",
    show_default=True,
    help="Maximum seconds of one call of the strategy.",
)
@json_option
def replay(
    prices: Path,
    swaps: Path | None,
    strategy: str,
    funds: Sequence[str],
    start: int | None,
    end: int | None,
    depth: Decimal,
    strategy_s: float,
    as_json: bool,
) -> None:
    """Play recorded prices and swaps on a development chain, and report fills, inventory and profit.

    A chain is started in a process of its own, with one block for each 6 s; the STRATEGY decides after each.
    Equal files and strategies give equal reports. A time is 2026-01-05T12:00:00Z or Unix seconds.
    """
    from cfnode.testing import replay as replays

    with reported(), _failures(), _progress() as progress:
        report = replays.replay(
            replays.load_strategy(strategy, Path.cwd()),
            prices,
            swaps,
            funds=_funded(funds),
            start=start,
            end=end,
            depth=depth,
            strategy_s=strategy_s,
            progress=progress,
        )
    if as_json:
        print_json(report.document())
    else:
        _print(report)


def _funded(texts: Sequence[str]) -> dict[str, str]:
    """Return the amounts of --fund by asset name."""
    funds = dict[str, str]()
    for text in texts:
        name, equals, amount = text.partition("=")
        if not equals:
            raise CommandFailure(f"--fund {text}: write ASSET=AMOUNT, such as ETH=10", ExitCode.USAGE)
        asset = AssetName().convert(name, None, None).name
        if asset in funds:
            raise CommandFailure(
                f"--fund {text}: {text_of(asset)} is funded twice: give it once", ExitCode.USAGE
            )
        funds[asset] = amount
    return funds


@contextmanager
def _failures() -> Iterator[None]:
    from cfnode.testing.replay import BadRecords, ReplayError

    try:
        yield
    except BadRecords as error:
        raise CommandFailure(str(error), ExitCode.USAGE) from None
    except ReplayError as error:
        raise CommandFailure(str(error)) from None


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """Yield a display of the progress on standard error: a bar on a terminal, else some lines.

    Replays of a few blocks print nothing.
    """
    from rich.console import Console
    from rich.progress import Progress, TextColumn, TimeRemainingColumn

    terminal = Console(stderr=True)
    if not terminal.is_terminal:
        yield _print_part
        return
    text = "replay {task.percentage:>3.0f} % · block {task.completed} of {task.total}"
    with Progress(TextColumn(text), TimeRemainingColumn(), console=terminal, transient=True) as bar:
        task = bar.add_task("replay", total=None)
        yield lambda completed, blocks: bar.update(task, completed=completed, total=blocks)


def _print_part(completed: int, blocks: int) -> None:
    step = -(-blocks // PROGRESS_LINES)
    if step > PROGRESS_LINES and (completed % step == 0 or completed == blocks):
        click.echo(f"block {completed} of {blocks}", err=True)


# Tables


def _print(report: Report) -> None:
    from cfnode.sdk.times import time_text
    from cfnode.testing.replay.report import dollars, value_of

    refused = f", {len(report.refused)} refused" if report.refused else ""
    click.echo(
        f"{time_text(report.start)} to {time_text(report.end)}: {report.blocks} blocks, {report.prices} "
        f"prices, {report.swaps} swaps{refused}"
    )
    for refusal in report.refused:
        click.echo(f"refused: the swap of line {refusal.swap.line}: {refusal.reason}", err=True)
    rows = [
        (
            time_text(block.timestamp),
            f"{fill.side or 'range'} {fill.id}",
            text_of(fill.asset),
            *(_amounts(part) for part in (fill.sold, fill.bought, fill.fees)),
        )
        for block in report.fills
        for fill in block.fills
    ]
    print_table(("fill", "order", "pool", "gave", "got", "fees"), rows, "no fills")
    inventory = [
        (
            text_of(holding.asset),
            *(_whole(amount, holding.asset) for amount in (holding.start, holding.end)),
            "–" if holding.end_price is None else dollars(holding.end_price),
            dollars(holding.profit),
        )
        for holding in report.holdings
    ]
    print_table(("inventory", "at the start", "at the end", "price", "profit $"), inventory, "no inventory")
    cost = value_of("Flip", report.transaction_fees, report.flip_price)
    unpriced = (
        " (no price of FLIP: not in the profit)" if report.flip_price is None else f", ${dollars(cost)}"
    )
    click.echo(f"fees earned: {_amounts(report.pool_fees)}")
    click.echo(f"transaction fees: {_whole(report.transaction_fees, 'Flip')} FLIP{unpriced}")
    click.echo(f"profit: ${dollars(report.profit)} against holding the first inventory, at the last prices")


def _amounts(amounts: Any) -> str:
    texts = [f"{_whole(amount, asset)} {text_of(asset)}" for asset, amount in amounts.items() if amount]
    return ", ".join(texts) or "0"


def _whole(amount: int, asset: str) -> str:
    from cfnode.sdk.lp import whole_units

    return f"{whole_units(amount, ASSETS[asset]).normalize():f}"
