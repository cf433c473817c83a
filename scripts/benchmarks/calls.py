"""Rate of calls that a node answers over HTTP, for each kind of call, repeated or each different.

`wrk` asks development nodes that make no blocks meanwhile: one with the runtime in Python, and one with that
of main net (where CFNODE_TEST_BERGHAIN_SPEC names its specification). If CFNODE_BENCH_BEFORE names a checkout
of an older version, with its .venv, both versions are asked by turns, and the ratios of their rates have
targets. Of the rounds, the one with the least 99th percentile counts, for other programs make answers slow.
Rates are compared with those of servers that send a fixed answer, and of calls of the runtime without a node.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from cfnode.core import ss58
from cfnode.core.chainspec import parse
from cfnode.runtime.genesis_state import GenesisRuntime
from cfnode.runtime.wasm.runtime import wasm_runtime
from scripts.benchmarks.rpc import CONNECTIONS, connect_websocket, rate, server, websocket_request

HERE = Path(__file__).resolve().parent.parent.parent
ROUNDS = 4
OLDER_ROUNDS = 2
"""Number of rounds of the older version, by turns with the first ones."""
SECONDS = 4
"""Seconds of a round. In a shorter one the 99th percentile is that of the first moments, of connecting."""
IDLE_S = 5.0
"""Seconds from the first answer to a read of the memory."""
ACCOUNTS = 60_000
KEYS = 200_000
NUMBER = "0x26aa394eea5630e07c48ae0c9558cef702a5c1b19ab7a04f536c519aca4983ac"
"""The key of System.Number."""
NONCE = "AccountNonceApi_account_nonce"
MAX_SPREAD = 3.0
"""Maximum ratio of the 99th percentile to the median."""

Row = tuple[str, str, str, bool | None]
Call = tuple[str, Sequence[Any]]

SCRIPT = """
local requests, turn = {}, 0
function init(args)
  wrk.method = "POST"
  wrk.headers["content-type"] = "application/json"
  for body in io.lines(args[1]) do requests[#requests + 1] = wrk.format(nil, "/", nil, body) end
  turn = math.floor(#requests * tonumber(args[2]))
end
function request()
  turn = turn % #requests + 1
  return requests[turn]
end
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("%d %d %d %d\\n", summary.requests * 1e6 / summary.duration, latency:percentile(50),
    latency:percentile(99), errors.status + errors.connect + errors.read + errors.write + errors.timeout))
end
"""
"""Script of wrk that prints calls a second, median and 99th percentile in microseconds, and errors."""


@dataclass(frozen=True)
class Kind:
    """Row of the table: its connections, the calls made in turn, and targets.

    `ratio` is that to the older version's rate.
    """

    name: str
    connections: int
    calls: Sequence[Call]
    ratio: float | None = None
    least: float | None = None
    spread: bool = False
    yardstick: str | None = None
    """Name of the rate with which it is compared."""


@dataclass(frozen=True)
class Measured:
    """Result of one round: answers a second, median and 99th percentile in seconds."""

    rate: float
    median: float
    slow: float

    def __str__(self) -> str:
        """Return the rate, the median and the 99th percentile on one line."""
        return f"{self.rate:,.0f}/s, median {self.median * 1e3:.2f} ms, p99 {self.slow * 1e3:.2f} ms"


def _kinds() -> Iterator[Kind]:
    for method, params in (("system_health", []), ("chain_getHeader", []), ("state_getStorage", [NUMBER])):
        yield Kind(method, 50, [(method, params)], ratio=6, spread=True, yardstick="loop")
    keys = [("state_getStorage", [f"{NUMBER}{number:08x}"]) for number in range(KEYS)]
    yield Kind("state_getStorage, each time another key", 50, keys)
    yield Kind("state_getReadProof", 8, [("state_getReadProof", [[NUMBER]])])
    yield Kind("state_getRuntimeVersion", 50, [("state_getRuntimeVersion", [])])
    yield Kind("state_call of one account", 8, [("state_call", [NONCE, "0x" + "01" * 32])], ratio=8)
    yield Kind("state_call, each time another account", 8, _nonces())
    yield Kind("cf_swapping_environment, repeated", 8, [("cf_swapping_environment", [])], least=5_000)
    infos = [("cf_account_info", [ss58.encode(number.to_bytes(32, "big"))]) for number in range(ACCOUNTS)]
    yield Kind("cf_account_info, each time another account", 8, infos, least=1_000)


def _official_kinds() -> Iterator[Kind]:
    yield Kind("state_call of one account, main net's runtime", 8, _nonces()[:1], ratio=8)
    yield Kind(
        "state_call, each time another account, main net's runtime", 8, _nonces(), yardstick="instance"
    )


def _nonces() -> list[Call]:
    return [("state_call", [NONCE, f"0x{number:064x}"]) for number in range(ACCOUNTS)]


# The nodes


@contextmanager
def node(tree: Path, *flags: str) -> Iterator[tuple[int, int]]:
    """Run a development node of a checkout; yield its process id and its port once it answers."""
    python = sys.executable if tree == HERE else str(tree / ".venv" / "bin" / "python")
    line = [python, "-u", "-m", "cfnode", "run", "--dev", "--dev-seal=manual", "--tmp", "--no-prometheus"]
    with subprocess.Popen(
        [*line, "--rpc-port=0", *flags], cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process.pid, _port(process)
        finally:
            process.terminate()


def _port(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    for line in process.stdout:
        if "Running JSON-RPC server" in line:
            return int(line.split("addr=")[1].split(",")[0].rpartition(":")[2])
    raise AssertionError("the node ended before it served")


def _memory(pid: int) -> float:
    """Return the resident memory of a process and its children, in megabytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    own_mb = int(status.split("VmRSS:")[1].split()[0]) / 1000
    return own_mb + sum(map(_memory, map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())))


