"""Time that a development node takes for the calls of brokers and their users.

Measured: one request for a deposit address and two hundred at once, every read of the cf_* methods, and five
hundred listeners that wait for the swaps of the next block. Other load on the machine takes time from all of
it, so each figure is the best of some rounds, and the first row says how busy the machine was: with two cores
and a load of 2, expect about twice the time.
"""

from __future__ import annotations

import http.client
import json
import os
import selectors
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from cfnode.core import ss58
from cfnode.core.extrinsic import decode_extrinsic
from cfnode.core.keys import Keypair
from cfnode.core.scale.metadata import decode_metadata
from cfnode.rpc.cf.rows import CF, MONITORING
from cfnode.rpc.table.rows import Method
from cfnode.store.keystore import Keystore
from scripts.benchmarks.rpc import connect_websocket
from tests.process import NodeProcess, running_node
from tests.rpc.samples import PARAMS

Row = tuple[str, str, str, bool | None]

ROUNDS = 3
ALONE = 15
AT_ONCE = 200
LISTENERS = 500
READS = 9
BLOCKS = 8

ETH = {"chain": "Ethereum", "asset": "ETH"}
USDC = {"chain": "Ethereum", "asset": "USDC"}
EVM_ADDRESS = b"\x11" * 20
REQUEST = {
    "source_asset": ETH,
    "destination_asset": USDC,
    "destination_address": f"0x{EVM_ADDRESS.hex()}",
    "broker_commission": 10,
    "refund_parameters": {
        "retry_duration": 10,
        "min_price": "0x0",
        "refund_address": f"0x{EVM_ADDRESS.hex()}",
    },
}
BROKER = Keypair.from_suri("//Broker", "sr25519")


def run() -> list[Row]:
    """Return the rows of this benchmark."""
    load = f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    with tempfile.TemporaryDirectory(prefix="cfnode-bench-") as name:
        folder = Path(name)
        rows = [*_channels(folder), *_reads(folder), *_listeners(folder)]
        return [("load before the swap figures", load, "", None), *rows]


class Client:
    """HTTP connection to a node."""

    def __init__(self, node: NodeProcess) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port_of(node))
        self._connection.connect()

    def call(self, method: str, params: Any = ()) -> Any:
        """Return the whole answer to a call."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self._connection.request("POST", "/", json.dumps(request), {"content-type": "application/json"})
        return json.loads(self._connection.getresponse().read())

    def timed(self, method: str, params: Any = ()) -> tuple[float, Any]:
        """Return the seconds of a call, and its answer."""
        began = time.perf_counter()
        answer = self.call(method, params)
        return time.perf_counter() - began, answer


@contextmanager
def _node(folder: Path, name: str, *flags: str) -> Iterator[NodeProcess]:
    """Run a development node with a broker key."""
    base = folder / name
    Keystore(base / "base" / "chains" / "dev" / "keystore").insert("brok", "//Broker")
    with running_node(base, "--dev", "--rpc-max-connections=600", *flags) as node:
        yield node


def port_of(node: NodeProcess) -> int:
    """Return the port of a node's server."""
    return int(node.url.rpartition(":")[2])


def milliseconds(seconds: float) -> str:
    """Return seconds as text in milliseconds."""
    return f"{seconds * 1000:,.1f} ms"


# Deposit addresses


def _channels(folder: Path) -> list[Row]:
    with _node(folder, "channels", "--dev-seal=instant") as node:
        client = Client(node)
        while "error" in client.call("broker_register_account"):
            time.sleep(0.2)  # the first block funds the account
        single_s = min(median(_request(client) for _ in range(ALONE)) for _ in range(ROUNDS))
        together_s, faults = _at_once(node, client)
    return [
        (
            "one deposit address, its block made, imported and final, median",
            milliseconds(single_s),
            "≤ 30 ms without the block",
            single_s <= 0.030,
        ),
        (
            f"{AT_ONCE} deposit addresses at once over HTTP, channels distinct, each nonce once",
            f"{together_s:.2f} s{faults}",
            f"≤ {AT_ONCE * 15 / 1000:.0f} s",
            together_s <= AT_ONCE * 0.015 and not faults,
        ),
    ]


def _request(client: Client) -> float:
    seconds, answer = client.timed("broker_request_swap_deposit_address", REQUEST)
    assert "result" in answer, answer
    return seconds


def _at_once(node: NodeProcess, client: Client) -> tuple[float, str]:
    """Return the seconds until the last answer, and faults of the answers."""
    first, block = _next_nonce(client), best_block(client)
    method = "broker_request_swap_deposit_address"
    seconds, answers = at_once(node, [(method, REQUEST)] * AT_ONCE)
    channels = {answer["result"]["channel_id"] for answer in answers if "result" in answer}
    nonces = nonces_of(client, range(block + 1, best_block(client) + 1))
    if len(channels) == AT_ONCE and nonces == list(range(first, first + AT_ONCE)):
        return seconds, ""
    return seconds, f" ({len(channels)} channels, {len(nonces)} nonces, {len(set(nonces))} of them distinct)"


