"""Scenes in which a node's own executor dies in the middle of its work: rows 4, 5 and 20.

The author makes a full block, the follower begins to import it, and its executor is killed; now and then it
gets no memory, or stands still beyond its deadline.
"""

from __future__ import annotations

import os
import random
import re
import resource
import secrets
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import trio

from cfnode.cli.client import CallRefused, NodeUnreachable
from cfnode.core.keys import Keypair
from cfnode.core.peer_id import peer_id
from cfnode.core.wire.blocks import Attributes, BlockRequest
from cfnode.network.interface import RequestFailed
from scripts.benchmarks.follow import remarks
from scripts.redteam_suite.figures import MAX_IN_S, MAX_LAG, Result, children, last_lines, program_errors
from scripts.redteam_suite.load import Times
from scripts.redteam_suite.peers import Stranger
from scripts.redteam_suite.stage import Node, Stage, stage, until
from scripts.redteam_suite.target import Target

KILLS, QUICK_KILLS = 100, 12
EACH_WITHOUT_MEMORY = 10
EXTRINSICS = 40
MAX_DELAY_S = 0.12
"""Seconds after a block is made until the kill: it falls before, into and after the import."""
BETWEEN_S = 1.5
DEADLINE_S = 70.0
"""Seconds of standing still: more than a block's execution may take."""
RECOVERY_S = 10.0
BURST_S, QUICK_BURST_S, BURST_PAUSE_S = 15.0, 5.0, 0.03
RESERVED_KILLS = 8
PENALTY = re.compile(r"Banned (\w+)|Peer (\w+) is dropped")
MANUAL = "--dev-seal=manual"
EPOCHS = "--dev-epoch-blocks=3"
OUTSIDE = "/ip4/127.0.0.1/tcp/1/p2p/"


def penalties(log: str, peer: str) -> int:
    """Return how often a node logs that it disconnects this peer for a fault."""
    return sum(peer in penalty for penalty in PENALTY.findall(log))


def without_memory(pid: int) -> None:
    """Deny a process memory, then kill it: its node has to see two faults."""
    with suppress(OSError):
        resource.prlimit(pid, resource.RLIMIT_AS, (1, 1))


def kill(pid: int) -> None:
    """Kill a process that may have ended already."""
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL)


class Killer:
    """Maker of full blocks at the author that kills the follower's executor at a random moment of each."""

    def __init__(self, chain: Stage, node: Node, count: int) -> None:
        self._author, self._node, self._count = chain.author, node, count
        self._chance = random.Random(count)
        self._remarks = remarks(chain.author.process, EXTRINSICS * count, 0)

    def run(self) -> int:
        """Make the blocks; return the number of killed executors."""
        killed = 0
        for number in range(self._count):
            transactions = self._remarks[number * EXTRINSICS : (number + 1) * EXTRINSICS]
            self._author.call("dev_newBlock", {"transactions": transactions, "finalize": True})
            time.sleep(self._chance.uniform(0, MAX_DELAY_S))
            for pid in children(self._node.pid):
                (without_memory if number % EACH_WITHOUT_MEMORY == 9 else kill)(pid)
                killed += 1
            self._catch_up()
        for pid in children(self._node.pid):
            kill(pid)  # also the executors without memory
        return killed

    def _catch_up(self) -> None:
        """Wait until the node has its executor again, and the block: the next kill has to hit an import."""
        with suppress(TimeoutError, CallRefused, NodeUnreachable):
            until(lambda: self._node.best >= self._author.best, BETWEEN_S)

    def stand_still(self) -> None:
        """Stop the executor in the middle of a block, until its node kills it."""
        stopped = children(self._node.pid)
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        self._author.call("dev_newBlock", {"finalize": True})
        time.sleep(DEADLINE_S)
        for pid in stopped:
            with suppress(OSError):
                os.kill(pid, signal.SIGCONT)


