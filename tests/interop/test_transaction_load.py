"""Peers over rust-libp2p and litep2p that send hundreds of transactions a second, as loaded validators do.

A light node of ours downloads its state from such a peer for a minute, with 300 transactions a second at
the same time, and follows the chain for five minutes after that, with 200 a second. Each transaction comes in
a notification of its own, as from a Substrate node.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from cfnode.core.aura import SLOT_MS
from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.core.wire.transactions import SUFFIX, encode_transactions
from cfnode.node.sync.service import ChainSync
from cfnode.node.sync.serving import serve_state
from tests.interop.rust_network import BACKENDS, RustNetwork, RustProtocol, running_network, rust_program
from tests.lengths import repeats
from tests.node.conftest import MakeRig, make_rig
from tests.node.mini import Rig, put, tx
from tests.support.node.liar import TcpPeer
from tests.support.node.peers import KEYS, grow
from tests.support.waiting import until

pytestmark = pytest.mark.world

__all__ = ["make_rig"]

DOWNLOAD_S, PER_SECOND = repeats(60, 10), 300
FOLLOWING_S, PER_SECOND_THEN = repeats(300, 20), 200
BLOCK_S = repeats(6, 3)
PATIENCE_S = 900.0
RANGE_BYTES = 32 << 10
"""Bytes of one range of the state: a small state with many of them takes as long as a large one."""
RANGE_S = 1.0
"""Seconds that a peer takes for a range; two are under way at a time."""
MAX_UNSENT = 2_048
"""Notifications that a Substrate node keeps for a peer; beyond them it ends the connection."""
MAX_LAG = 3
"""Blocks that finality may be behind the validators'."""


