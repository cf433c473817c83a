"""The lines that operators wait for, letter by letter."""

from __future__ import annotations

import logging

import pytest
import trio
import trio.testing

from cfnode.core.block import BlockRef
from cfnode.node.informant import Informant, idle_line, short
from tests.node.mini import Rig


def test_the_idle_line_is_the_one_in_the_guides() -> None:
    """Print the idle line letter by letter as the guides have it."""
    best = BlockRef(bytes.fromhex("c279" + "00" * 28 + "f190"), 10_260_208)
    final = BlockRef(bytes.fromhex("abcd" + "00" * 28 + "0123"), 10_260_206)
    assert idle_line(8, best, final) == (
        "💤 Idle (8 peers), best: #10260208 (0xc279…f190), finalized #10260206 (0xabcd…0123), ⬇ 0 ⬆ 0"
    )
    assert idle_line(1, best, final).startswith("💤 Idle (1 peer), ")
    assert idle_line(1, best, final, 235_418, 0.2).endswith("⬇ 229.9kiB/s ⬆ 0")
    assert idle_line(1, best, final, 3.2 * 1024 * 1024, 512).endswith("⬇ 3.2MiB/s ⬆ 512 B/s")


async def test_blocks_and_reorganisations_are_logged_and_a_summary_every_five_seconds(
    rig: Rig,
    nursery: trio.Nursery,
    autojump_clock: trio.testing.MockClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Log each import and reorganisation, and a summary every five seconds."""
    genesis = rig.chain.genesis_hash
    with caplog.at_level(logging.INFO, "cfnode.informant"):
        nursery.start_soon(Informant(rig.chain, lambda: 0).run)
        await trio.testing.wait_all_tasks_blocked()
        old = await rig.block()
        fork = await rig.blocks(2, on=genesis)
        await trio.sleep(5.1)
    lines = [record.message for record in caplog.records if record.name == "cfnode.informant"]
    imported = [line for line in lines if "Idle" not in line]
    assert imported == [
        f"🏆 Imported #1 ({short(genesis)} → {short(old)})",
        f"🆕 Imported #1 ({short(genesis)} → {short(fork[0])})",
        f"🏆 Imported #2 ({short(fork[0])} → {short(fork[1])})",
        f"♻️  Reorg on #1,{short(old)} to #2,{short(fork[1])}, common ancestor #0,{short(genesis)}",
    ]
    idle = [line for line in lines if "Idle" in line]
    assert idle[-1] == idle_line(0, rig.chain.best, rig.chain.finalized)
