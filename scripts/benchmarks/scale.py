"""Speed of the SCALE codec against cyscale (Cython), in the same run.

cyscale takes the module name `scalecodec`, so `scripts/peers` keeps it in a place of its own; another
interpreter that has it can be named in CFNODE_BENCH_CYSCALE_PYTHON. CFNODE_TEST_REFERENCE names the folder of
the reference vectors.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from cfnode.core.scale.metadata import Metadata, decode_metadata

ROOT = Path(__file__).resolve().parents[2]
PEER = ROOT / ".cache" / "peers" / "cyscale" / "bin" / "python"
CALLS = 20_000

Row = tuple[str, str, str, bool]
"""Row of the table: name, figure, target, whether it is met."""

_LOAD = ("metadata-v15-20203: decode and compile all types", "≤ 1/5 of cyscale's time")
_ONE = ("System.remark call decode, one by one", "≥ 3× cyscale's rate")
_BATCH = ("System.remark call decode, against cyscale's batch_decode", "for information")


def run() -> list[Row]:
    """Return the rows of this benchmark.

    A row that cannot be measured here says so and is not met.
    """
    reference = Path(os.environ.get("CFNODE_TEST_REFERENCE", ROOT.parent / "shared" / "reference"))
    vector = reference / "vectors" / "chainflip" / "metadata-v15-20203.scale"
    python = os.environ.get("CFNODE_BENCH_CYSCALE_PYTHON", str(PEER))
    if not vector.exists():
        return _skipped("the reference vectors are not here: set CFNODE_TEST_REFERENCE")
    if not Path(python).exists():
        return _skipped("cyscale is not here: scripts/peers installs it")
    data = vector.read_bytes()
    cyscale = _cyscale(python, vector)
    seconds = min(_load_seconds(data) for _ in range(5))
    rate = _decode_rate(decode_metadata(data))
    share, faster = cyscale["load"] / seconds, rate / cyscale["one"]
    return [
        (
            _LOAD[0],
            f"{seconds * 1000:.0f} ms, 1/{share:.1f} of {cyscale['load'] * 1000:.0f} ms",
            _LOAD[1],
            share >= 5,
        ),
        (
            _ONE[0],
            f"{rate / 1000:.0f} k/s, {faster:.1f}× of {cyscale['one'] / 1000:.0f} k/s",
            _ONE[1],
            faster >= 3,
        ),
        (_BATCH[0], f"{rate / cyscale['batch']:.1f}× of {cyscale['batch'] / 1000:.0f} k/s", _BATCH[1], True),
    ]


def _skipped(reason: str) -> list[Row]:
    return [(name, f"not measured: {reason}", target, False) for name, target in (_LOAD, _ONE)]


def _cyscale(python: str, vector: Path) -> dict[str, float]:
    script = Path(__file__).with_name("_cyscale.py")
    command = [python, str(script), str(vector), str(CALLS)]
    figures: dict[str, float] = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
    )
    return figures


def _load_seconds(data: bytes) -> float:
    def load() -> None:
        registry = decode_metadata(data).registry
        for row in registry.types:
            registry.codec(row.id)

    return _seconds(load)


def _decode_rate(metadata: Metadata) -> float:
    decode = metadata.call_codec.decode
    calls = [b"\x00\x00\x14" + number.to_bytes(5, "little") for number in range(CALLS)]
    return CALLS / min(_seconds(lambda: [decode(call) for call in calls]) for _ in range(5))


def _seconds(work: Callable[[], object]) -> float:
    begin = perf_counter()
    work()
    return perf_counter() - begin


if __name__ == "__main__":
    for row in run():
        print(*row, sep=" | ")
