"""Attacks on the slots of a node: whether an honest peer still connects and gets answers."""

from __future__ import annotations

import json
import math
import secrets
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import trio

from cfnode.network.interface import RequestFailed
from cfnode.network.transport import DialError
from scripts.redteam_suite.figures import MAX_IN_S, Result, last_lines, program_errors
from scripts.redteam_suite.honest import CHANNEL
from scripts.redteam_suite.load import Times
from scripts.redteam_suite.observers import Helper, attacking
from scripts.redteam_suite.peers import Stranger
from scripts.redteam_suite.stage import Node, Stage, stage, until
from scripts.redteam_suite.target import Target

JOINS = 3
MAX_JOIN_S = 45.0
REQUESTS = 20
MIN_REQUESTS = 18
REQUEST_PAUSE_S = 0.4
REQUEST_S = 15.0
AGAIN_S = 0.5
SETTLE_S = 3.0
"""Seconds until an attack has taken all slots that it can."""
MAX_SLOWER, MORE_S = 3.0, 10.0
GIVE_UP_S = 60.0


# --- what the honest peers do, in a process of their own


async def join(target: Target) -> float:
    """Return the seconds until a new honest peer is accepted; infinity if it never is."""
    began = time.monotonic()
    with trio.move_on_after(MAX_JOIN_S):
        while True:
            stranger = Stranger(target, secrets.token_bytes(32))
            try:
                async with stranger.connected():
                    if await stranger.joined(2.0):
                        return time.monotonic() - began
            except (DialError, trio.TooSlowError, OSError):
                pass
            await trio.sleep(AGAIN_S)
    return math.inf


async def ask(target: Target) -> tuple[int, list[str]]:
    """Return the number of answered requests of one honest peer, and why the others failed."""
    answered, reasons = 0, []
    stranger = Stranger(target, secrets.token_bytes(32))
    async with stranger.connected():
        await stranger.joined()
        for number in range(1, REQUESTS + 1):
            try:
                await stranger.ask_header(number, REQUEST_S)
                answered += 1
            except RequestFailed as error:
                reasons.append(str(error))
            await trio.sleep(REQUEST_PAUSE_S)
    return answered, reasons


async def _joins(target: Target) -> list[float]:
    return [await join(target) for _ in range(JOINS)]


# --- the rows


def joining(result: Result, folder: Path, times: Times) -> None:
    """Play row 13: new honest peers connect during the attack."""
    with stage(folder) as chain:
        node = chain.follower()
        chain.in_step(node)
        seconds = _under_attack(result, chain, node, folder, "joins")
        result.add("honest peer in after", max(seconds), MAX_IN_S, " s")
        result.facts["joins s"] = seconds
        _end(result, chain, node)


def requests(result: Result, folder: Path, times: Times) -> None:
    """Play row 14: an honest peer requests headers during the attack."""
    with stage(folder) as chain:
        node = chain.follower()
        chain.in_step(node)
        answered, reasons = _under_attack(result, chain, node, folder, "requests")
        result.add(f"of {REQUESTS} honest requests answered", answered, MIN_REQUESTS, at_most=False)
        result.facts["why"] = reasons[:3]
        _end(result, chain, node)


def _under_attack(result: Result, chain: Stage, node: Node, folder: Path, what: str) -> Any:
    target = chain.target(node)
    with attacking(result.row, target, 4 * MAX_JOIN_S, folder / "attacker.log"), ExitStack() as stack:
        time.sleep(SETTLE_S)
        helper = Helper("places", what, json.dumps(asdict(target)))
        stack.callback(helper.kill)
        return helper.end(4 * MAX_JOIN_S)


def _end(result: Result, chain: Stage, node: Node) -> None:
    result.check("in step", chain.is_in_step(node))
    result.add("program errors", program_errors(node.log), 0)
    if not result.met:
        result.log = last_lines(node.log)


def fresh_start(result: Result, folder: Path, times: Times) -> None:
    """Play row 6: start a new light node, first without the attack and then during it."""
    with stage(folder) as chain:
        until(lambda: chain.author.best >= 4, what="the chain has a final block")
        chain.author.call("broker_registerAccount")
        idle_s = _start(chain, "", folder)
        attacked_s = _start(chain, result.row, folder)
        result.add("in step after", attacked_s, MAX_SLOWER * idle_s + MORE_S, " s")
        result.facts |= {"without them s": idle_s, "with them s": attacked_s}
        result.log = "" if result.met else last_lines((folder / "2-light-rpc" / "node.log").read_text())


def _start(chain: Stage, row: str, folder: Path) -> float:
    """Return the seconds from a new node's first line to the honest head and a deposit channel."""
    with ExitStack() as stack:
        node = chain.follower()
        began = time.monotonic()
        if row:
            stack.enter_context(attacking(row, chain.target(node), 2 * GIVE_UP_S, folder / "attacker.log"))
        try:
            chain.in_step(node, GIVE_UP_S)
            node.call("broker_requestSwapDepositAddress", *CHANNEL)
        except TimeoutError:
            return math.inf
        finally:
            chain.stop([node])
        return time.monotonic() - began


def main() -> None:
    """Run one way to take the node's slots, and print what it got as JSON."""
    target = Target.of(json.loads(sys.argv[2]))
    print(json.dumps(trio.run({"joins": _joins, "requests": ask}[sys.argv[1]], target)))


if __name__ == "__main__":
    main()
