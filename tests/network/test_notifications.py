"""Notification protocols between nodes over TCP."""

from __future__ import annotations

from contextlib import suppress

import pytest
import trio
import trio.testing

from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.core.wire.announces import Roles
from cfnode.network.interface import Closed, NotificationLimits, ProtocolOpened, Received
from cfnode.network.transport import DialError
from tests.network.conftest import address_of, running, service
from tests.support.network.notifications import Node, next_of
from tests.support.waiting import LIMIT_S, until


async def test_a_dialed_peer_opens_both_protocols_both_ways() -> None:
    """Open both protocols both ways with a dialed peer, with each side's handshake."""
    one, two = Node(1), Node(2)
    async with running(one.service, two.service):
        await two.service.connect(address_of(one.service))
        assert await next_of(one.announces) == ProtocolOpened(two.id, b"hello from 2", inbound=True)
        assert await next_of(two.announces) == ProtocolOpened(one.id, b"hello from 1", inbound=False)
        await until(lambda: one.grandpa.peers and two.grandpa.peers)
        assert one.service.peers[two.id].opened == {"block-announces/1", "grandpa/1"}


async def test_notifications_arrive_in_order() -> None:
    """Deliver notifications in order, both ways."""
    one, two = Node(1), Node(2)
    async with running(one.service, two.service):
        await two.service.connect(address_of(one.service))
        await next_of(one.announces)
        await next_of(two.announces)
        for number in range(100):
            assert two.announces.send(one.id, b"%d" % number)
        assert [await next_of(one.announces) for _ in range(100)] == [
            Received(two.id, b"%d" % number) for number in range(100)
        ]
        assert one.announces.send(two.id, b"back")
        assert await next_of(two.announces) == Received(one.id, b"back")
        assert not one.announces.send(one.id, b"after the end")


async def test_the_end_of_a_connection_closes_each_protocol_once() -> None:
    """Close each protocol once at the end of a connection, and send nothing afterwards."""
    one, two = Node(1), Node(2)
    async with running(one.service, two.service):
        await two.service.connect(address_of(one.service))
        await next_of(one.announces)
        await until(lambda: two.grandpa.peers)
        two.service.disconnect(one.id, "done")
        assert await next_of(one.announces) == Closed(two.id)
        assert not one.announces.send(two.id, b"too late")
        await until(lambda: not one.service.peers)
        assert isinstance(await next_of(two.announces), ProtocolOpened)
        assert await next_of(two.announces) == Closed(one.id)


async def test_a_message_over_the_limit_ends_the_protocol() -> None:
    """End the protocol of a peer that sends a message over the limit."""
    one, two = Node(1, NotificationLimits(message=10)), Node(2)
    async with running(one.service, two.service):
        await two.service.connect(address_of(one.service))
        await next_of(one.announces)
        await next_of(two.announces)
        two.announces.send(one.id, bytes(11))
        assert await next_of(one.announces) == Closed(two.id)
        assert await next_of(two.announces) == Closed(one.id)


async def test_a_peer_that_does_not_read_is_dropped_when_its_queue_is_full() -> None:
    """Drop a peer that does not read once its queue is full."""
    one, two = Node(1), Node(2, NotificationLimits(queue=4))
    async with running(one.service, two.service):
        await two.service.connect(address_of(one.service))
        await next_of(two.announces)  # one's own events are never read
        sent = 0
        with trio.fail_after(LIMIT_S):
            while two.announces.send(one.id, bytes(100_000)):
                sent += 1
                await trio.sleep(0.001)
        assert sent < 100
        assert await next_of(two.announces) == Closed(one.id)


async def test_a_node_without_free_slots_accepts_reserved_nodes_only() -> None:
    """Accept reserved nodes only where all slots are taken."""
    friend = service(3)
    full = Node(1, in_peers=1, reserved_nodes=[Multiaddr.parse(f"/ip4/127.0.0.1/tcp/1/p2p/{friend.peer_id}")])
    first, second, third = Node(2), Node(4), Node(3)
    async with running(full.service, first.service, second.service, third.service):
        await first.service.connect(address_of(full.service))
        await until(lambda: full.announces.peers == {first.id})
        await second.service.connect(address_of(full.service))
        await third.service.connect(address_of(full.service))
        await until(lambda: full.announces.peers == {first.id, third.id})
        await until(lambda: not second.announces.has_link(full.id))
        assert second.id not in full.announces.peers