def go_on(chain: Stage, seconds: float = RECOVERY_S) -> None:
    """Let the chain continue for a while."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        chain.author.call("dev_newBlock", {"finalize": True})
        time.sleep(0.5)


def judge(result: Result, chain: Stage, node: Node, killed: int) -> None:
    """Add the figures of the node after its executor processes were killed."""
    lag = chain.author.best - node.best if node.is_alive else float("nan")
    result.add(f"lag {RECOVERY_S:.0f} s after the last of {killed}", lag, MAX_LAG, " blocks")
    result.check("alive", node.is_alive)
    peers = node.call("system_health")["peers"] if node.is_alive else 0
    result.add("peers", peers, 1, at_most=False)
    result.add("penalties of the honest author", penalties(node.log, chain.author.peer_id), 0)
    result.add("program errors", program_errors(node.log), 0)
    if not result.met:
        result.log = last_lines(node.log)


def deaths(result: Result, folder: Path, times: Times) -> None:
    """Play row 4: a hundred deaths during imports; on a quick run twelve, and no deadline."""
    quick = times == Times.quick()
    with stage(folder, MANUAL) as chain:
        go_on(chain, 2)
        node = chain.follower(sync="full")
        chain.in_step(node)
        killer = Killer(chain, node, QUICK_KILLS if quick else KILLS)
        if not quick:
            killer.stand_still()
        killed = killer.run()
        go_on(chain)
        judge(result, chain, node, killed)


def deaths_between(result: Result, folder: Path, times: Times) -> None:
    """Play row 5: executors die before they answer, while authorities change every three blocks."""
    with stage(folder, MANUAL, chain_flags=(EPOCHS,)) as chain:
        go_on(chain, 2)
        node = chain.follower(sync="full")
        chain.in_step(node)
        killed = _burst(chain, node, QUICK_BURST_S if times == Times.quick() else BURST_S)
        go_on(chain)
        judge(result, chain, node, killed)


def _burst(chain: Stage, node: Node, seconds: float) -> int:
    ended, killed = threading.Event(), 0

    def make_blocks() -> None:
        while not ended.wait(0.4):
            chain.author.call("dev_newBlock", {"finalize": True})

    thread = threading.Thread(target=make_blocks, daemon=True)
    thread.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end and node.is_alive:
        for pid in children(node.pid):
            kill(pid)
            killed += 1
        time.sleep(BURST_PAUSE_S)
    ended.set()
    thread.join(30)
    return killed


def reserved(result: Result, folder: Path, times: Times) -> None:
    """Play row 20: a node with only reserved peers keeps them, whatever their faults."""
    seed = secrets.token_bytes(32)
    stranger = peer_id(Keypair.from_seed(seed, "ed25519").public)
    with stage(folder, MANUAL) as chain:
        go_on(chain, 2)
        only = "--reserved-only", f"--reserved-nodes={chain.author.address}"
        node = chain.follower(*only, f"--reserved-nodes={OUTSIDE}{stranger}", sync="full", boot=False)
        chain.in_step(node)
        seconds = trio.run(_misbehave, chain.target(node), seed)
        result.add("a reserved peer at fault is in again after", seconds, MAX_IN_S, " s")
        killed = Killer(chain, node, RESERVED_KILLS).run()
        go_on(chain)
        judge(result, chain, node, killed)


async def _misbehave(target: Target, seed: bytes) -> float:
    """Send malformed announcements until the node disconnects.

    Returns the seconds until it accepts the peer again.
    """
    stranger = Stranger(target, seed)
    async with stranger.connected():
        await stranger.joined()
        with trio.move_on_after(10):
            while stranger.is_connected:
                await _same_again(stranger)
                await trio.sleep(0.05)  # also if no request can be sent any more
    return await _again(target, seed)


async def _same_again(stranger: Stranger) -> None:
    """Request the same bodies again: a fatal fault the third time."""
    with suppress(RequestFailed):
        await stranger.ask("sync/2", BlockRequest(1, Attributes.BODY, 1).encode(), 5)


async def _again(target: Target, seed: bytes) -> float:
    began = trio.current_time()
    with trio.move_on_after(4 * MAX_IN_S):
        while True:
            with suppress(Exception):
                stranger = Stranger(target, seed)
                async with stranger.connected():
                    if await stranger.joined(2):
                        return trio.current_time() - began
            await trio.sleep(0.5)
    return float("inf")