# The client


def measure(folder: Path, port: int, kind: Kind, part: int) -> Measured:
    """Send calls for SECONDS, and return the rates.

    `part` of ROUNDS of the calls, so that no round repeats those of another one.
    """
    bodies, script = folder / "bodies", folder / "script.lua"
    script.write_text(SCRIPT)
    with bodies.open("w") as file:
        for method, params in kind.calls:
            file.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
    url = f"http://127.0.0.1:{port}/"
    answer = httpx.post(url, content=bodies.open().readline(), headers={"content-type": "application/json"})
    assert "result" in answer.json(), answer.text
    options = [str(bodies), str(part / ROUNDS)]
    line = ["wrk", "-t1", f"-c{kind.connections}", f"-d{SECONDS}s", "-s", str(script), url, "--", *options]
    printed = subprocess.run(line, capture_output=True, text=True, check=True, timeout=60).stdout
    rate, median, slow, errors = map(int, printed.splitlines()[-1].split())
    assert not errors, printed
    return Measured(rate, median / 1e6, slow / 1e6)


# Yardsticks


def _servers(folder: Path, rates: dict[str, float]) -> Iterator[Row]:
    """Yield the rows of servers that send a fixed answer; add their rates to `rates`."""
    for name, text in (("loop", "a bare trio loop"), ("bare", "bare hypercorn")):
        with server(name) as port:
            kind = Kind(text, 50, [("system_health", [])])
            best = min(
                (measure(folder, port, kind, part) for part in range(ROUNDS)),
                key=lambda measured: measured.slow,
            )
        rates[name] = best.rate
        yield f"{text} that sends a fixed answer, 50 connections", str(best), "", None


def _instance(spec: Path, rates: dict[str, float]) -> Row:
    """Measure calls of main net's runtime in this process, each in an instance of its own."""
    runtime, count = GenesisRuntime(parse(spec.read_bytes()).genesis, wasm_runtime), 0
    runtime.call(NONCE, bytes(32))
    began = time.perf_counter()
    while (spent := time.perf_counter() - began) < SECONDS:
        runtime.call(NONCE, count.to_bytes(32, "big"))
        count += 1
    rates["instance"] = count / spent
    return (
        "a bare instance call of main net's runtime, one after the other",
        f"{count / spent:,.0f}/s",
        "",
        None,
    )


