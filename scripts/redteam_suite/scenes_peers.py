"""A peer that stands still, one that comes twice, one that lies about its slot: rows 17, 18 and 19."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import trio

from cfnode.core.aura import pre_runtime_item, seal_item
from cfnode.core.header import Header
from cfnode.core.trie import ordered_root
from cfnode.core.wire.announces import BlockAnnounce
from cfnode.core.wire.blocks import BlockData, BlockRequest, BlockResponse
from cfnode.network.model import Received
from scripts.benchmarks.follow import remarks
from scripts.redteam_suite.attacks_chain import SILENT, Author
from scripts.redteam_suite.beside import attacking
from scripts.redteam_suite.figures import Result, last_lines, program_errors
from scripts.redteam_suite.honest import CHANNEL
from scripts.redteam_suite.load import Times
from scripts.redteam_suite.peers import Stranger
from scripts.redteam_suite.rpc_wire import RpcFailed, WebSocket
from scripts.redteam_suite.stage import Node, stage, until
from scripts.redteam_suite.target import Target

STILL_S = 50.0
"""Seconds in which the only peer stands still: eight block times of the main net."""
MIN_WARNINGS = 2
MAX_BROKER_S = 30.0
CALL_S = 90.0
WARNING = re.compile(r"\bWARN(?:ING)?\b")
TX_HASH = re.compile(r"0x[0-9a-f]{64}")
NOT_YET = re.compile(r"not yet included|not yet in a block", re.IGNORECASE)
ROUNDS, QUICK_ROUNDS, COMINGS = 6, 3, 8
TX_S = 15.0
FAR_SLOT = 2**40
TRIES = 6
TRY_S = 4.0
CLOCK = "is the clock right"


def end(result: Result, node: Node) -> None:
    result.add("program errors", program_errors(node.log), 0)
    result.check("alive", node.is_alive)
    if not result.met:
        result.log = last_lines(node.log)


# --- row 17


def alone(result: Result, folder: Path, times: Times) -> None:
    """Row 17: the process of the only peer is stopped."""
    with stage(folder) as chain:
        node = chain.follower()
        chain.ready(node)
        before = len(node.log)
        os.kill(chain.author.pid, signal.SIGSTOP)
        try:
            answers = _call_broker(node)
            time.sleep(STILL_S)
            result.add("readiness", node.readiness, 500, at_most=False)
            warnings = len(WARNING.findall(node.log[before:]))
            result.add(f"warnings in {STILL_S:.0f} s", warnings, MIN_WARNINGS, at_most=False)
            until(lambda: answers, CALL_S, "the broker's call ends")
        finally:
            os.kill(chain.author.pid, signal.SIGCONT)
        seconds, text = answers[0]
        result.add("a broker's call is answered after", seconds, MAX_BROKER_S, " s")
        result.check("it names the transaction", bool(TX_HASH.search(text)))
        result.check("it says: not yet included", bool(NOT_YET.search(text)))
        result.facts["answer"] = text
        result.add("in step again after", chain.in_step(node), 30, " s")
        end(result, node)


def _call_broker(node: Node) -> list[tuple[float, str]]:
    """One call in a thread of its own: how long it took, and what came of it."""
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
    """Row 18: a peer opens a second connection before its first one ends, again and again, under load."""
    rounds = QUICK_ROUNDS if times == Times.quick() else ROUNDS
    with stage(folder) as chain:
        node = chain.follower()
        chain.in_step(node)
        transactions = remarks(chain.author.process, rounds, 0)
        target = chain.target(node)
        got = 0
        for transaction in transactions:
            got += trio.run(_come_twice, target, node, transaction, folder)
        result.add(f"of {rounds} transactions the peer hears", got, rounds, at_most=False)
        end(result, node)


async def _come_twice(target: Target, node: Node, transaction: str, folder: Path) -> bool:
    seed = secrets.token_bytes(32)
    async with trio.open_nursery() as nursery:
        last: Stranger | None = None
        leave = trio.Event()
        with attacking("10", target, 60, folder / "attacker.log"):
            for _ in range(COMINGS):
                previous, leave = leave, trio.Event()
                last = await nursery.start(_stay, target, seed, leave)
                previous.set()
                await trio.sleep(0.05)
        heard = await _hears(last, node, transaction) if last is not None else False
        nursery.cancel_scope.cancel()
    return heard


async def _stay(
    target: Target, seed: bytes, leave: trio.Event, *, task_status: trio.TaskStatus[Stranger]
) -> None:
    """One connection of the peer, until the next one is there."""
    while True:
        stranger = Stranger(target, seed, gossip=True)
        with suppress(Exception):
            async with stranger.connected():
                await stranger.joined()
                task_status.started(stranger)
                await leave.wait()
                return
        await trio.sleep(0.2)


async def _hears(stranger: Stranger, node: Node, transaction: str) -> bool:
    """Does a transaction that the node takes come to the peer?"""
    if not await stranger.joined(TX_S, "transactions/1"):
        return False
    await trio.to_thread.run_sync(node.call, "author_submitExtrinsic", transaction)
    with trio.move_on_after(TX_S):
        async for event in stranger.events("transactions/1"):
            if isinstance(event, Received) and bytes.fromhex(transaction[2:]) in event.data:
                return True
    return False


# --- row 19


def slots(result: Result, folder: Path, times: Times) -> None:
    """Row 19: blocks above the head with a slot far ahead, or before their parent's, and a seal of nobody."""
    with stage(folder) as chain:
        node = chain.follower()
        chain.in_step(node)
        before = len(node.log)
        for name, slot in (("far", FAR_SLOT), ("early", 1)):
            let_go = trio.run(_announce_slot, chain.target(node), slot)
            result.add(f"{name} slot: announcers let go of, of {TRIES}", let_go, 1, at_most=False)
        result.add("lines about our clock", node.log[before:].count(CLOCK), 0)
        result.check("in step", chain.is_in_step(node))
        end(result, node)


async def _announce_slot(target: Target, slot: int) -> int:
    """How many of several peers that announce such a block are let go of."""
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
