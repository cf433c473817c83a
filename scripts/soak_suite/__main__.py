"""Run a network of nodes with random faults for a while, and check it at the end."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from scripts.redteam_suite.figures import Result, last_lines, program_errors
from scripts.soak_suite.network import Member, Network
from scripts.soak_suite.troubles import Troubles

STEP_S = 0.25
MEMORY_S = 5.0
LINE_S = 60.0
AGREE_S = 120.0
"""Seconds after the last fault until all nodes have to agree."""
MAX_APART = 3
"""Maximum difference of the best blocks of two nodes that agree."""
WARM_S = 90.0
"""Seconds after a start whose memory does not count: the node is still growing to its size."""
MAX_SLOPE = 1.0
"""Maximum growth of memory, in megabytes per minute and node."""
MIN_MINUTES = 10.0
"""Minutes of a run below which a slope means nothing."""


def arguments(words: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="How long. [default: 60]")
    parser.add_argument("--seed", type=int, default=1, help="Of the troubles. [default: 1]")
    parser.add_argument("--followers", type=int, default=3, help="Nodes that execute all. [default: 3]")
    parser.add_argument("--lights", type=int, default=10, help="Light nodes. [default: 10]")
    parser.add_argument("--block-time", type=int, default=2_000, help="Milliseconds. [default: 2000]")
    parser.add_argument("--hurry", type=float, default=1.0, help="Factor of all pauses. [default: 1]")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="Keep the nodes' files in DIR.")
    return parser.parse_args(words)


def soak(chosen: argparse.Namespace, folder: Path) -> Result:
    """Run the network with troubles for the chosen time; return its figures."""
    result = Result("soak", f"{chosen.minutes:g} minutes with troubles, seed {chosen.seed}")
    with ExitStack() as stack:
        network = Network(stack, folder, chosen.followers, chosen.lights, chosen.block_time)
        troubles = Troubles(network, chosen.seed, hurry=chosen.hurry)
        began = time.monotonic()
        _live(network, troubles, began + 60 * chosen.minutes)
        troubles.end()
        _judge(result, network, chosen.minutes, began)
        result.facts["troubles"] = dict(troubles.counts)
    return result


def _live(network: Network, troubles: Troubles, until: float) -> None:
    next_memory = next_line = time.monotonic()
    while (now := time.monotonic()) < until:
        troubles.step()
        if now >= next_memory:
            next_memory = now + MEMORY_S
            for member in network.members:
                member.look_at_memory()
        if now >= next_line:
            next_line = now + LINE_S
            print(line(network, troubles), flush=True)
        time.sleep(STEP_S)


def line(network: Network, troubles: Troubles) -> str:
    """Return the status line of each minute."""
    alive = [member for member in network.members if member.is_alive and not member.is_stopped]
    heads = {member.name: member_heads[0] for member in alive if (member_heads := member.heads()) is not None}
    memory = sum(member.memory[-1][-1][1] for member in alive if member.memory[-1])
    best = max(heads.values(), default=0)
    behind = {name: best - number for name, number in heads.items() if best - number > MAX_APART}
    happened = ", ".join(f"{count} × {name}" for name, count in sorted(troubles.counts.items()))
    return (
        f"{time.strftime('%H:%M:%S')} head #{best}, {len(heads)} of {len(network.members)} answer, "
        f"behind: {behind or 'none'}, {memory:.0f} MB; {happened or 'no trouble yet'}"
    )


# --- the end


def _judge(result: Result, network: Network, minutes: float, began: float) -> None:
    seconds = _agree(network)
    result.add("all agree after", seconds, AGREE_S, " s")
    errors = {member.name: program_errors(member.logs) for member in network.members}
    result.add("program errors in all logs", sum(errors.values()), 0)
    result.check("all alive", all(member.is_alive for member in network.members))
    slope, lives = memory_slope(network.members, began + 30 * minutes)
    result.facts |= {"MB a minute and node": slope, "lives": lives}
    result.facts["program errors"] = {name: count for name, count in errors.items() if count}
    if minutes >= MIN_MINUTES:
        result.add("memory slope × 100", 100 * slope, 100 * MAX_SLOPE, " MB/min")
    if not result.met:
        disagreeing = [member for member in network.members if not _agrees(member, network.author)]
        result.log = "\n".join(f"{member.name}:\n{last_lines(member.last_log)}" for member in disagreeing[:4])


def _agree(network: Network) -> float:
    began = time.monotonic()
    while time.monotonic() - began < AGREE_S:
        if all(_agrees(member, network.author) for member in network.members):
            return time.monotonic() - began
        time.sleep(1)
    return float("inf")


def _agrees(member: Member, author: Member) -> bool:
    """Return whether the node's head is near the author's, and its last final block the same."""
    member_heads, author_heads = member.heads(), author.heads()
    if member_heads is None or author_heads is None or abs(member_heads[0] - author_heads[0]) > MAX_APART:
        return False
    return author.hash_at(member_heads[1]) == member_heads[2]


def memory_slope(members: list[Member], since: float) -> tuple[float, int]:
    """Return the slope of all runs together, each with its own offset; and the number of runs."""
    products = squares = 0.0
    lives = 0
    for life in (life for member in members for life in member.memory if life):
        points = [(at / 60, size) for at, size in life if at >= max(since, life[0][0] + WARM_S)]
        if len(points) < 3:
            continue
        lives += 1
        mean_x = sum(x for x, _ in points) / len(points)
        mean_y = sum(y for _, y in points) / len(points)
        products += sum((x - mean_x) * (y - mean_y) for x, y in points)
        squares += sum((x - mean_x) ** 2 for x, _ in points)
    return (products / squares if squares else 0.0), lives


def main(words: list[str]) -> int:
    """Run the soak test; print its figures and return the exit code."""
    options = arguments(words)
    with tempfile.TemporaryDirectory(prefix="cfnode-soak-") as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        result = soak(options, folder)
    if result.log:
        print(result.log)
    for name, fact in result.facts.items():
        print(f"{name}: {fact}")
    for figure in result.figures:
        print(f"{'met   ' if figure.met else 'MISSED'} {figure}")
    return 0 if result.met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
