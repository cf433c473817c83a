"""Scenes of broker calls on a busy machine, and of a node that lacks resources: rows 21 and 22."""

from __future__ import annotations

import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cfnode.core.keys import Keypair
from scripts.benchmarks.follow import remarks
from scripts.redteam_suite.attacks_wire import from_one_address, use_up_files
from scripts.redteam_suite.channels import Opened, check_channels
from scripts.redteam_suite.figures import Result, children, last_lines, program_errors, signal_all
from scripts.redteam_suite.honest import CHANNEL
from scripts.redteam_suite.load import Times
from scripts.redteam_suite.rpc_wire import RpcFailed, WebSocket, call_json, connect, http_request
from scripts.redteam_suite.stage import Node, Stage, stage
from tests.process import command, environment

CALLS = 90
ROUNDS, QUICK_ROUNDS = 4, 2
CALL_S = 150.0
BURNERS = 4
SHORT_BLOCK_MS = 300
WAITING, FIRST_FUTURE = 300, 1_000
RUN_S, HOLD_S = 0.6, 0.6
"""Seconds in which the executor runs, and in which it is held."""
BURN = "while True: pass"
SPARE_FILES = 8
SHORT_OF_FILES_S = 6.0
MAX_LINES_A_SECOND = 3.0
ALL_CONNECTIONS = 140
"""Number of connections: more than the 100 that a node has for all clients."""
NESTED = 15_000
"""Number of brackets: a key file of more than 16 KiB is not read at all."""


# --- row 21


@contextmanager
def busy_machine(node: Node) -> Iterator[None]:
    """Load all processors, and stop the node's executor from time to time."""
    ended = threading.Event()

    def hold_back() -> None:
        while not ended.wait(RUN_S):
            pids = children(node.pid)
            signal_all(pids, signal.SIGSTOP)
            ended.wait(HOLD_S)
            signal_all(pids, signal.SIGCONT)

    thread = threading.Thread(target=hold_back, daemon=True)
    with ExitStack() as stack:
        for _ in range(BURNERS):
            process = subprocess.Popen([sys.executable, "-c", BURN])
            stack.callback(process.wait)
            stack.callback(process.kill)
        thread.start()
        stack.callback(thread.join)
        stack.callback(ended.set)
        yield


def many_calls(result: Result, folder: Path, times: Times) -> None:
    """Play row 21: each call gets an answer, and the answer is true.

    Blocks are many and short, and transactions that are valid later wait in the pool, which has to validate
    them again at each block.
    """
    rounds = QUICK_ROUNDS if times == Times.quick() else ROUNDS
    with stage(folder, f"--dev-block-time={SHORT_BLOCK_MS}") as chain:
        chain.author.call("broker_registerAccount")
        for transaction in remarks(chain.author.process, WAITING, FIRST_FUTURE):
            chain.author.call("author_submitExtrinsic", transaction)
        for number in range(1, rounds + 1):
            channels_before = chain.channels()
            with busy_machine(chain.author):
                opened = open_at_once(chain.author, CALLS)
            check_channels(result, chain, opened, channels_before, f"round {number}: ")
        result.add("program errors", program_errors(chain.author.log), 0)
        if not result.met:
            result.log = last_lines(chain.author.log)


def open_at_once(node: Node, count: int) -> list[Opened]:
    """Return the answers of so many concurrent calls."""
    barrier, opened = threading.Barrier(count), [Opened() for _ in range(count)]

    def call(into: Opened) -> None:
        try:
            client = WebSocket(node.rpc_port)
            barrier.wait(60)
            into.answer = client.call("broker_requestSwapDepositAddress", *CHANNEL, seconds=CALL_S)
        except (RpcFailed, OSError, threading.BrokenBarrierError) as error:
            into.why = str(error) or type(error).__name__

    threads = [threading.Thread(target=call, args=(attempt,), daemon=True) for attempt in opened]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(CALL_S + 60)
    return opened


# --- row 22


def lacks(result: Result, folder: Path, times: Times) -> None:
    """Play row 22: no descriptors, a client with all connections, two lengths, a bad key file."""
    with stage(folder) as chain:
        node = chain.follower("--rpc-max-connections=100")
        chain.in_step(node)
        _two_lengths(result, node)
        _one_client(result, chain, node)
        _no_files(result, chain, node)
        _nested_key_file(result, chain, folder)


def _two_lengths(result: Result, node: Node) -> None:
    """Send a chunked message with a second length.

    A proxy in front of the node may see two messages.
    """
    body = call_json("system_health", [])
    chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    with connect(node.rpc_port) as sock:
        sock.sendall(http_request(node.rpc_port, chunks, "transfer-encoding: chunked\r\n"))
        sock.settimeout(5)
        try:
            status = sock.recv(4096).split(b" ")[1:2]
        except OSError:
            status = []
    result.check("content-length together with transfer-encoding is refused", status != [b"200"])
    result.facts["two lengths"] = [code.decode() for code in status]


def _one_client(result: Result, chain: Stage, node: Node) -> None:
    sockets = from_one_address(chain.target(node), ALL_CONNECTIONS)
    time.sleep(1)
    result.check("another client is served while one opens 140 connections", _is_served(node))
    _close(sockets)


def _is_served(node: Node) -> bool:
    try:
        client = WebSocket(node.rpc_port)
        with client.sock:
            return bool(client.call("system_health", seconds=5) is not None)
    except (RpcFailed, OSError):
        return False


def _no_files(result: Result, chain: Stage, node: Node) -> None:
    """Attack a node that has few descriptors left."""
    target, log_length = chain.target(node), len(node.log)
    file_limits = resource.prlimit(node.pid, resource.RLIMIT_NOFILE)
    open_files = len(list(Path(f"/proc/{node.pid}/fd").iterdir()))
    resource.prlimit(node.pid, resource.RLIMIT_NOFILE, (open_files + SPARE_FILES, file_limits[1]))
    sockets = use_up_files(target)
    time.sleep(SHORT_OF_FILES_S)
    lines = node.log[log_length:]
    _close(sockets)
    resource.prlimit(node.pid, resource.RLIMIT_NOFILE, file_limits)
    result.add("program errors without descriptors", program_errors(lines), 0)
    result.add("log lines a second", len(lines.splitlines()) / SHORT_OF_FILES_S, MAX_LINES_A_SECOND)
    time.sleep(3)
    result.check("it serves again afterwards", _is_served(node))
    result.add("in step after", chain.in_step(node), 30, " s")
    if not result.met:
        result.log = last_lines(lines)


def _nested_key_file(result: Result, chain: Stage, folder: Path) -> None:
    """Start a node with a key file of only opening brackets.

    It starts without the key, or reports it.
    """
    keys = folder / "nested-keys"
    keys.mkdir()
    public = Keypair.from_suri("//Somebody", "sr25519").public.hex()
    (keys / f"62726f6b{public}").write_text("[" * NESTED)
    arguments = command(
        "run", "--dev", "--tmp", "--rpc-port=0", "--port=0", "--no-prometheus", f"--keystore-path={keys}"
    )
    process = subprocess.Popen(arguments, env=environment(folder), stderr=subprocess.PIPE, text=True)
    try:
        _, log = process.communicate(timeout=8)
    except subprocess.TimeoutExpired:
        process.terminate()
        _, log = process.communicate(timeout=30)
    result.add("program errors over a nested key file", program_errors(log), 0)
    result.facts["nested key file"] = log.strip().splitlines()[-1:]


def _close(held: list[socket.socket]) -> None:
    for sock in held:
        sock.close()