async def test_light_nodes_have_slots_of_their_own() -> None:
    """Give light nodes slots of their own: they must not take those of full nodes."""
    node = Node(1, in_peers=1, in_peers_light=2)
    lights = [Node(number, roles=Roles.LIGHT) for number in (2, 3, 4)]
    fulls = [Node(number, roles=Roles.FULL) for number in (5, 6)]
    async with running(node.service, *(peer.service for peer in (*lights, *fulls))):
        let_in = [*lights[:2], fulls[0]]
        for peer in let_in:
            await peer.service.connect(address_of(node.service))
            await until(lambda peer=peer: peer.announces.peers)
        for peer in (lights[2], fulls[1]):
            await peer.service.connect(address_of(node.service))
            await until(lambda peer=peer: peer.announces._pauses.failures(node.id))
        assert node.announces.peers == {peer.id for peer in let_in}


async def test_an_ended_protocol_is_opened_again_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open a protocol again that ended, after a pause, on the connection that is still there."""
    monkeypatch.setattr("cfnode.network.backoff.FIRST_WAIT", 0.02)
    monkeypatch.setattr("cfnode.network.dialing.UPKEEP_INTERVAL", 0.01)
    one, two = Node(1), Node(2)
    async with running(one.service, two.service):
        await two.service.connect(address_of(one.service))
        await until(lambda: one.grandpa.peers and two.grandpa.peers)
        one.grandpa.close(two.id)
        events = [await next_of(two.grandpa) for _ in range(3)]
        assert [type(event) for event in events] == [ProtocolOpened, Closed, ProtocolOpened]
        one.announces.close(two.id)
        events = [await next_of(two.announces) for _ in range(3)]
        assert [type(event) for event in events] == [ProtocolOpened, Closed, ProtocolOpened]
        await until(lambda: one.grandpa.peers and two.grandpa.peers)
        assert len(one.service.peers) == 1


async def test_a_peer_that_disconnects_at_once_is_dialed_less_and_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Count each early disconnection as a failure, which delays the next dial."""
    monkeypatch.setattr("cfnode.network.backoff.FIRST_WAIT", 0.01)
    monkeypatch.setattr("cfnode.network.dialing.UPKEEP_INTERVAL", 0.01)
    boot = Node(1)
    async with running(boot.service):
        node = Node(2, boot_nodes=[address_of(boot.service)])
        async with running(node.service):
            for calls in range(1, 5):
                await until(lambda: boot.announces.peers and node.announces.peers)
                boot.service.disconnect(node.id, "that is all")
                await until(lambda calls=calls: node.service._peer_store.dials.failures(boot.id) == calls)


async def test_a_useless_peer_is_evicted_if_another_node_is_known() -> None:
    """Evict a useless peer that we dialed once another node is known, and never one that called us."""
    useless, other = Node(1), Node(2)
    async with running(useless.service, other.service):
        node = Node(3, out_peers=1, boot_nodes=[address_of(useless.service)])
        async with running(node.service):
            await until(lambda: node.announces.peers == {useless.id})
            node.service.evict(useless.id, "it refuses")
            await trio.testing.wait_all_tasks_blocked(0.02)
            assert node.announces.peers == {useless.id}, "no other peer is known"
            node.service._discovery.learn(other.id, other.service.listening, met=False)
            node.service.evict(useless.id, "it refuses")
            await until(lambda: node.announces.peers == {other.id})
            useless.service.evict(node.id, "it asks for too much")
            other.service.evict(node.id, "it asks for too much")
            await trio.testing.wait_all_tasks_blocked(0.02)
            assert other.announces.peers == {node.id}, "who called us takes no place that others could have"


async def test_a_banned_peer_is_disconnected_and_refused() -> None:
    """Disconnect a banned peer, and refuse it when it comes back."""
    one, two = Node(1), Node(2)
    async with running(one.service, two.service):
        await two.service.connect(address_of(one.service))
        await until(lambda: one.announces.peers)
        one.service.report(two.id, -(1 << 31), "it lied")
        await until(lambda: not one.service.peers and not two.service.peers)
        with suppress(DialError):  # the refusal may come before or after the dialer is content
            await two.service.connect(address_of(one.service))
        await until(lambda: not one.service.peers and not two.service.peers)


async def test_nodes_find_each_other_through_a_boot_node() -> None:
    """Find another node through a boot node."""
    boot = Node(1)
    async with running(boot.service):
        nodes = [Node(number, boot_nodes=[address_of(boot.service)]) for number in (2, 3)]
        async with running(*(node.service for node in nodes)):
            await until(lambda: len(boot.announces.peers) == 2)
            await until(lambda: all(peer.agent for peer in boot.service.peers.values()))
            assert await nodes[0].service._discovery.discover([boot.id], nodes[0].service._ask_kad) >= 1
            nodes[0].service._dialing.wake()
            await until(lambda: nodes[1].id in nodes[0].announces.peers)
