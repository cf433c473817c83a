"""Scenes of peers: the only peer stalls, a peer connects twice, a slot is forged. Rows 17, 18 and 19."""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import trio

from cfnode.core.aura import pre_runtime_item, seal_item
from cfnode.core.header import Header
from cfnode.core.trie import ordered_root
from cfnode.core.wire.announces import BlockAnnounce
from cfnode.core.wire.blocks import BlockData, BlockRequest, BlockResponse
from cfnode.core.wire.transactions import encode_transactions
from cfnode.network.interface import Received
from scripts.benchmarks.follow import remarks
from scripts.redteam_suite.attacks_chain import SILENT, Author
from scripts.redteam_suite.figures import Result, children, last_lines, program_errors, signal_all
from scripts.redteam_suite.honest import CHANNEL
from scripts.redteam_suite.load import Times
from scripts.redteam_suite.peers import Stranger
from scripts.redteam_suite.rpc_wire import RpcFailed, WebSocket
from scripts.redteam_suite.stage import Node, stage, until
from scripts.redteam_suite.target import Target

STILL_S = 50.0
"""Seconds in which the only peer is stopped: eight block times of the main net."""
MIN_WARNINGS = 2
MAX_BROKER_S = 30.0
"""Seconds until a broker's call is answered that no block includes: clients give up after 60 s."""
MAX_UNREADY_S = 25.0
"""Seconds without a block after which the node is not ready: three block times are 18 s."""
MAX_AGAIN_S = 60.0
"""Seconds until a restarted peer is found: dialing a failed one pauses up to ten seconds."""
CALL_S = 90.0
WARNING = re.compile(r"\bWARN(?:ING)?\b")
TX_HASH = re.compile(r"0x[0-9a-f]{64}")
NOT_YET = re.compile(r"not yet included|not yet in a block", re.IGNORECASE)
ROUNDS, QUICK_ROUNDS = 4, 2
TWINS, LOADERS = 4, 8
FUTURE, FIRST_FUTURE = 320, 100
"""Transactions that a pool has to validate, in one message of each loader."""
SENT_S, SETTLE_S = 0.3, 8.0
TX_S = 20.0
FAR_SLOT = 2**40
TRIES = 6
TRY_S = 4.0
CLOCK = "is the clock right"


def end(result: Result, node: Node) -> None:
    """Add the figures of program errors and of whether the node lives."""
    result.add("program errors", program_errors(node.log), 0)
    result.check("alive", node.is_alive)
    if not result.met:
        result.log = last_lines(node.log)


# --- row 17


def alone(result: Result, folder: Path, times: Times) -> None:
    """Play row 17: the process of the only peer is stopped."""
    with stage(folder) as chain:
        node = chain.follower()
        chain.ready(node)
        log_length, head = len(node.log), node.best
        os.kill(chain.author.pid, signal.SIGSTOP)
        try:
            answers = _call_broker(node)
            began = time.monotonic()
            result.add("readiness 500 after", _until(lambda: node.readiness == 500), MAX_UNREADY_S, " s")
            time.sleep(max(0.0, began + STILL_S - time.monotonic()))
            warnings = len(WARNING.findall(node.log[log_length:]))
            result.add(f"warnings in {STILL_S:.0f} s", warnings, MIN_WARNINGS, at_most=False)
            _until(lambda: answers)
        finally:
            os.kill(chain.author.pid, signal.SIGCONT)
        seconds, text = answers[0] if answers else (math.inf, "")
        result.add("a broker's call is answered after", seconds, MAX_BROKER_S, " s")
        result.check("it names the transaction", bool(TX_HASH.search(text)))
        result.check("it says: not yet included", bool(NOT_YET.search(text)))
        result.facts["answer"] = text
        result.add("in step again after", _until(lambda: node.best > head + 1), MAX_AGAIN_S, " s")
        end(result, node)


def _until(met: Callable[[], object]) -> float:
    """Return the seconds until the condition holds; infinity if it never does."""
    try:
        return until(met, CALL_S)
    except TimeoutError:
        return math.inf


def _call_broker(node: Node) -> list[tuple[float, str]]:
    """Make one call in a separate thread; return a list that gets its duration and result."""
    answers: list[tuple[float, str]] = []

    def call() -> None:
        began = time.monotonic()
        try:
            text = json.dumps(
                WebSocket(node.rpc_port).call("broker_requestSwapDepositAddress", *CHANNEL, seconds=CALL_S)
            )
        except (RpcFailed, OSError) as error:
            text = str(error)
        answers.append((time.monotonic() - began, text))

    threading.Thread(target=call, daemon=True).start()
    return answers


# --- row 18


def twice(result: Result, folder: Path, times: Times) -> None:
    """Play row 18: peers open a second connection before the first one ends.

    Others keep the pool busy. The ends of links wait behind what the busy pool has not taken yet; a new link
    must not be taken for the old one that ends.
    """
    rounds = QUICK_ROUNDS if times == Times.quick() else ROUNDS
    with stage(folder) as chain:
        node = chain.follower()
        chain.in_step(node)
        transactions = remarks(chain.author.process, rounds, 0)
        future = remarks(chain.author.process, FUTURE * rounds, FIRST_FUTURE)
        target, received = chain.target(node), 0
        for number, transaction in enumerate(transactions):
            load = [bytes.fromhex(encoded[2:]) for encoded in future[number * FUTURE : (number + 1) * FUTURE]]
            received += trio.run(_come_twice, target, node, transaction, load)
        result.add(f"of {rounds * TWINS} peers receive it", received, rounds * TWINS, at_most=False)
        end(result, node)


