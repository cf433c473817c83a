"""Speed of a node that follows the chain: behind by hundreds of blocks, and block by block.

A development node makes blocks on demand; another one joins it over loopback with `--sync=full` and executes
every block. Once in step, a client listens to the new heads of both: the time between the two notifications
is what announcement, request, transfer and execution take.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import trio
from trio_websocket import WebSocketConnection, open_websocket_url

from cfnode.core.era import IMMORTAL
from cfnode.core.extrinsic import sign_extrinsic
from cfnode.core.keys import Keypair
from cfnode.core.scale.metadata import decode_metadata
from tests.process import NodeProcess, command, running_node

BLOCKS = 600
FIRST = 50
"""Number of blocks that do not count: the node is still starting."""
FINAL_EACH = 10
LOOK_S = 0.25
"""Seconds between two calls. More frequent ones would cost the node more than a block does."""
EMPTY_RUNS, FULL_RUNS = 20, 5
EXTRINSICS = 600
LISTENING = re.compile(r"Listening for peers at (\S+)")
LISTEN = "--listen-addr=/ip4/127.0.0.1/tcp/0"

Row = tuple[str, str, str, bool | None]


@contextmanager
def _author(folder: Path) -> Iterator[tuple[NodeProcess, str]]:
    """Run a node that makes blocks on demand; yield it and its address."""
    flags = ("--dev", "--dev-seal=manual", "--blocks-pruning=archive", "--state-pruning=archive")
    with running_node(folder, *flags, LISTEN, "--no-prometheus") as node:
        while (match := LISTENING.search(node.log)) is None:  # logged after the JSON-RPC server is up
            time.sleep(0.01)
        yield node, match[1]


@contextmanager
def _follower(folder: Path, address: str) -> Iterator[NodeProcess]:
    spec, base = folder / "spec.json", folder / "follower"
    base.mkdir()
    subprocess.run(command("export-chain-spec", "--dev", "-o", str(spec)), check=True)
    flags = (f"--chain={spec}", "--sync=full", f"--reserved-nodes={address}", "--reserved-only")
    with running_node(base, *flags, LISTEN, "--no-prometheus") as node:
        yield node


def _best(node: NodeProcess) -> int:
    return int(node.call("chain_getHeader")["number"], 16)


def _catch_up(node: NodeProcess) -> float:
    """Return the blocks a second, from the first ones on until the head."""
    while (first := _best(node)) < FIRST:
        time.sleep(0.01)
    began = time.perf_counter()
    while _best(node) < BLOCKS:
        time.sleep(LOOK_S)
    return (BLOCKS - first) / (time.perf_counter() - began)


# --- block by block


def remarks(node: NodeProcess, count: int, nonce: int) -> list[str]:
    """Return signed remarks of //Alice."""
    alice = Keypair.from_suri("//Alice")
    metadata = decode_metadata(bytes.fromhex(node.call("state_getMetadata")[2:]))
    genesis = bytes.fromhex(node.call("chain_getBlockHash", 0)[2:])
    version = node.call("state_getRuntimeVersion")
    call = metadata.call_codec.encode(("System", ("remark", {"remark": bytes(32)})))
    signed = [
        sign_extrinsic(
            metadata, call, alice, nonce=nonce + index, era=IMMORTAL, era_hash=genesis, genesis_hash=genesis,
            spec_version=version["specVersion"], transaction_version=version["transactionVersion"],
        )
        for index in range(count)
    ]  # fmt: skip
    return [f"0x{extrinsic.hex()}" for extrinsic in signed]


async def _heads(socket: WebSocketConnection) -> None:
    """Subscribe, and read what comes at once: the id and the present head."""
    request = {"jsonrpc": "2.0", "id": 1, "method": "chain_subscribeNewHeads", "params": []}
    await socket.send_message(json.dumps(request))
    for _ in range(2):
        await socket.get_message()


async def _latencies(author: NodeProcess, follower: NodeProcess, blocks: Sequence[Any]) -> list[float]:
    """Return the seconds between the two nodes' notifications, for each block."""
    latencies = []
    async with (
        open_websocket_url(author.ws_url) as author_socket,
        open_websocket_url(follower.ws_url) as follower_socket,
    ):
        for socket in (author_socket, follower_socket):
            await _heads(socket)
        for transactions in blocks:
            times: dict[str, float] = {}

            async def wait(name: str, socket: WebSocketConnection, times: dict[str, float] = times) -> None:
                await socket.get_message()
                times[name] = time.perf_counter()

            async with trio.open_nursery() as nursery:
                nursery.start_soon(wait, "author", author_socket)
                nursery.start_soon(wait, "follower", follower_socket)
                order = {"transactions": transactions, "finalize": True}
                await trio.to_thread.run_sync(author.call, "dev_newBlock", order)
            latencies.append(times["follower"] - times["author"])
    return latencies


def _full_blocks(author: NodeProcess) -> list[list[str]]:
    signed = remarks(author, EXTRINSICS * FULL_RUNS, 0)
    return [signed[start : start + EXTRINSICS] for start in range(0, len(signed), EXTRINSICS)]


def run() -> list[Row]:
    """Return the rows of the table."""
    with (
        tempfile.TemporaryDirectory(prefix="cfnode-bench-") as name,
        _author(Path(name)) as (author, address),
    ):
        for number in range(1, BLOCKS + 1):
            author.call("dev_newBlock", {"finalize": number % FINAL_EACH == 0})
        with _follower(Path(name), address) as follower:
            rate = _catch_up(follower)
            empty = statistics.median(trio.run(_latencies, author, follower, [[]] * EMPTY_RUNS))
            full = statistics.median(trio.run(_latencies, author, follower, _full_blocks(author)))
    return [
        ("catching up, near-empty blocks executed", f"{rate:.0f} blocks/s", "≥ 100 blocks/s", rate >= 100),
        (
            "from a peer's new head to ours, near-empty block",
            f"{empty * 1e3:.0f} ms",
            "≤ 100 ms",
            empty <= 0.1,
        ),
        (f"the same with {EXTRINSICS} extrinsics", f"{full * 1e3:.0f} ms", "≤ 400 ms", full <= 0.4),
    ]


if __name__ == "__main__":
    for row in run():
        print(*row, sep="  ")
