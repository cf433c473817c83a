"""A sync without progress logs every 15 s what it waits for, and why."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from cfnode.node.asking import reputation
from cfnode.node.asking.progress import (
    DownloadRate,
    Phase,
    SyncProgress,
    no_peers_reason,
    warn_when_stuck,
    with_reasons,
)
from cfnode.node.sync.service import ChainSync
from cfnode.store import Pruning
from tests.node.conftest import MakeRig
from tests.support.node.net import MemoryNetwork, join
from tests.support.node.warp import Client, edited, forge_last, grown


async def said(caplog: pytest.LogCaptureFixture, client: Client, seconds: float) -> list[tuple[str, str]]:
    """Return the warnings in so many seconds of a failing sync: (phase, reason)."""
    with trio.move_on_after(seconds):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(warn_when_stuck, client.progress)
            await client.sync.run()
    lines = [line.partition(": no progress for 15 s: ") for line in caplog.messages]
    return [(phase, reason) for phase, separator, reason in lines if separator]


async def test_without_peers_the_log_names_why_each_node_is_unreachable(
    make_rig: MakeRig, autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Log why each known node is unreachable, every 15 s, while there is no peer."""
    client = Client(await grown(make_rig))
    client.network.unreachable["12D3Boot"] = "it proves to be 12D3Other"
    why = "no peer is connected yet (12D3Boot: it proves to be 12D3Other)"
    assert await said(caplog, client, 50) == [("Waiting for peers", why)] * 3


async def test_the_log_names_the_peers_that_refuse(
    make_rig: MakeRig, patient_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Log the peers that refuse a warp proof."""
    client = Client(await grown(make_rig), light=lambda *_: None)
    [(phase, why)] = await said(caplog, client, 20)
    assert phase == "Downloading finality proofs"
    assert why in (
        "no peer provides a valid proof from #0 (light: refused)",
        "a warp proof from #0 by light (light: refused)",
        "a warp proof from #0 (light: refused)",
    )


async def test_an_invalid_proof_is_logged_as_the_reason(
    make_rig: MakeRig, patient_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Log an invalid proof as the reason why there is no peer."""
    client = Client(await grown(make_rig), liar=lambda *args: edited(args[2], forge_last))
    [(_, why)] = await said(caplog, client, 32)
    assert "Peer liar is dropped: an invalid warp proof: " in caplog.text
    assert why.startswith(
        "no peer is connected yet (liar: its proof is invalid: justification is for block 3"
    )


async def test_a_peer_that_refuses_becomes_evictable(make_rig: MakeRig, patient_clock: MockClock) -> None:
    """Mark a peer that refuses as one that a better one may replace."""
    client = Client(await grown(make_rig), useless=lambda *_: None, honest=None)
    await client.sync.run()
    assert client.network.unwanted == ["useless"]


async def test_a_peer_that_stalls_the_proofs_is_replaced(make_rig: MakeRig, patient_clock: MockClock) -> None:
    """Replace a peer that stalls the proofs, and finish with the next one."""
    rig = await grown(make_rig)
    client = Client(rig, slow=None)
    client.network.stalled.add("slow")
    with trio.move_on_after(30):
        await client.sync.run()
    assert client.network.reports == [("slow", reputation.NO_ANSWER, "no answer to sync/warp within 24 s")]
    assert "slow" not in client.network.peers, "its place is free for another"
    client.add("honest", None)
    trust = await client.sync.run()
    assert trust.header.hash == rig.chain.finalized.hash


async def test_steps_prevent_the_warning(autojump_clock: MockClock, caplog: pytest.LogCaptureFixture) -> None:
    """Log no warning while the sync makes steps."""
    progress = SyncProgress(Phase.STATE)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(warn_when_stuck, progress)
        for _ in range(10):
            await trio.sleep(10)
            progress.step("the next piece")
        nursery.cancel_scope.cancel()
    assert caplog.messages == []


def test_of_many_reasons_the_first_three_are_listed() -> None:
    """List the first three of many reasons, and count the others."""
    network = MemoryNetwork("alone")
    assert no_peers_reason(network) == "no peer is connected yet"
    assert with_reasons("none", dict(zip("abcde", "12345", strict=True))) == "none (a: 1; b: 2; c: 3; 2 more)"


def test_the_rate_is_that_of_the_last_minute() -> None:
    """Compute the rate of the last minute, and the time that is left at that rate."""
    rate = DownloadRate()
    assert rate.line() == ""
    rate.add(0.0, 0, 0, 0.0)
    rate.add(10.0, 20 << 20, 7, 0.05)
    assert rate.line() == ", 2.0 MiB/s, 5%, about 3 min left"
    for step in range(1, 8):
        rate.add(10.0 + 10 * step, 40 << 20, 1, 0.1)
    assert rate.line() == ", 4.0 MiB/s, 75%, about 25 s left"
    assert (rate.size, rate.keys) == (300 << 20, 14)


def test_an_estimate_never_reaches_the_whole() -> None:
    """Limit an estimate to 99 %: a finished download ends by itself."""
    rate = DownloadRate()
    rate.add(0.0, 0, 0, 0.0)
    rate.add(10.0, 10 << 20, 1, 1.2)
    assert rate.line() == ", 1.0 MiB/s, 99%, about 0 s left"


def test_the_line_of_a_state_download_has_rate_and_time_left() -> None:
    """Print size, rate, share and time left of a state download."""
    progress = SyncProgress(Phase.STATE, size=20 << 20, keys=1_000, rate=DownloadRate())
    assert progress.line() == "⏩ Warping, Downloading state, 1000 keys, 20.00 MiB"
    assert progress.rate is not None
    progress.rate.add(0.0, 0, 0, 0.0)
    progress.rate.add(10.0, 20 << 20, 9, 0.5)
    assert progress.line() == (
        "⏩ Warping, Downloading state, 1000 keys, 20.00 MiB, 2.0 MiB/s, 50%, about 10 s left"
    )


async def test_a_full_sync_logs_that_no_peer_has_the_first_blocks(
    make_rig: MakeRig, patient_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Log that no peer has the first blocks, with the flags that help."""
    authority = await make_rig("authority", pruning=Pruning(blocks=4, state=4))
    for _ in range(20):
        await authority.block(final=True)
    full, network, peer = await make_rig("full"), MemoryNetwork("full"), MemoryNetwork("pruned")
    async with trio.open_nursery() as nursery:
        for member, rig, author in ((network, full, False), (peer, authority, True)):
            nursery.start_soon(ChainSync(member, rig.chain, rig.store, author=author).run)
        join(network, peer)
        await trio.sleep(32)
        nursery.cancel_scope.cancel()
    [line] = [line for line in caplog.messages if "no progress for 15 s" in line]
    assert line.startswith(
        "Syncing: no progress for 15 s: blocks #1 to #20 (pruned: it does not have #1 any more). With --sync"
    )
    assert "--blocks-pruning=archive" in line
    assert "--sync=warp" in line
    assert network.reports == []
