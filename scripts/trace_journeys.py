"""Trace the way of a request, a start and a block through the files of `cfnode`.

A node of a development chain runs in this process, its client knows nothing but sockets, and the peer of the
last journey is a process of its own. A journey's files are those whose functions run between its beginning
and its end, in all threads of the node; the executor process is not among them. A move is a call from one
file into another. Blocks are made on demand, so nothing else happens meanwhile but the node's timers: of
several equal journeys the one with the fewest files counts.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import threading
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import trio

from cfnode.core.chainspec import to_json
from cfnode.devchain.chain import run
from cfnode.devchain.config import DevConfig
from cfnode.devchain.runtime.genesis import dev_chain_spec
from cfnode.devchain.serving import serve
from cfnode.node.config import Config, NetworkConfig, RpcConfig
from cfnode.node.node import Node
from tests.process import NodeProcess, running_node

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = f"{ROOT / 'cfnode'}/"
TIMES = 3
QUIET_S = 0.5
"""Seconds after which a new block has no consequences any more."""
GENERATORS = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
BROKER = "//Broker of the journeys"
LISTEN = "/ip4/127.0.0.1/tcp/0"
ETH, USDC = ({"chain": "Ethereum", "asset": asset} for asset in ("ETH", "USDC"))
EVENTS = "0x26aa394eea5630e07c48ae0c9558cef780d41e5e16056765bc8461851072c9d7"
"""Storage key of a block's events."""
HEAD = "POST / HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
LISTENING = re.compile(r"Listening for peers at (\S+)/p2p/")
ADDRESS = f"0x{'01' * 20}"
REFUND = {"retry_duration": 10, "refund_address": ADDRESS, "min_price": "0x0"}
CHANNEL = [USDC, ETH, ADDRESS, 10, None, None, None, REFUND]


@dataclass
class Journey:
    """Files below `cfnode/` in which code ran, in the order of their first calls, and the moves."""

    name: str = ""
    files: dict[str, None] = field(default_factory=dict)
    moves: int = 0

    def note(self, frame: FrameType) -> None:
        """Record the call of a function of ours."""
        file = frame.f_code.co_filename.removeprefix(PACKAGE)
        self.files.setdefault(file)
        self.moves += file != _calling_file(frame)


class Tracer:
    """Profiler of the calls of all threads that begin after `install`, while there is a journey."""

    def __init__(self) -> None:
        self._journey: Journey | None = None

    def install(self) -> None:
        """Follow this thread and all later ones."""
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    @contextmanager
    def journey(self, name: str) -> Iterator[Journey]:
        """Record a journey that ends with the block."""
        self._journey = journey = Journey(name)
        try:
            yield journey
        finally:
            self._journey = None

    def _profile(self, frame: FrameType, event: str, _: Any) -> None:
        if self._journey is None or event != "call" or not frame.f_code.co_filename.startswith(PACKAGE):
            return
        if frame.f_code.co_name != "<module>" and not _is_resumed(frame):
            self._journey.note(frame)


def _is_resumed(frame: FrameType) -> bool:
    """Return whether a coroutine or a generator continues.

    The argument of its instruction RESUME says where.
    """
    return bool(frame.f_code.co_flags & GENERATORS and frame.f_code.co_code[frame.f_lasti + 1])


def _calling_file(frame: FrameType) -> str:
    """Return the file of ours from which a call came, whatever code of others lies between."""
    above = frame.f_back
    while above is not None and not above.f_code.co_filename.startswith(PACKAGE):
        above = above.f_back
    return "" if above is None else above.f_code.co_filename.removeprefix(PACKAGE)


# --- a client that uses nothing of ours


class Client:
    """JSON-RPC over one HTTP connection."""

    def __init__(self, stream: trio.SocketStream, host: str) -> None:
        self._stream = stream
        self._host = host

    async def call(self, method: str, *params: Any) -> Any:
        """Return the result of a call. Raise AssertionError with the error."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        await self._stream.send_all(HEAD.format(self._host, len(body)).encode() + body)
        received = b""
        while (split := received.partition(b"\r\n\r\n"))[1] == b"" or len(split[2]) < _announced(split[0]):
            received += await self._stream.receive_some()
        answer = json.loads(split[2])
        assert "result" in answer, answer
        return answer["result"]


def _announced(head: bytes) -> int:
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    return int(fields[b"content-length"])


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Client]:
    """Connect a client to the node at this address."""
    host = url.rpartition("/")[2]
    async with await trio.open_tcp_stream("127.0.0.1", int(host.rpartition(":")[2])) as stream:
        yield Client(stream, host)


# --- the journeys


@asynccontextmanager
async def node_of(
    config: Config, dev: DevConfig | None, tracer: Tracer
) -> AsyncIterator[tuple[Node, str, Journey]]:
    """Run a node in this process; yield it, the address of its JSON-RPC, and its start's journey."""
    addresses: list[str] = []

    async def service(node: Node, config: Config, *, task_status: trio.TaskStatus[None]) -> None:
        async with trio.open_nursery() as nursery:
            addresses.extend(await nursery.start(serve, node, config))
            task_status.started()

    async with trio.open_nursery() as nursery:
        with tracer.journey("start") as journey:
            node: Node = await nursery.start(partial(run, config, dev, services=[service]))
        try:
            yield node, addresses[0], journey
        finally:
            nursery.cancel_scope.cancel()


