"""Load of 100 partners that open 1,000 channels at once: answers, duplicates, and webhooks.

All requests have to be answered, none twice on the chain, and each webhook delivered. Two services on one
database open the channels on a development node that makes a block for each broker call or more; then a
deposit goes into 100 of the channels, and a receiver gets each change of their swaps' states. First, one
channel's latency is measured (`_partner_latency`). CFNODE_BENCH_CHANNELS: another number of channels, with a
tenth as many partners and deposits.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from cfnode.ledger.database import Database
from scripts.benchmarks._partner_latency import latency_row
from tests.ledger.postgres import MISSING, is_installed, running_postgres
from tests.support.ledger.processes import TAKEOVER_S, following, leading, wait_for_block
from tests.swap_service.load import storm
from tests.swap_service.partners import broker_chain, followed

CHANNELS = int(os.environ.get("CFNODE_BENCH_CHANNELS", "1000"))
PARTNERS = SWAPS = max(CHANNELS // 10, 1)

Row = tuple[str, str, str, bool | None]


def _rows(kind: str, url: str) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="cfnode-bench-") as name:
        folder = Path(name)
        with broker_chain(folder / "node") as chain:
            outcome = storm(folder, chain, url.format(folder=folder), PARTNERS, CHANNELS, SWAPS)
    opened = Counter(answer.status for answer in outcome.answers)
    repeats = sum(answer.sent - 1 for answer in outcome.answers)
    return [
        (f"{kind}: {PARTNERS} partners open {CHANNELS:,} channels at once",
         f"{opened[201]:,} opened in {outcome.seconds:.0f} s, {repeats} requests sent again", "all",
         opened[201] == CHANNELS),
        (f"{kind}: channels on the chain for one request", f"at most {outcome.most_on_chain}", "1",
         outcome.most_on_chain == 1 and outcome.on_chain == CHANNELS),
        (f"{kind}: webhooks of {SWAPS} swaps", f"{outcome.delivered} of {outcome.changes} delivered", "all",
         outcome.delivered == outcome.changes > 0),
    ]  # fmt: skip


def _takeover(url: str) -> Row:
    """Measure how long after the kill of a follower another one has written the next block."""
    with tempfile.TemporaryDirectory(prefix="cfnode-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        chain = stack.enter_context(broker_chain(folder / "node"))
        followed(Database(url), chain.url)
        pair = [stack.enter_context(following(folder, chain.url, url)) for _ in range(2)]
        leader, follower = leading(*pair)
        start = time.monotonic()
        leader.kill()
        chain.chain.new_block()
        chain.chain.finalize()
        head = int(chain.chain.rpc("chain_getHeader")["number"], 16)
        follower.wait_for("has ended: this process follows now")
        wait_for_block(url, head)
        seconds = time.monotonic() - start
    return (
        "PostgreSQL: another follower after a kill",
        f"{seconds:.1f} s",
        f"≤ {TAKEOVER_S:.0f} s",
        seconds <= TAKEOVER_S,
    )


def run() -> list[Row]:
    """Return the rows of this benchmark."""
    load = f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    rows: list[Row] = [("load before the partners' figures", load, "", None), latency_row()]
    rows += _rows("SQLite", "sqlite:///{folder}/books.sqlite")
    if not is_installed():
        return [*rows, ("PostgreSQL", MISSING, "", None)]
    with running_postgres() as server:
        rows += _rows("PostgreSQL", server.new_database("partners"))
        return [*rows, _takeover(server.new_database("takeover"))]
