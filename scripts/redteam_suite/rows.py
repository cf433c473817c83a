"""Rows of the red team's table: each attack, and the function that plays it."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from scripts.redteam_suite import load, places, scenes_executor, scenes_peers, scenes_ports, scenes_service
from scripts.redteam_suite.figures import Result
from scripts.redteam_suite.load import Times
from scripts.redteam_suite.stage import stage, until

Play = Callable[[Result, Path, Times], None]


@dataclass(frozen=True, slots=True)
class Row:
    """Attack in a sentence, and the function that records its result."""

    attack: str
    play: Play


MIN_LAG_S = 14.0
"""Seconds of an attack on following: in fewer, no node would fall behind by four blocks."""
DEEP = 1_100
"""Blocks below the head: more than the 1,024 that a commit may make a node walk."""


def on_a_light_node(result: Result, folder: Path, times: Times) -> None:
    """Play a row against a light node."""
    with stage(folder) as chain:
        node = chain.follower()
        chain.ready(node)
        load.play(result, chain, node, times, folder / "attacker.log")


def on_its_following(result: Result, folder: Path, times: Times) -> None:
    """Play a row against a light node, long enough to see it fall behind."""
    longer = replace(times, attack=max(times.attack, MIN_LAG_S))
    with stage(folder) as chain:
        node = chain.follower()
        chain.ready(node)
        load.play(result, chain, node, longer, folder / "attacker.log", pauses=False)


def on_a_long_chain(result: Result, folder: Path, times: Times) -> None:
    """Play a row against a full node that syncs a long chain."""
    with stage(folder, "--dev-block-time=20") as chain:
        until(lambda: chain.author.best >= DEEP, what=f"the chain has {DEEP} blocks")
        chain.restart_author()
        node = chain.follower(sync="full")
        chain.ready(node)
        load.play(result, chain, node, times, folder / "attacker.log")


ROWS: dict[str, Row] = {
    "0": Row("nothing: a node without an attack", on_a_light_node),
    "1": Row("one message of very many entries", on_a_light_node),
    "2": Row("256 invented headers above the head, and no answer to sync/2", on_its_following),
    "3": Row("one invented ancestor an answer, with a large body", on_its_following),
    "4": Row("the executor dies in the middle of imports", scenes_executor.deaths),
    "5": Row("the executor dies between imports, at each question", scenes_executor.deaths_between),
    "6": Row("fifty peers claim block 4,000,000,000 and never answer", places.fresh_start),
    "7": Row("commits with a vote for block 0", on_a_long_chain),
    "8": Row("WebSocket frames of one byte, idle pongs, unread pings", on_a_light_node),
    "9": Row("96 clients × 60 unread metadata replies", on_a_light_node),
    "10": Row("two peers read the state, a third 4,096 keys at once", on_a_light_node),
    "11": Row("announced headers with 16,384 digest items", on_a_light_node),
    "12": Row("yamux pings, pongs, empty frames, windows that grow by one", on_a_light_node),
    "13": Row("forty connections that are never secured, opened again", places.joining),
    "14": Row("three peers send the length and one byte of their requests", places.requests),
    "15": Row("400 subscriptions to 4,096 storage keys each", on_a_light_node),
    "16": Row("15 MB of nested junk in one call", on_a_light_node),
    "17": Row("the only peer stands still", scenes_peers.alone),
    "18": Row("a peer connects a second time before its first connection ends", scenes_peers.twice),
    "19": Row("announced blocks with an impossible slot and an unknown seal", scenes_peers.slots),
    "20": Row("reserved peers are at fault, or seem to be", scenes_executor.reserved),
    "21": Row("ninety broker calls at once on a busy machine", scenes_service.many_calls),
    "22": Row("no descriptors, one greedy client, two lengths, a nested key file", scenes_service.lacks),
    "23": Row("each attack of clients on the port of JSON-RPC", scenes_ports.attacks_on("JSON-RPC")),
    "24": Row("each attack of clients on the port of the metrics", scenes_ports.attacks_on("metrics")),
    "25": Row("each attack of clients on the swap service", scenes_ports.attacks_on("swap service")),
    "26": Row("each attack of clients on the partners' API", scenes_ports.attacks_on("partners' API")),
    "27": Row("each attack of clients on the operator's page", scenes_ports.attacks_on("page")),
    "28": Row("each attack of clients by WebSocket", scenes_ports.attacks_on("JSON-RPC by WebSocket")),
    "29": Row("each attack of clients on a local EVM chain", scenes_ports.attacks_on("local EVM chain")),
}
"""Rows by their number; row 0 measures the machine without an attack."""


def play(row: str, folder: Path, times: Times) -> Result:
    """Play one row on a separate stage; a row that could not be played counts as missed."""
    result = Result(row, ROWS[row].attack)
    try:
        ROWS[row].play(result, Path(tempfile.mkdtemp(dir=folder, prefix=f"row-{row}-")), times)
    except Exception:
        result.check("played to the end", False)
        result.log = traceback.format_exc()
    return result
