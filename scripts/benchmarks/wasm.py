"""Cost of the official main-net runtime of genesis (spec 100): load, calls, blocks, memory.

Its chain specification is given by path (CFNODE_TEST_BERGHAIN_SPEC); without it nothing here is measured. The
chain is a copy with 150 authorities whose keys are known, in a store, asked through the executor process; the
event loop is kept busy meanwhile by a task that never rests and yields every 0.2 ms.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

import trio

from cfnode.core.aura import pre_runtime_item, sealed
from cfnode.core.chainspec import RawGenesis, genesis_header, parse
from cfnode.core.chainspec.authorities import SpecAuthority, with_authorities
from cfnode.core.era import IMMORTAL
from cfnode.core.extrinsic import sign_extrinsic
from cfnode.core.header import Header
from cfnode.core.keys import Keypair
from cfnode.core.scale import ByteCursor
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.runtime.calls import BlockSource, BuiltBlock
from cfnode.runtime.executor import Executor
from cfnode.runtime.genesis_state import GenesisRuntime
from cfnode.runtime.wasm.runtime import wasm_runtime
from cfnode.store import Pruning, Store

AUTHORITIES, CALLS_EACH = 150, 4
SLOT = 290_000_000
SPEC_VERSION, TRANSACTION_VERSION = 100, 10
LOADS, SMALL, CALLS, BLOCKS = 9, 300, 10_000, 1_000
WINDOW = 128
TICK_S = 0.005

Row = tuple[str, str, str, bool | None]

_LOAD = """
import sys
from time import perf_counter
import cfnode.runtime.wasm.runtime as runtime
from cfnode.runtime.wasm.engine import engine
code = open(sys.argv[1], "rb").read()
engine()
started = perf_counter()
runtime.wasm_runtime(code).loaded
print(perf_counter() - started)
"""


def run() -> list[Row]:
    """Return the rows of this benchmark."""
    spec = os.environ.get("CFNODE_TEST_BERGHAIN_SPEC")
    if not spec or not Path(spec).exists():
        return [("the main net's runtime", "CFNODE_TEST_BERGHAIN_SPEC names no file", "", None)]
    chain = _Chain.copied(Path(spec))
    with tempfile.TemporaryDirectory() as directory:
        database = Path(directory) / "db"
        database.mkdir()
        return [_load(chain.code, Path(directory)), *trio.run(_measure, chain, database)]


@dataclass(frozen=True)
class _Chain:
    """Copy of the official chain, with authorities whose keys are known."""

    genesis: Header
    state: dict[bytes, bytes]
    metadata: Metadata
    keys: Sequence[Keypair]

    @property
    def code(self) -> bytes:
        return self.state[b":code"]

    @classmethod
    def copied(cls, path: Path) -> _Chain:
        official = parse(path.read_bytes(), source=str(path))
        assert isinstance(official.genesis, RawGenesis)
        encoded = GenesisRuntime(official.genesis, wasm_runtime).call("Metadata_metadata")
        metadata = decode_metadata(ByteCursor(encoded).bytes())
        names = [f"//Authority//{number}" for number in range(AUTHORITIES)]
        keys = [Keypair.from_suri(name) for name in names]
        votes = [Keypair.from_suri(name, "ed25519").public for name in names]
        authorities = [SpecAuthority(key.public, vote) for key, vote in zip(keys, votes, strict=True)]
        copy, _ = with_authorities(official, metadata, authorities)
        assert isinstance(copy.genesis, RawGenesis)
        return cls(genesis_header(copy), dict(copy.genesis.top), metadata, keys)

    def signed(self, key: Keypair, nonce: int, call: tuple[str, object]) -> bytes:
        """Return an extrinsic of an authority."""
        return sign_extrinsic(
            self.metadata, self.metadata.call_codec.encode(call), key, nonce=nonce, era=IMMORTAL,
            era_hash=self.genesis.hash, genesis_hash=self.genesis.hash,
            spec_version=SPEC_VERSION, transaction_version=TRANSACTION_VERSION,
        )  # fmt: skip

    def witnesses(self, start: int, count: int) -> list[bytes]:
        """Return extrinsics by which each authority witnesses that Ethereum has reached a height.

        There are `count` heights from `start` on.
        """
        return [
            self.signed(key, height, ("Witnesser", ("witness_at_epoch", _witnessed(height))))
            for height in range(start, start + count)
            for key in self.keys
        ]

    def remark(self, nonce: int) -> bytes:
        """Return a remark of the first authority."""
        return self.signed(self.keys[0], nonce, ("System", ("remark", {"remark": b"benchmark"})))


def _witnessed(height: int) -> dict[str, object]:
    tracked = {"base_fee": 1_000_000 + height, "priority_fee": 100}
    update = {"new_chain_state": {"block_height": 1 + height, "tracked_data": tracked}}
    return {"call": ("EthereumChainTracking", ("update_chain_state", update)), "epoch_index": 1}


def _load(code: bytes, directory: Path) -> Row:
    """Measure the load of the runtime in new processes that find the machine code on disk."""
    path = directory / "code"
    path.write_bytes(code)
    command = [sys.executable, "-c", _LOAD, str(path)]
    times = (subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(LOADS))
    seconds = median(map(float, times))
    return ("runtime loaded from the cache", _ms(seconds), "≤ 10 ms", seconds <= 0.010)


async def _measure(chain: _Chain, path: Path) -> list[Row]:
    store = Store.open(path, pruning=Pruning(WINDOW, WINDOW), sync=False)
    try:
        store.initialise(chain.genesis, chain.state)
        async with Executor.start(store) as executor:
            return await _Bench(chain, store, executor).rows()
    finally:
        store.close()


class _Bench:
    """Executor and the chain that grows in it."""

    def __init__(self, chain: _Chain, store: Store, executor: Executor) -> None:
        self._chain, self._store, self._executor = chain, store, executor
        self._head = chain.genesis

    async def rows(self) -> list[Row]:
        """Return all rows, in an order in which each measurement finds the chain as it needs it."""
        idle = await _lateness(partial(trio.sleep, 5))
        return [
            *await self._calls(),
            *await self._blocks(idle),
            *await self._full_block(),
            *await self._long_run(),
        ]

    async def _calls(self) -> list[Row]:
        small, metadata = "AccountNonceApi_account_nonce", "Metadata_metadata"
        account = self._chain.keys[0].public
        rows: list[Row] = []
        async with _busy():
            for function, args, limit in ((small, account, 0.003), (metadata, b"", 0.010)):
                seconds = median([await self._timed(function, args) for _ in range(SMALL)])
                name = f"{function}, there and back, loop busy"
                rows.append((name, _ms(seconds), f"≤ {limit * 1000:.0f} ms", seconds <= limit))
        return rows

    async def _timed(self, function: str, args: bytes) -> float:
        started = perf_counter()
        await self._executor.call(BlockSource(self._head.hash), function, args)
        return perf_counter() - started

    async def _build(self, candidates: Sequence[bytes], seconds: float) -> BuiltBlock:
        slot = SLOT + self._head.number + 1
        inherents = [
            (b"timstap0", (slot * 6_000).to_bytes(8, "little")),
            (b"auraslot", slot.to_bytes(8, "little")),
        ]
        digest = [pre_runtime_item(slot)]
        return await self._executor.build_block(self._head.hash, digest, inherents, candidates, seconds)

    async def _import(self, built: BuiltBlock) -> float:
        """Execute as a stranger's block, keep, finalize; return the seconds that it took."""
        header = sealed(built.header, bytes(64))
        started = perf_counter()
        changes = await self._executor.execute_block(header, built.body)
        assert changes == built.changes
        await self._executor.overlay_added(self._store.add_block(header, built.body, changes))
        self._store.finalize(header.hash)
        self._head = header
        return perf_counter() - started

    async def _blocks(self, idle: float) -> list[Row]:
        """Measure blocks of 600 witness extrinsics, and how late the loop is meanwhile."""
        blocks = [self._chain.witnesses(number * CALLS_EACH, CALLS_EACH) for number in range(3)]
        seconds: list[float] = []

        async def import_all() -> None:
            for extrinsics in blocks:
                built = await self._build(extrinsics, 30)
                assert len(built.body) == 1 + AUTHORITIES * CALLS_EACH, (len(built.body), built.refused[:1])
                seconds.append(await self._import(built))

        lateness = await _lateness(import_all)
        best = median(seconds)
        name = f"block of {AUTHORITIES * CALLS_EACH} witness extrinsics, store commit included"
        return [
            (name, _ms(best), "≤ 250 ms", best <= 0.250),
            (
                "ticker of 5 ms while building and importing, p99.9",
                f"{_ms(lateness)} (idle: {_ms(idle)})",
                "≤ 20 ms above idle",
                lateness - idle <= 0.020,
            ),
        ]

    async def _full_block(self) -> list[Row]:
        """Measure a block of witness extrinsics up to the weight limit, and calls while it is built."""
        start = 3 * CALLS_EACH
        extrinsics = self._chain.witnesses(start, 40)
        latencies: list[float] = []

        async def go_on_calling() -> None:
            while True:
                latencies.append(
                    await self._timed("AccountNonceApi_account_nonce", self._chain.keys[0].public)
                )
                await trio.sleep(0.01)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(go_on_calling)
            built = await self._build(extrinsics, 60)
            nursery.cancel_scope.cancel()
        seconds = await self._import(built)
        name = f"weight-full block, {len(built.body) - 1:,} witness extrinsics"
        return [
            (
                "AccountNonceApi_account_nonce while a full block is built",
                _ms(median(latencies)),
                "",
                None,
            ),
            (name, _ms(seconds), "≤ 2000 ms", seconds <= 2),
        ]

    async def _long_run(self) -> list[Row]:
        """Measure the memory over ten thousand calls and a thousand blocks.

        They begin once the window of states is full, and so is the file.
        """
        at, account = BlockSource(self._head.hash), self._chain.keys[0].public
        nonce = ByteCursor(await self._executor.call(at, "AccountNonceApi_account_nonce", account)).u32()
        await self._remarks(range(nonce, nonce + 2 * WINDOW))
        resident_before = self._resident()
        for _ in range(CALLS):
            await self._timed("AccountNonceApi_account_nonce", account)
        peak = await self._remarks(range(nonce + 2 * WINDOW, nonce + 2 * WINDOW + BLOCKS))
        grown = self._resident() - resident_before
        return [
            ("executor, most memory", f"{peak / 1e6:.0f} MB", "≤ 150 MB", peak <= 150e6),
            (
                f"executor, growth over {CALLS:,} calls and {BLOCKS:,} blocks, its window full",
                f"{grown / 1e6:.1f} MB",
                "≤ 5 MB",
                grown <= 5e6,
            ),
        ]

    async def _remarks(self, nonces: range) -> int:
        """Import a block for each nonce; return the largest memory of the executor after any, in bytes."""
        peak = 0
        for nonce in nonces:
            await self._import(await self._build([self._chain.remark(nonce)], 5))
            peak = max(peak, self._resident())
        return peak

    def _resident(self) -> int:
        """Return the bytes of the executor processes in memory."""
        pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in self._executor.pids)
        return pages * os.sysconf("SC_PAGE_SIZE")


@asynccontextmanager
async def _busy() -> AsyncIterator[None]:
    """Run a task that computes all the time, and lets others run every 0.2 ms."""

    async def compute() -> None:
        while True:
            until = perf_counter() + 0.0002
            while perf_counter() < until:
                sum(range(100))
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(compute)
        yield
        nursery.cancel_scope.cancel()


async def _lateness(work: Callable[[], Awaitable[None]]) -> float:
    """Return how late a ticker is while some work goes on: the 99.9th percentile, in seconds."""
    delays: list[float] = []

    async def tick() -> None:
        while True:
            due = trio.current_time() + TICK_S
            await trio.sleep_until(due)
            delays.append(trio.current_time() - due)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(tick)
        await work()
        nursery.cancel_scope.cancel()
    return sorted(delays)[min(len(delays) - 1, math.ceil(len(delays) * 0.999))]


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


if __name__ == "__main__":
    for row in run():
        print(*row, sep=" | ")