def _by_turns(folder: Path, kind: Kind, now: int, before: int | None, rates: Mapping[str, float]) -> Row:
    rounds: list[Measured] = []
    older: list[Measured] = []
    for part in range(ROUNDS):
        rounds.append(measure(folder, now, kind, part))
        if before is not None and part < OLDER_ROUNDS:
            older.append(measure(folder, before, kind, part))
    best = min(rounds, key=lambda measured: measured.slow)
    figure, targets, met = str(best), list[str](), list[bool]()
    if kind.yardstick in rates:
        figure += f"; {best.rate / rates[kind.yardstick]:.2f} of the rate of the bare {kind.yardstick}"
    if kind.spread:
        targets.append(f"p99 ≤ {MAX_SPREAD:.0f} × median")
        met.append(best.slow <= MAX_SPREAD * best.median)
    if kind.least is not None:
        targets.append(f"≥ {kind.least:,.0f}/s")
        met.append(best.rate >= kind.least)
    if older:
        earlier = min(older, key=lambda measured: measured.slow)
        figure += f"; before {earlier}: {best.rate / earlier.rate:.2f} ×"
        if kind.ratio is not None:
            targets.append(f"≥ {kind.ratio:.0f} ×")
            met.append(best.rate >= kind.ratio * earlier.rate)
    return (
        f"{kind.name}, {kind.connections} connections",
        figure,
        ", ".join(targets),
        all(met) if met else None,
    )


def _websocket(now: int, before: int | None) -> Row:
    best = earlier = 0.0
    for _ in range(ROUNDS):
        best = max(best, rate(partial(connect_websocket, now), websocket_request()))
        if before is not None:
            earlier = max(earlier, rate(partial(connect_websocket, before), websocket_request()))
    name = f"system_health over WebSocket, {CONNECTIONS} connections"
    if before is None:
        return name, f"{best:,.0f}/s", "", None
    return (
        name,
        f"{best:,.0f}/s; before {earlier:,.0f}/s: {best / earlier:.2f} ×",
        "≥ 2 ×",
        best >= 2 * earlier,
    )


def _rows(
    folder: Path, kinds: Iterator[Kind], before: Path | None, rates: Mapping[str, float], *flags: str
) -> Iterator[Row]:
    with ExitStack() as stack:
        pid, now = stack.enter_context(node(HERE, *flags))
        port_before = None if before is None else stack.enter_context(node(before, *flags))[1]
        time.sleep(IDLE_S)
        idle = _memory(pid)
        yield "memory (RSS) of the node and its executor, idle", f"{idle:.0f} MB", "≤ 150 MB", idle <= 150
        for kind in kinds:
            yield _by_turns(folder, kind, now, port_before, rates)
        yield _websocket(now, port_before)
        yield "memory (RSS) right after it", f"{_memory(pid):.0f} MB", "", None


def run() -> list[Row]:
    """Return the rows of the table."""
    if shutil.which("wrk") is None:
        return [("calls over HTTP", "wrk is missing: apt-get install wrk", "", None)]
    before_folder, spec = os.environ.get("CFNODE_BENCH_BEFORE"), os.environ.get("CFNODE_TEST_BERGHAIN_SPEC")
    before = Path(before_folder) if before_folder else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rates: dict[str, float] = {}
        rows = list(_servers(folder, rates))
        rows += _rows(folder, _kinds(), before, rates)
        if spec:
            spec_path = folder / "spec.json"
            line = [sys.executable, "-m", "cfnode", "build-spec", "--chain", spec, "-o", str(spec_path)]
            subprocess.run(line, check=True, cwd=HERE)
            rows.append(_instance(spec_path, rates))
            rows += _rows(folder, _official_kinds(), before, rates, f"--chain={spec_path}")
    return rows