def at_once(node: NodeProcess, calls: Sequence[tuple[str, Any]]) -> tuple[float, list[Any]]:
    """Make calls at once, each over its own connection.

    Returns seconds until the last answer, and all answers.
    """
    answers: list[Any] = []

    def ask(client: Client, method: str, params: Any) -> None:
        answers.append(client.call(method, params))

    threads = [threading.Thread(target=ask, args=(Client(node), *call)) for call in calls]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began, answers


def _next_nonce(client: Client) -> int:
    nonce: int = client.call("system_accountNextIndex", [ss58.encode(BROKER.account, 2112)])["result"]
    return nonce


def best_block(client: Client) -> int:
    """Return the number of the best block."""
    return int(client.call("chain_getHeader")["result"]["number"], 16)


def nonces_of(client: Client, blocks: range) -> list[int]:
    """Return the nonces of all signed transactions of these blocks, in their order there."""
    metadata = decode_metadata(bytes.fromhex(client.call("state_getMetadata")["result"][2:]))
    nonces = []
    for number in blocks:
        block_hash = client.call("chain_getBlockHash", [number])["result"]
        body = client.call("chain_getBlock", [block_hash])["result"]["block"]["extrinsics"]
        decoded = [decode_extrinsic(metadata, bytes.fromhex(extrinsic[2:])) for extrinsic in body]
        nonces += [
            extrinsic.nonce
            for extrinsic in decoded
            if extrinsic.signed is not None and extrinsic.nonce is not None
        ]
    return nonces


# Reads


def _reads(folder: Path) -> list[Row]:
    with _node(folder, "reads", "--dev-seal=manual") as node:
        client = Client(node)
        for _ in range(3):
            client.call("dev_newBlock")
        took = {
            row.name: min(_read(client, row.name) for _ in range(READS))
            for row in (*CF, *MONITORING)
            if isinstance(row, Method)
        }
        environment = min(_environment(client) for _ in range(BLOCKS))
    slowest = sorted(took, key=lambda name: -took[name])[:3]
    names = ", ".join(f"{name} {milliseconds(took[name])}" for name in slowest)
    return [
        ("cf_environment of a new block", milliseconds(environment), "≤ 30 ms", environment <= 0.030),
        (
            f"{len(took)} cf_ reads over HTTP, median",
            milliseconds(median(took.values())),
            "≤ 5 ms",
            median(took.values()) <= 0.005,
        ),
        ("the slowest of them", names, "≤ 5 ms", took[slowest[0]] <= 0.005),
    ]


def _read(client: Client, name: str) -> float:
    return client.timed(name, PARAMS.get(name, []))[0]


def _environment(client: Client) -> float:
    client.call("dev_newBlock")
    seconds, answer = client.timed("cf_environment")
    assert "result" in answer, answer
    return seconds


# Listeners


def _listeners(folder: Path) -> list[Row]:
    with _node(folder, "listeners", "--dev-seal=manual") as node, ExitStack() as stack:
        Client(node).call("dev_newBlock")
        selector = stack.enter_context(selectors.DefaultSelector())
        for _ in range(LISTENERS):
            listener = stack.enter_context(connect_websocket(port_of(node)))
            listener.sendall(masked(message("cf_subscribe_scheduled_swaps", [ETH, USDC])))
            selector.register(listener, selectors.EVENT_READ, listener)
        hear(selector, 2 * LISTENERS)  # the answer, and the swaps of the present block
        author = stack.enter_context(connect_websocket(port_of(node)))
        author.sendall(masked(message("chain_subscribeNewHeads", [])))
        selector.register(author, selectors.EVENT_READ, author)
        hear(selector, 2)
        lateness_s = min(_lateness(selector, author) for _ in range(BLOCKS))
    return [
        (
            f"{LISTENERS} subscribers of scheduled swaps are notified of a block, p99",
            milliseconds(lateness_s),
            "≤ 150 ms",
            lateness_s <= 0.150,
        )
    ]


def message(method: str, params: Any) -> bytes:
    """Return a request."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def masked(text: bytes) -> bytes:
    """Return a text frame under the mask 0.

    It is filled up with spaces to the length at which frames have one form.
    """
    text = text.ljust(126)
    return bytes([0x81, 0x80 | 126]) + len(text).to_bytes(2, "big") + bytes(4) + text


def hear(selector: selectors.BaseSelector, messages: int) -> None:
    """Read so many messages."""
    while messages > 0:
        for key, _ in selector.select(10):
            messages -= key.data.recv(65536).count(b'{"jsonrpc"')


def _lateness(selector: selectors.BaseSelector, author: socket.socket) -> float:
    """Return the seconds from a block's header until 99 of 100 listeners have received their message.

    The header's time is that at its own subscriber.
    """
    author.sendall(masked(message("dev_newBlock", [])))
    header, answered, times = 0.0, False, list[float]()
    while len(times) < LISTENERS or not header or not answered:
        for key, _ in selector.select(10):
            data, now = key.data.recv(65536), time.perf_counter()
            if key.data is not author:
                times.append(now)
                continue
            header = now if b"chain_newHead" in data else header
            answered = answered or b'"id":1' in data
    return sorted(times)[LISTENERS * 99 // 100] - header
