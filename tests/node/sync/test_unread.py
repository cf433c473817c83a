"""What peers send is read from the beginning, and at the rate at which honest peers send it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
import trio
import trio.testing

from cfnode.core.grandpa import NeighborPacket
from cfnode.core.wire.transactions import decode_transactions, encode_transactions
from cfnode.network.interface import Received
from cfnode.network.notifications import Notifications
from cfnode.node.chain.call_cache import RuntimeCall
from cfnode.node.pool.transaction import PoolTransaction
from cfnode.node.sync import transactions
from cfnode.runtime.calls import StateSource
from tests.node.mini import tx
from tests.support.network.connections import both
from tests.support.network.notifications import NAME, served
from tests.support.node.net import MemoryNetwork, join
from tests.support.node.peers import Peer, followed, reached, running

PER_SECOND, SECONDS = 300, 20


async def test_messages_are_read_during_the_first_download(
    authority: Peer, light: Peer, patient_clock: trio.testing.MockClock
) -> None:
    """Transactions among them are dropped: they would be outdated when the state is complete."""
    authority.network.delay = 10
    sent = encode_transactions([tx("dave", 0)])
    async with running(authority, light):
        for _ in range(1_000):
            authority.network.protocols["transactions/1"].send("light", sent)
            authority.network.protocols["grandpa/1"].send("light", NeighborPacket(1, 0, 0).encode())
        await trio.sleep(1)
        assert light.sync.progress.is_syncing
        unread = {
            name: protocol.events.statistics().current_buffer_used
            for name, protocol in light.network.protocols.items()
        }
        assert unread == dict.fromkeys(("block-announces/1", "grandpa/1", "transactions/1"), 0)
        authority.network.delay = 0
        await followed(light, authority)
        assert list(light.rig.pool.ready()) == []
        assert light.sync.transactions_propagated == 0
        assert light.network.reports == []


async def test_transactions_are_validated_several_at_a_time(
    authority: Peer, light: Peer, patient_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other, a call of 20 ms would let a peer's transactions wait for longer and longer."""
    make, count = light.rig.executor.call_all, 600

    async def make_slowly(at: StateSource, calls: Sequence[RuntimeCall]) -> list[bytes]:
        await trio.sleep(0.02)
        return list(await make(at, calls))

    async with running(authority, light):
        await followed(light, authority)
        monkeypatch.setattr(light.rig.executor, "call_all", make_slowly)
        began = trio.current_time()
        for number in range(count):
            sent = encode_transactions([tx(f"sender {number}", 0)])
            authority.network.protocols["transactions/1"].send("light", sent)
        await reached(light, lambda: light.rig.pool.status.ready == count)
        assert trio.current_time() - began < count * 0.02 / 4
        assert light.network.reports == []


async def test_of_many_arrivals_each_peer_gets_few_notifications(
    authority: Peer, light: Peer, patient_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole pool is not looked at for each: that would cost more and more the more transactions wait."""
    pool, count, seconds = light.rig.pool, 600, 2
    looks, ready = 0, pool.ready

    def look() -> Iterator[PoolTransaction]:
        nonlocal looks
        looks += 1
        return ready()

    async with running(authority, light):
        await followed(light, authority)
        near = MemoryNetwork("near")
        protocol = near.notifications("transactions/1", lambda: b"\x01")
        join(near, light.network)
        monkeypatch.setattr(pool, "ready", look)
        for number in range(count):
            await pool.submit(tx(f"sender {number}", 0))
            await trio.sleep(seconds / count)
        await trio.sleep(1)
        received: list[bytes] = []
        notifications = 0
        while protocol.events.statistics().current_buffer_used:
            event = protocol.events.receive_nowait()
            if isinstance(event, Received):
                received += decode_transactions(event.data)
                notifications += 1
        assert sorted(received) == sorted(tx(f"sender {number}", 0) for number in range(count))
        assert notifications <= seconds / transactions.ARRIVAL_INTERVAL_S + 3
        assert looks <= 3


@pytest.mark.world
async def test_three_hundred_transactions_a_second_are_read_as_they_come(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Substrate sends each transaction in a notification of its own."""
    theirs, ours = (
        Notifications(
            NAME, lambda: b"hello", transactions.TRANSACTION_NOTIFICATION_LIMITS, lambda peer, handshake: None
        )
        for _ in range(2)
    )
    latest = 0.0

    async def send(peer: str) -> None:
        for number in range(PER_SECOND * SECONDS):
            assert ours.send(peer, number.to_bytes(134, "big"))
            await trio.sleep(1 / PER_SECOND)

    async with (
        both(served(theirs), caller_does=served(ours)) as (caller, _),
        trio.open_nursery() as nursery,
    ):
        ours.open(caller)
        await theirs.events.receive()
        await ours.events.receive()
        nursery.start_soon(send, caller.peer_id)
        began = trio.current_time()
        for number in range(PER_SECOND * SECONDS):
            event = await theirs.events.receive()
            assert isinstance(event, Received)
            assert int.from_bytes(event.data, "big") == number
            latest = max(latest, trio.current_time() - began - number / PER_SECOND)
    assert latest < 0.1
