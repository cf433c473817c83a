"""What peers send is read from the beginning, and at the rate at which honest peers send it."""

from __future__ import annotations

import trio
import trio.testing

from cfnode.core.grandpa import NeighborPacket
from cfnode.core.wire.transactions import encode_transactions
from cfnode.network.interface import Received
from cfnode.network.notifications import Notifications
from cfnode.node.sync import transactions
from tests.node.mini import tx
from tests.support.network.connections import both
from tests.support.network.notifications import NAME, served
from tests.support.node.peers import Peer, followed, running

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
