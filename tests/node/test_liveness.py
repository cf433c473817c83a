"""A node without new blocks reports it, and answers calls that wait for one."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from cfnode.devchain.config import DevConfig
from cfnode.node import liveness as liveness_module
from cfnode.node.chain.events import Publisher
from cfnode.node.config import NetworkConfig
from cfnode.node.informant import Informant
from cfnode.node.liveness import ISOLATION_WARNING_INTERVAL_S, MAX_SILENCE_S, WAITING_CALL_TIMEOUT_S, Liveness
from cfnode.node.pool.watchers import StatusKind, TxStatus, Watch
from cfnode.node.signing.submission import NotYetIncluded, Submission
from cfnode.rpc.table.errors import explain
from tests.node.live import live_node, made, reach
from tests.node.mini import Rig
from tests.support.waiting import LIMIT_S, until

MANUAL = DevConfig(seal="manual")


class Surroundings:
    """A node's peers and excuse, as a test sets them."""

    def __init__(self, rig: Rig) -> None:
        self.peers, self.excused = 1, False
        self.liveness = Liveness(
            rig.chain,
            lambda: self.peers,
            excused=lambda: self.excused,
            no_peers_reason=lambda: "no peers (1 refused)",
        )


@asynccontextmanager
async def watching(rig: Rig) -> AsyncIterator[Surroundings]:
    """Yield the surroundings of a running liveness task."""
    around = Surroundings(rig)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(around.liveness.run)
        await trio.testing.wait_all_tasks_blocked()
        yield around
        nursery.cancel_scope.cancel()


