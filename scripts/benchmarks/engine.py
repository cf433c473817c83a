"""Cost of swaps in the official genesis runtime (spec 100), whose engine is the node's.

Its chain specification is given by path (CFNODE_TEST_BERGHAIN_SPEC); without it nothing is measured. Times
are of the processor: of the node with its executor for a swap, and of one call of the engine.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import trio

from cfnode.core.aura import slot_of
from cfnode.core.header import Header
from cfnode.core.keys import Keypair
from cfnode.core.scale.metadata import Metadata
from cfnode.core.state import BlockState
from cfnode.devchain.authorities import ENGINE_SURI
from cfnode.devchain.engine.engine import Engine
from cfnode.node.chain.runtime_info import RuntimeInfo, RuntimeVersion
from cfnode.store import Store
from tests.support.devchain.engine import BROADCASTERS, Play, engine_spec, playing

SWAPS, IDLE = 30, 500
SPEC_VERSION, TRANSACTION_VERSION = 100, 10
FINALITY_LAG = 2
Row = tuple[str, str, str, bool | None]


def run() -> list[Row]:
    """Return the rows of this benchmark."""
    official = os.environ.get("CFNODE_TEST_BERGHAIN_SPEC")
    if not official or not Path(official).exists():
        return [("swaps in the main net's runtime", "CFNODE_TEST_BERGHAIN_SPEC names no file", "", None)]
    with tempfile.TemporaryDirectory(prefix="cfnode-bench-") as name:
        folder = Path(name)
        engine_spec(Path(official), folder / "mine.json")
        with playing(folder / "mine.json", folder) as play:
            play.begin(*BROADCASTERS)
            swap = _swaps(play)
            metadata = play.metadata
            assert play.node.stop() == 0
        started = _start(folder)
        idle = trio.run(_idle, folder, metadata)
    return [*swap, started, idle]


def _swaps(play: Play) -> list[Row]:
    pairs = [(source, target) for source in BROADCASTERS for target in BROADCASTERS if source != target]
    blocks, before = [], _processor_s(play.node.process.pid)
    for number in range(SWAPS):
        source, target = pairs[number % len(pairs)]
        play.deposit(play.channel(source, target), source)
        blocks.append(2 + play.until(BROADCASTERS[target], "BroadcastSuccess")[0])
    seconds = (_processor_s(play.node.process.pid) - before) / SWAPS
    for _ in range(FINALITY_LAG + 1):
        play.block()  # so that nothing waits in the last final block
    return [
        ("channel to success, blocks", str(max(blocks)), "≤ 4", max(blocks) <= 4),
        ("channel to success, processor time", f"{seconds:.2f} s", "≤ 0.3 s", seconds <= 0.3),
    ]


def _start(folder: Path) -> Row:
    begun = perf_counter()
    with playing(folder / "mine.json", folder, log_name="again.log") as play:
        seconds = perf_counter() - begun
        assert play.node.stop() == 0
    return ("start of the chain, runtime compiled", f"{seconds:.1f} s", "≤ 4 s", seconds <= 4)


async def _idle(folder: Path, metadata: Metadata) -> Row:
    """Measure the engine's share of a block in which nothing waits."""
    (database,) = (folder / "base").glob("chains/*/db/full_light")
    with closing(Store.open(database)) as store:
        key = Keypair.from_suri(ENGINE_SURI).repeatable()
        engine = Engine(_Chain(store, metadata), {key.public: key})
        best = store.finalized.hash
        times, answers = [], [b""]
        for _ in range(IDLE):
            before = process_time()
            answers = await engine.opening(best)
            times.append(process_time() - before)
        assert not answers
    milliseconds = 1000 * median(times)
    return ("the engine, where nothing waits", f"{milliseconds:.2f} ms", "≤ 2 ms", milliseconds <= 2)


@dataclass(frozen=True)
class _Chain:
    """What the engine reads of a chain, from its store."""

    store: Store
    metadata: Metadata

    async def runtime_at(self, _block: bytes) -> RuntimeInfo:
        version = RuntimeVersion("", "", 0, SPEC_VERSION, 0, (), TRANSACTION_VERSION, 0)
        return RuntimeInfo(bytes(32), version, self.metadata, b"")

    @property
    def genesis_hash(self) -> bytes:
        return bytes(32)

    def state(self, block: bytes) -> AbstractContextManager[BlockState]:
        return self.store.state(block)

    def header(self, block: bytes) -> Header | None:
        return self.store.header(block)

    def body(self, block: bytes) -> list[bytes] | None:
        return self.store.body(block)

    def slot_of(self, block: bytes) -> int | None:
        header = self.header(block)
        return None if header is None or header.number == 0 else slot_of(header)


def _processor_s(process: int) -> float:
    """Return the processor time of a process and of its children, in seconds."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return sum(_own_s(number) for number in (process, *map(int, children)))


def _own_s(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
