"""Race of smoldot and cfnode to the end of a long chain of warp proofs.

Both start as processes that know the same specification and one address, and get the same proof from the same
node: 350 changes of 150 authorities on a copy of the official specification. They count alike, for smoldot
counts votes instead of weights, and the runtime is WebAssembly, for smoldot executes it at genesis. The time
goes from the start of the process to the log line about the last fragment.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

from cfnode.core.chainspec import parse
from scripts.benchmarks._light_start import PROVEN, Row, served
from scripts.benchmarks._long_chain import LongChain
from scripts.benchmarks.sync import SETS
from tests.conftest import PEERS
from tests.process import running_node

ROUNDS = 3
SCRIPT = Path(__file__).parents[2] / "tests" / "interop" / "smoldot.mjs"
APART = 40
"""Blocks after the last change: smoldot requests no proof that leads less than 32 blocks on."""
LAST = SETS + APART
PATIENCE_S = 120


def _ours(spec: Path, server: str) -> float:
    flags = (f"--chain={spec}", "--sync=light-rpc", f"--reserved-nodes={server}", "--reserved-only")
    with tempfile.TemporaryDirectory(prefix="cfnode-bench-") as name:
        began = time.perf_counter()
        with running_node(Path(name), *flags, "--no-prometheus") as node:
            while f"{PROVEN} #{LAST} " not in node.log:
                time.sleep(0.005)
                assert time.perf_counter() < began + PATIENCE_S, node.log
            return time.perf_counter() - began


def _theirs(script: Path, spec: Path, server: str) -> float:
    began = time.perf_counter()
    pipe = subprocess.PIPE
    with subprocess.Popen(["node", str(script), str(spec), server], stdin=pipe, stdout=pipe) as smoldot:
        assert smoldot.stdout is not None
        timer = threading.Timer(PATIENCE_S, smoldot.kill)
        timer.daemon = True
        timer.start()
        for line in smoldot.stdout:
            if json.loads(line).get("log", "").endswith(f"verified_height={LAST}"):
                smoldot.kill()
                return time.perf_counter() - began
    raise RuntimeError(f"smoldot has not seen the last fragment in {PATIENCE_S} s")


def run() -> list[Row]:
    """Return the rows of the table."""
    official = os.environ.get("CFNODE_TEST_BERGHAIN_SPEC", "")
    modules = PEERS / "node" / "node_modules"
    name = f"{SETS} set changes, from the start of the process to the last fragment, against smoldot"
    if not Path(official).is_file() or not (modules / "smoldot").exists():
        return [(name, "needs smoldot and CFNODE_TEST_BERGHAIN_SPEC", "≤ 1.0", None)]
    with tempfile.TemporaryDirectory(prefix="cfnode-bench-") as folder:
        base = Path(folder)
        (base / "node_modules").symlink_to(modules)
        script = Path(shutil.copy(SCRIPT, base))
        chain = LongChain.of_equals(base, parse(Path(official).read_bytes(), source=official))
        chain.change_sets(SETS)
        chain.grow(APART)
        chain.store.close()
        with served(base, chain.spec_path) as server:
            rounds = [
                (_ours(chain.spec_path, server), _theirs(script, chain.spec_path, server))
                for _ in range(ROUNDS)
            ]
    ours, theirs = (median(times) for times in zip(*rounds, strict=True))
    return [(name, f"{ours / theirs:.2f} ({ours:.1f} s and {theirs:.1f} s)", "≤ 1.0", ours <= theirs)]


if __name__ == "__main__":
    for row in run():
        print(*row, sep="  ")
