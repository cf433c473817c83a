r"""Replay of recorded prices and swaps on a development chain, with the orders of a strategy.

The report states what the strategy would have earned.

    from pathlib import Path

    from cfnode.sdk.lp import LimitOrder
    from cfnode.testing.replay import replay


    def sells_higher(market):
        return [LimitOrder("ETH", "sell", 1, "2", price=market.price("ETH") * 2)]


    rows = "2026-01-05T12:00:00Z,ETH,3000\n2026-01-05T12:00:20Z,ETH,3003.50\n"
    Path("prices.csv").write_text("time,asset,price\n" + rows)
    report = replay(sells_higher, "prices.csv", funds={"ETH": "10"})
    print(report.blocks, "blocks")

Two runs give equal reports, to the hash of the last block. `cfnode lp replay` runs a replay on the command
line.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from cfnode.core import ss58
from cfnode.core.assets import ASSETS, text_of
from cfnode.core.aura import SLOT_MS
from cfnode.core.keys import Keypair
from cfnode.sdk.amounts import Quantity
from cfnode.sdk.assets import asset_given
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.lp import Strategy, base_units
from cfnode.sdk.times import time_text
from cfnode.testing.node import NodeDidNotStart, running_node
from cfnode.testing.replay.dev_chain import Stage
from cfnode.testing.replay.errors import BadRecords, ReplayError, StrategyError
from cfnode.testing.replay.playing import LEAD_SLOTS, Progress, Settings, play
from cfnode.testing.replay.records import (
    QUOTE,
    Price,
    RecordedSwap,
    check_swaps,
    newest,
    read_prices,
    read_swaps,
)
from cfnode.testing.replay.report import Holding, RefusedSwap, Report
from cfnode.testing.replay.strategies import load_strategy
from cfnode.testing.replay.timeline import Timeline

__all__ = [
    "PROVIDER_URI",
    "BadRecords",
    "Holding",
    "Progress",
    "RecordedSwap",
    "RefusedSwap",
    "ReplayError",
    "Report",
    "StrategyError",
    "load_strategy",
    "replay",
]

PROVIDER_URI = "//Bob"
"""The secret of the liquidity provider's key: public, for development chains only."""
MAX_REPLAY_BLOCKS = 1_000_000
"""Maximum blocks of one replay: nearly ten weeks."""
STRATEGY_TIMEOUT_S = 10.0
DEPTH = "1000000"


def replay(
    strategy: Strategy,
    prices: str | PathLike[str],
    swaps: str | PathLike[str] | None = None,
    *,
    funds: Mapping[str, Quantity],
    start: int | None = None,
    end: int | None = None,
    depth: Quantity = DEPTH,
    strategy_s: float = STRATEGY_TIMEOUT_S,
    progress: Progress = lambda done, blocks: None,
) -> Report:
    """Play files of prices and swaps on a new development chain, in a process of its own.

    `start`, `end`: Unix milliseconds (default: the first and the last record). `funds`: the amounts that the
    account deposits before, and `depth`: the USDC of others in each pool; text is whole units, an int base
    units. `strategy_s`: maximum seconds of a call of the strategy. `progress` receives the number of blocks
    done, and of all. Raises BadRecords, StrategyError or another ReplayError, and the SDK's errors.
    """
    timeline = timeline_of(Path(prices), None if swaps is None else Path(swaps), start, end)
    settings = Settings(_funds(funds, timeline), _units(depth, QUOTE, "depth"), strategy_s)
    account = ss58.encode(Keypair.from_suri(PROVIDER_URI).account)
    with tempfile.TemporaryDirectory(prefix="cfnode-replay-") as folder:
        try:
            with running_node(Path(folder), *flags_at(timeline)) as node, Stage(node.url, account) as stage:
                return play(stage, timeline, strategy, settings, progress)
        except NodeDidNotStart as error:
            raise ReplayError(str(error)) from None


def flags_at(timeline: Timeline) -> tuple[str, ...]:
    """Return the flags of `cfnode run` for a chain on which a timeline can be played."""
    begin_ms = (timeline.slots[0] - LEAD_SLOTS) * SLOT_MS
    account_flags = f"--dev-lp={PROVIDER_URI}", "--dev-broker=//Broker"
    return (
        "--dev-seal=manual",
        f"--dev-start-time={time_text(begin_ms)}",
        "--dev-finality-lag=0",
        *account_flags,
    )


def timeline_of(prices: Path, swaps: Path | None, start: int | None, end: int | None) -> Timeline:
    """Return the records of two files between two times.

    Raises ReplayError, with all faults of both files.
    """
    faults, price_records, swap_records = list[str](), tuple[Price, ...](), tuple[RecordedSwap, ...]()
    try:
        price_records = read_prices(prices)
    except BadRecords as error:
        faults.append(str(error))
    try:
        swap_records = () if swaps is None else read_swaps(swaps)
    except BadRecords as error:
        faults.append(str(error))
    if faults:
        raise BadRecords("\n".join(faults))
    times = [*(price.time for price in price_records), *(swap.time for swap in swap_records)]
    timeline = Timeline(
        price_records,
        swap_records,
        price_records[0].time if start is None else start,
        max(times) if end is None else end,
    )
    _check_bounds(timeline)
    if swaps is not None:
        swaps_played = [swap for swap in swap_records if timeline.start <= swap.time <= timeline.end]
        check_swaps(swaps, swaps_played, price_records)
    return timeline


def _check_bounds(timeline: Timeline) -> None:
    blocks, (start, end) = len(timeline.slots), (time_text(timeline.start), time_text(timeline.end))
    if timeline.end < timeline.start:
        raise ReplayError(f"the end {end} lies before the start {start}")
    if blocks > MAX_REPLAY_BLOCKS:
        raise ReplayError(
            f"{start} to {end} takes {blocks} blocks, and {MAX_REPLAY_BLOCKS} are allowed: choose less"
        )
    if timeline.slots[0] < LEAD_SLOTS:
        raise ReplayError(f"the start {start} is too early: a replay begins at 1970-01-01T00:20:00Z or later")
    if (timeline.slots[-1] + 1) * SLOT_MS > time.time_ns() // 1_000_000:
        raise ReplayError(
            f"the end {end} lies in the future, and no block may be later than now: choose an earlier end"
        )


def _funds(funds: Mapping[str, Quantity], timeline: Timeline) -> dict[str, int]:
    """Return base units by asset name.

    Raises ReplayError, also for an asset without a price at the start.
    """
    if not funds:
        raise ReplayError("the account needs funds, such as 10 ETH and 30000 USDC")
    first_prices = newest(price for price in timeline.prices if price.time <= timeline.slots[0] * SLOT_MS)
    amounts = {asset_name(asset): amount for asset, amount in funds.items()}
    for asset in amounts:
        if asset not in first_prices and asset != QUOTE:
            start = time_text(timeline.start)
            raise ReplayError(
                f"the file of prices has no price of {text_of(asset)} at or before the start, {start}"
            )
    return {asset: _units(amount, asset, asset) for asset, amount in amounts.items()}


def asset_name(text: str) -> str:
    """Return the name of an asset in any spelling; raise ReplayError for an unknown one."""
    try:
        return asset_given(text, "asset").name
    except ValidationError as error:
        raise ReplayError(error.message) from None


def _units(amount: Quantity, asset: str, field: str) -> int:
    try:
        return base_units(amount, ASSETS[asset], field)
    except ValidationError as error:
        raise ReplayError(error.message) from None