async def test_three_block_times_without_a_block_are_isolation_until_the_next_one_comes(
    rig: Rig, patient_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Report isolation after three block times without a block, until the next one comes."""
    async with watching(rig) as around:
        await rig.block()
        await trio.sleep(MAX_SILENCE_S - 1)
        assert not around.liveness.is_isolated
        assert around.liveness.reason is around.liveness.line() is None
        await trio.sleep(1.5)
        assert around.liveness.reason == "1 peer, but it gives no block after #1 for 18 s"
        assert around.liveness.line() == "⚠️  No block for 18 s"
        around.peers = 3
        assert around.liveness.reason == "3 peers, but none gives a block after #1 for 18 s"
        await trio.sleep(3 * ISOLATION_WARNING_INTERVAL_S)
        warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
        assert 3 <= len(warnings) <= 4
        assert warnings[1].message.startswith("3 peers, but none gives a block after #1 for ")
        with caplog.at_level(logging.INFO):
            await rig.block()
            await trio.sleep(1.5)
        assert around.liveness.reason is None
        assert around.liveness.silence < 2
        assert "Blocks arrive again: the best one is #2" in caplog.text


async def test_without_peers_a_node_is_isolated_at_once_with_the_reason(
    rig: Rig, patient_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Report isolation at once without peers, with the reason."""
    async with watching(rig) as around:
        around.peers = 0
        assert around.liveness.is_isolated
        assert around.liveness.line() == "⚠️  Isolated"
        await trio.sleep(ISOLATION_WARNING_INTERVAL_S)
        assert "isolated: no peers (1 refused); no block after #0 for 6 s" in caplog.text


async def test_a_node_that_makes_the_chain_or_is_syncing_is_not_isolated(
    rig: Rig, patient_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Report no isolation of a node that makes the chain or is syncing."""
    async with watching(rig) as around:
        around.peers, around.excused = 0, True
        await trio.sleep(2 * MAX_SILENCE_S)
        assert not around.liveness.is_isolated
        assert caplog.records == []


async def test_the_informant_prints_isolation_in_place_of_idle(
    rig: Rig, patient_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Print isolation in place of the idle line."""
    async with watching(rig) as around, trio.open_nursery() as nursery:
        informant = Informant(rig.chain, lambda: around.peers, isolated=around.liveness.line)
        with caplog.at_level(logging.INFO, "cfnode.informant"):
            nursery.start_soon(informant.run)
            await trio.sleep(21)
        nursery.cancel_scope.cancel()
    lines = [record.message for record in caplog.records if record.name == "cfnode.informant"]
    assert [line.partition(",")[0] for line in lines] == [
        *["💤 Idle (1 peer)"] * 3,
        "⚠️  No block for 20 s (1 peer)",
    ]


def pending(publisher: Publisher[TxStatus], rig: Rig, around: Surroundings) -> Submission:
    """Return a submission that waits for a status."""
    return Submission(rig.chain, Watch(b"\1" * 32, publisher.subscribe()), around.liveness)


async def test_a_call_that_waits_for_a_block_is_answered_when_none_has_come_for_long(
    rig: Rig, patient_clock: MockClock
) -> None:
    """Answer a call that waits when no block has come for long, with the transaction's hash."""
    async with watching(rig) as around:
        publisher = Publisher[TxStatus](None)
        with pending(publisher, rig, around) as submission:
            await trio.sleep(WAITING_CALL_TIMEOUT_S - 1)
            await rig.block()  # blocks come: it may be in the next one
            began = trio.current_time()
            with pytest.raises(NotYetIncluded) as refusal:
                await submission.in_block()
            assert trio.current_time() - began == pytest.approx(WAITING_CALL_TIMEOUT_S, abs=0.1)
        error = explain(refusal.value, "broker_requestSwapDepositAddress")
        assert error.code == -32024
        assert error.data == {"tx_hash": "0x" + "01" * 32}
        assert error.message.startswith(
            f"transaction 0x{'01' * 32} sent, not yet included (1 peer, but it gives"
        )


async def test_new_blocks_extend_the_wait_and_finality_has_its_own_message(
    rig: Rig, patient_clock: MockClock
) -> None:
    """Extend the wait with each block, and say where only finality is missing."""
    async with watching(rig) as around, trio.open_nursery() as nursery:
        publisher = Publisher[TxStatus](None)

        async def blocks() -> None:
            for _ in range(5):
                await trio.sleep(WAITING_CALL_TIMEOUT_S - 2)
                block = await rig.block()
            publisher.publish(TxStatus(StatusKind.IN_BLOCK, block, 0))

        nursery.start_soon(blocks)
        with (
            pending(publisher, rig, around) as submission,
            pytest.raises(NotYetIncluded, match=r"included in block 0x[0-9a-f]{64}, not yet final"),
        ):
            await submission.finalized()
        assert trio.current_time() == pytest.approx(
            5 * (WAITING_CALL_TIMEOUT_S - 2) + WAITING_CALL_TIMEOUT_S, abs=1
        )


async def test_a_broker_call_on_a_node_without_new_blocks_is_answered_and_executed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answer a broker's call without new blocks, and execute it with the next one."""
    monkeypatch.setattr(liveness_module, "MAX_SILENCE_S", 1.5)
    monkeypatch.setattr(liveness_module, "WAITING_CALL_TIMEOUT_S", 2.0)
    async with live_node(tmp_path / "author", dev=MANUAL) as author:
        for _ in range(2):
            await made(author).control.new_block(finalize=True)
        (address, *_) = author.network.listening
        near = NetworkConfig(
            listen=("/ip4/127.0.0.1/tcp/0",), boot_nodes=(f"{address}/p2p/{author.local_peer_id}",)
        )
        async with live_node(tmp_path / "follower", network=near) as node:
            assert node.broker is not None
            await reach(node, 2)
            await until(lambda: not node.is_syncing and node.peers > 0)
            began = trio.current_time()
            with trio.fail_after(LIMIT_S), pytest.raises(NotYetIncluded) as refusal:
                await node.broker.register_account()
            assert trio.current_time() - began >= 2
            assert [impediment["kind"] for impediment in node.impediments] == ["isolated"]
            assert b"cfnode_isolated" in node.metrics.render()
            assert not node.health()["isSyncing"]
            assert refusal.value.tx_hash in node.pool
            await until(lambda: refusal.value.tx_hash in author.pool)
            new = await made(author).control.new_block()
            assert new.taken == 1
            await reach(node, 3)
            assert node.impediments == []