async def _come_twice(target: Target, node: Node, transaction: str, load: list[bytes]) -> int:
    """Return the number of peers that receive a transaction after their second connection."""
    seeds = [secrets.token_bytes(32) for _ in range(TWINS)]
    async with trio.open_nursery() as nursery:
        ended = [trio.Event() for _ in seeds]
        for seed, leave in zip(seeds, ended, strict=True):
            await nursery.start(_stay, target, seed, leave)
        with held(children(node.pid)):
            async with trio.open_nursery() as loaders:
                for number in range(LOADERS):
                    loaders.start_soon(_keep_busy, target, load[number::LOADERS])
            second = []
            for seed, leave in zip(seeds, ended, strict=True):
                second.append(await nursery.start(_stay, target, seed, trio.Event(), leave))
            await trio.sleep(1)
        joined = [await stranger.joined(TX_S, "transactions/1") for stranger in second]
        await trio.sleep(SETTLE_S)
        await trio.to_thread.run_sync(node.call, "author_submitExtrinsic", transaction)
        received = [await _receives(stranger, transaction) for stranger in second]
        nursery.cancel_scope.cancel()
    return sum(has_received and has_joined for has_received, has_joined in zip(received, joined, strict=True))


@contextmanager
def held(processes: list[int]) -> Iterator[None]:
    """Stop the executor: the pool has to wait with its transactions."""
    signal_all(processes, signal.SIGSTOP)
    try:
        yield
    finally:
        signal_all(processes, signal.SIGCONT)


async def _stay(
    target: Target,
    seed: bytes,
    leave: trio.Event,
    replaced: trio.Event | None = None,
    *,
    task_status: trio.TaskStatus[Stranger],
) -> None:
    """Keep a connection of the peer with this key, until it has to disconnect.

    `replaced` is the other connection's end: with both alive, each would dial again when the node prefers the
    other.
    """
    stranger = Stranger(target, seed, gossip=True)
    async with stranger.connected():
        if replaced is not None:
            replaced.set()
        await stranger.joined()
        task_status.started(stranger)
        await leave.wait()


async def _keep_busy(target: Target, load: list[bytes]) -> None:
    """Send transactions that are valid later, which take the pool long; then disconnect."""
    stranger = Stranger(target, secrets.token_bytes(32), gossip=True)
    async with stranger.connected():
        if await stranger.joined(protocol="transactions/1"):
            stranger.say("transactions/1", encode_transactions(load))
            await trio.sleep(SENT_S)


async def _receives(stranger: Stranger, transaction: str) -> bool:
    """Return whether the peer receives a transaction that the node has accepted."""
    with trio.move_on_after(TX_S):
        async for event in stranger.events("transactions/1"):
            if isinstance(event, Received) and bytes.fromhex(transaction[2:]) in event.data:
                return True
    return False


# --- row 19


def slots(result: Result, folder: Path, times: Times) -> None:
    """Play row 19: blocks above the head with a forged slot and an unknown seal.

    The slot is far ahead, or before the parent's.
    """
    with stage(folder) as chain:
        node = chain.follower()
        chain.in_step(node)
        log_length = len(node.log)
        for name, slot in (("far", FAR_SLOT), ("early", 1)):
            let_go = trio.run(_announce_slot, chain.target(node), slot)
            result.add(f"{name} slot: announcers let go of, of {TRIES}", let_go, 1, at_most=False)
        result.add("lines about our clock", node.log[log_length:].count(CLOCK), 0)
        result.check("in step", chain.is_in_step(node))
        end(result, node)


async def _announce_slot(target: Target, slot: int) -> int:
    """Return the number of peers that are disconnected for announcing such a block."""
    author, gone = Author(target), 0
    for _ in range(TRIES):
        blocks: dict[bytes, Header] = {}
        stranger = Stranger(target, secrets.token_bytes(32), answers={**SILENT, "sync/2": _giving(blocks)})
        async with stranger.connected():
            await stranger.joined()
            with trio.move_on_after(TRY_S):
                while stranger.takes_part():
                    number, parent = author.header()
                    header = Header(
                        parent, number + 1, bytes(32), ordered_root([], 0),
                        (pre_runtime_item(slot), seal_item(os.urandom(64))),
                    )  # fmt: skip
                    blocks[header.hash] = header
                    stranger.say("block-announces/1", BlockAnnounce(header).encode())
                    await trio.sleep(0.5)
            gone += not stranger.takes_part()
    return gone


def _giving(blocks: dict[bytes, Header]) -> Callable[[str, bytes], Awaitable[bytes | None]]:
    async def give(peer: str, data: bytes) -> bytes | None:
        start: Any = BlockRequest.decode(data).start
        header = blocks.get(start)
        return BlockResponse((BlockData(start, header),) if header else ()).encode()

    return give
