"""Processor time of a block of a replayed market, with the strategy of the guide, and with twenty orders.

That of all processes: the player, the node and its executor. If CFNODE_BENCH_BEFORE names a checkout of an
older version, both replay the same market by turns, and have to report the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from scripts.benchmarks._nodes import HERE, before

__all__ = ["run"]

BLOCKS = int(os.environ.get("CFNODE_BENCH_REPLAY_BLOCKS", "60"))
ROUNDS = int(os.environ.get("CFNODE_BENCH_ROUNDS", "2"))
STRATEGIES = {"the guide's strategy": 2, "20 orders": 20}
LEAST = {"the guide's strategy": 60, "20 orders": 30}
"""Blocks in a second of processor time."""
PROGRAM = """
import json, os, sys
from decimal import Decimal
from pathlib import Path
from cfnode.sdk.lp import LimitOrder
from cfnode.testing.replay import replay

SKIPPED = 5
prices, swaps, count = sys.argv[1], sys.argv[2], int(sys.argv[3])

def quotes(market):
    price, ether, cash = market.price("ETH"), market.owned("ETH"), market.owned("USDC")
    share = count // 2
    for number in range(1, share + 1):
        spread = Decimal(number) / 1000
        yield LimitOrder("ETH", "sell", number, round(ether / 2 / share, 6), price=price * (1 + spread))
        yield LimitOrder("ETH", "buy", number, round(cash / 2 / share, 2), price=price * (1 - spread))

def below(pid):
    threads = Path(f"/proc/{pid}/task").iterdir()
    children = [int(child) for thread in threads for child in (thread / "children").read_text().split()]
    return [pid, *(process for child in children for process in below(child))]

def ticks(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15]))

marks = {}
def progress(done, blocks):
    if done in (SKIPPED, blocks):
        marks[done] = sum(map(ticks, below(os.getpid()))) / os.sysconf("SC_CLK_TCK")

def strategy(market):
    return list(quotes(market))

report = replay(strategy, prices, swaps, funds={"ETH": "10", "USDC": "30000"}, progress=progress)
seconds = (marks[report.blocks] - marks[SKIPPED]) / (report.blocks - SKIPPED)
print(json.dumps({"seconds": seconds, "report": repr(report)}))
"""

Row = tuple[str, str, str, bool | None]


def _records(folder: Path, blocks: int) -> tuple[Path, Path]:
    """Write a price a block, and a swap every fourth; return the files."""
    prices, swaps = ["time,asset,price", f"{_time(0)},FLIP,0.5"], ["time,from,to,amount"]
    for block in range(blocks):
        prices.append(f"{_time(block)},ETH,{3_000 + (block * 37) % 23 - 11}")
        if block % 4 == 1:
            swaps.append(f"{_time(block)},{'ETH,USDC,1' if block % 8 == 1 else 'USDC,ETH,3000'}")
    files = folder / "prices.csv", folder / "swaps.csv"
    for file, lines in zip(files, (prices, swaps), strict=True):
        file.write_text("\n".join([*lines, ""]))
    return files


def _time(block: int) -> str:
    minutes, seconds = divmod(block * 6, 60)
    return f"2026-01-05T{12 + minutes // 60:02}:{minutes % 60:02}:{seconds:02}Z"


def _block_s(tree: Path, orders: int) -> tuple[float, str]:
    """Return the seconds of processor time of a block, without the start, and the report."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    with tempfile.TemporaryDirectory(prefix="cfnode-bench-") as folder:
        line = [sys.executable, "-c", PROGRAM, *map(str, _records(Path(folder), BLOCKS)), str(orders)]
        printed = subprocess.run(line, cwd=tree, env=environment, check=True, capture_output=True).stdout
    figures: dict[str, Any] = json.loads(printed)
    return figures["seconds"], figures["report"]


def run() -> list[Row]:
    """Return the rows of the table."""
    older, rows = before(), list[Row]()
    for name, orders in STRATEGIES.items():
        now, was = list[tuple[float, str]](), list[tuple[float, str]]()
        for _ in range(ROUNDS):
            now.append(_block_s(HERE, orders))
            if older is not None:
                was.append(_block_s(older, orders))
        seconds, report = min(now)
        text, least = f"{seconds * 1e3:.1f} ms", LEAST[name]
        if was:
            seconds_before, report_before = min(was)
            assert report == report_before, "the reports of both versions differ"
            text += f"; before {seconds_before * 1e3:.1f} ms: {seconds_before / seconds:.1f} ×"
        target = f"≤ {1e3 / least:.0f} ms"
        rows.append((f"a block of a replay, {name}, all processes", text, target, seconds <= 1 / least))
    return rows


if __name__ == "__main__":
    for line in run():
        print(*line, sep=" | ")