class LoadedValidator:
    """The author of a mini chain behind a Rust peer, which also sends transactions at a given rate."""

    def __init__(self, program: Path, backend: str, rig: Rig) -> None:
        self.rig = rig
        self.network = RustNetwork(program, backend, rig.chain.genesis_hash)
        self.sync = ChainSync(self.network, rig.chain, rig.store, author=True)
        self.transactions: RustProtocol = self.network.notifications(SUFFIX, lambda: b"\x01")
        self.sent = 0
        self.clocks = [rig]
        """The chains whose clock goes on with each block."""
        self._pending: list[bytes] = []

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run the network, the sync and the author."""
        async with running_network(self.network), trio.open_nursery() as nursery:
            nursery.start_soon(self.sync.run)
            nursery.start_soon(self._make_blocks)
            task_status.started()

    async def _make_blocks(self) -> None:
        """Make a block each few seconds, with all that was sent since the one before; it is final at once."""
        while True:
            await trio.sleep(BLOCK_S)  # the pace of the chain
            included, self._pending = self._pending, []
            await self.next_block(*included)

    async def next_block(self, *transactions: bytes) -> None:
        """Make a final block, a slot later."""
        for rig in self.clocks:
            rig.wall_ms += SLOT_MS
        await self.rig.block(*transactions, final=True)

    async def send(self, peer: str, per_second: int, seconds: float) -> None:
        """Send new transactions at a steady rate."""
        began, due = trio.current_time(), 0
        while (elapsed := trio.current_time() - began) < seconds:
            due, before = int(elapsed * per_second), due
            for _ in range(due - before):
                extrinsic = tx(f"sender {self.sent}", 0, put("sent", f"{self.sent:064}"))
                assert self.transactions.send(peer, encode_transactions([extrinsic]))
                self._pending.append(extrinsic)
                self.sent += 1
            await trio.sleep(0.01)  # the rate is what is tested


async def grow_large(validator: LoadedValidator) -> None:
    """Make a state of so many ranges that its download takes the time of the test."""
    for number in range(int(2 * DOWNLOAD_S / RANGE_S)):
        value = f"{number:03}".ljust(RANGE_BYTES, ".")
        await validator.next_block(tx("writer", number, put(f"large {number}", value)))


@pytest.fixture(params=BACKENDS)
async def validator(
    request: pytest.FixtureRequest, make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> LoadedValidator:
    """Return a validator with a large state that it serves slowly."""
    rig = await make_rig("validator", authorities=KEYS)
    validator = LoadedValidator(rust_program(), request.param, rig)
    await grow(validator)
    await grow_large(validator)
    monkeypatch.setattr(serve_state, "MAX_STATE_PROOF_BYTES", RANGE_BYTES)
    serve = validator.network._handlers["state/2"]

    async def serve_slowly(peer: str, data: bytes) -> bytes | None:
        await trio.sleep(RANGE_S)  # a slow server
        return await serve(peer, data)

    validator.network._handlers["state/2"] = serve_slowly
    return validator


class Watched:
    """The greatest distances that the test finds while it runs."""

    def __init__(self, validator: LoadedValidator, node: TcpPeer) -> None:
        self.validator, self.node = validator, node
        self.unsent = self.lag = 0
        self.charges: list[tuple[str, int, str]] = []
        report = node.network.report

        def charge(peer: str, change: int, reason: str) -> None:
            self.charges.append((peer, change, reason))
            report(peer, change, reason)

        node.network.report = charge  # type: ignore[method-assign]

    @property
    def received(self) -> int:
        """The number of transactions that the node has read."""
        return sum(self.node.network._membership.protocols[SUFFIX].traffic.received.counts)

    async def run(self) -> None:
        """Sample the distances until the end."""
        has_followed = False
        while True:
            behind = self.validator.rig.chain.finalized.number - self.node.rig.chain.finalized.number
            has_followed = has_followed or (behind == 0 and not self.node.sync.progress.is_syncing)
            self.lag = max(self.lag, behind if has_followed else 0)
            self.unsent = max(self.unsent, self.validator.sent - self.received)
            await trio.sleep(0.1)  # between two samples


@asynccontextmanager
async def both_running(validator: LoadedValidator, node: TcpPeer) -> AsyncIterator[Watched]:
    """Yield the samples while both run, connected."""
    watched = Watched(validator, node)
    async with trio.open_nursery() as nursery:
        for peer in (validator, node):
            await nursery.start(peer.run)
        await node.network.connect(Multiaddr.parse(validator.network.address))
        await until(lambda: node.id in validator.transactions.peers)
        nursery.start_soon(watched.run)
        yield watched
        nursery.cancel_scope.cancel()


async def test_a_node_stays_connected_and_in_step_under_hundreds_of_transactions_a_second(
    validator: LoadedValidator, make_rig: MakeRig
) -> None:
    """Stay connected and in step, during download and after it, under hundreds of transactions a second."""
    node = TcpPeer(1, await make_rig("light", authorities=KEYS), light=True)
    node.rig.wall_ms = validator.rig.wall_ms
    validator.clocks.append(node.rig)
    rust, progress = validator.network, node.sync.progress
    with trio.fail_after(PATIENCE_S):
        async with both_running(validator, node) as watched:
            began = trio.current_time()
            await validator.send(node.id, PER_SECOND, DOWNLOAD_S / 2)
            assert progress.is_syncing
            assert node.rig.pool.status.ready == 0, "they would be outdated when the state is complete"
            while progress.is_syncing:
                await validator.send(node.id, PER_SECOND, 1)
            assert trio.current_time() - began > DOWNLOAD_S * 0.8
            await validator.send(node.id, PER_SECOND_THEN, FOLLOWING_S)
            await until(
                lambda: watched.received == validator.sent,
                lambda: f"{watched.received} of {validator.sent} transactions were read",
            )
            await until(lambda: node.rig.chain.finalized == validator.rig.chain.finalized)
            assert watched.lag <= MAX_LAG
            assert watched.unsent < MAX_UNSENT
            assert (rust.count("connected"), rust.count("disconnected"), rust.count("closed")) == (1, 0, 0)
            assert rust.penalties == watched.charges == []
            assert node.network.peers[rust.peer_id].reputation == 0
            assert sorted(node.network.peers[rust.peer_id].opened) == sorted(rust._protocols)
            assert node.rig.pool.counts.invalid == 0