def config_in(folder: Path, **changes: Any) -> Config:
    """Return the settings of a node that uses nothing of this machine but a folder."""
    options = {
        "base_path": folder,
        "chain": "dev",
        "sync": "full",
        "prometheus": None,
        "rpc": RpcConfig(port=0),
    }
    return Config(**{**options, "network": NetworkConfig(listen=(LISTEN,)), **changes})


async def traced_call(tracer: Tracer, client: Client, name: str, method: str, *params: Any) -> Journey:
    """Return the journey of one call."""
    with tracer.journey(name) as journey:
        await client.call(method, *params)
    return journey


async def requests(tracer: Tracer, folder: Path) -> list[Journey]:
    """Return the journeys of a node's start, and of requests to it: of a new block, and repeated."""
    dev = DevConfig(seal="instant", broker_suri=BROKER)
    async with node_of(config_in(folder), dev, tracer) as (node, url, start), connected(url) as client:
        journeys = [start]

        async def call(name: str, *request: Any) -> None:
            journeys.append(await traced_call(tracer, client, name, *request))

        for _ in range(TIMES):
            await client.call("dev_newBlock")
            await trio.sleep(QUIET_S)
            await call("system_health", "system_health")
            for name, *request in (
                ("state_getStorage", "state_getStorage", EVENTS),
                ("cf_pool_info", "cf_pool_info", ETH, USDC),
            ):
                await call(f"{name}, first", *request)
                await call(f"{name}, repeated", *request)
            await call("broker_request_swap_deposit_address", "broker_request_swap_deposit_address", *CHANNEL)
        assert node.broker is not None
        return journeys


async def block(tracer: Tracer, folder: Path) -> list[Journey]:
    """Return the journeys of announced blocks, until this node knows that each is final."""
    spec = folder / "spec.json"
    spec.write_text(to_json(dev_chain_spec()))
    author = folder / "author"
    author.mkdir()
    with running_node(author, "--dev", "--dev-seal=manual", f"--listen-addr={LISTEN}") as process:
        async with connected(process.url) as client:
            return await _announced_blocks(tracer, client, process, folder, spec)


async def _announced_blocks(
    tracer: Tracer, client: Client, author: NodeProcess, folder: Path, spec: Path
) -> list[Journey]:
    address = f"{await _listening(author)}/p2p/{await client.call('system_localPeerId')}"
    network = NetworkConfig(listen=(LISTEN,), boot_nodes=(address,))
    config = config_in(folder / "follower", chain=str(spec), network=network)
    journeys = []
    async with node_of(config, None, tracer) as (node, _, _):
        for _ in range(TIMES + 1):  # the first ones are fetched, not announced
            with tracer.journey("an announced block, until it is final") as journey:
                block_hash = await client.call("dev_newBlock", {"finalize": True})
                with trio.fail_after(60):
                    await _final(node, bytes.fromhex(block_hash[2:]))
            journeys.append(journey)
            await trio.sleep(QUIET_S)
    return journeys[1:]


async def _listening(author: NodeProcess) -> str:
    """Return the address for peers, which a node logs after its JSON-RPC server is up."""
    with trio.fail_after(60):
        while (match := LISTENING.search(author.log)) is None:  # noqa: ASYNC110 - another process writes it
            await trio.sleep(0.05)
    return match[1]


async def _final(node: Node, block: bytes) -> None:
    while node.chain.finalized.hash != block:  # noqa: ASYNC110 - a subscription would be part of the journey
        await trio.sleep(0.01)


# --- what is printed


def shortest(journeys: Iterable[Journey]) -> list[Journey]:
    """Return of the journeys of one name the one with the fewest files."""
    by_name: dict[str, Journey] = {}
    for journey in journeys:
        best = by_name.setdefault(journey.name, journey)
        if (len(journey.files), journey.moves) < (len(best.files), best.moves):
            by_name[journey.name] = journey
    return list(by_name.values())


async def trace(tracer: Tracer, folder: Path) -> list[Journey]:
    """Return all journeys."""
    (folder / "node").mkdir()
    return [*await requests(tracer, folder / "node"), *await block(tracer, folder)]


def main() -> int:
    """Print the journeys as a table; with --files also the files of each."""
    parser = argparse.ArgumentParser(prog="scripts/journeys", description=__doc__)
    parser.add_argument("--files", action="store_true", help="list the files of each journey")
    shows_files = parser.parse_args().files
    tracer = Tracer()
    tracer.install()
    with TemporaryDirectory() as folder:
        journeys = shortest(trio.run(trace, tracer, Path(folder)))
    print("| journey | files | moves |\n|---|---|---|")
    for journey in journeys:
        print(f"| {journey.name} | {len(journey.files)} | {journey.moves} |")
    for journey in journeys if shows_files else ():
        print(f"\n{journey.name}")
        print("\n".join(f"  {file}" for file in journey.files))
    return 0


if __name__ == "__main__":
    sys.exit(main())
