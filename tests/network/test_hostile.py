"""Hostile peers: the node drops them and goes on."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

import pytest
import trio
import trio.testing

from cfnode.core.p2p import kademlia
from cfnode.core.p2p.kademlia import KnownPeer
from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.core.p2p.multistream import MULTISTREAM_HEADER, line
from cfnode.core.p2p.yamux import YamuxSession
from cfnode.core.p2p.yamux.frames import FRAME_HEADER as FRAME
from cfnode.core.p2p.yamux.frames import SYN, WINDOW
from cfnode.core.p2p.yamux.session import MAX_INBOUND
from cfnode.core.peer_id import peer_id
from cfnode.network.admission import MAX_HALF_OPEN_CONNECTIONS, MAX_PER_ADDRESS
from cfnode.network.dialing import MAX_DIALS, NODE_TIMEOUT, UPKEEP_INTERVAL
from cfnode.network.discovery import FIND_NODE_LIMITS as KAD_LIMITS
from cfnode.network.interface import RequestFailed, RequestLimits
from cfnode.network.peer_store import BANNED_THRESHOLD, PeerStore
from cfnode.network.service import NetworkService
from cfnode.network.transport import DialError
from cfnode.network.upgrade import upgrade
from tests.network.conftest import address_of, key, running, service
from tests.support.network.hostile import ended, frames, raw, secured, victim
from tests.support.waiting import LIMIT_S, until


async def still_works(node: NetworkService) -> None:
    """Assert that the node still answers a new client."""
    client = service(2)
    client.serve_requests("sync/2", None)
    async with running(client):
        await client.connect(address_of(node))
        assert await client.request(node.peer_id, "sync/2", b"hello") == b"hello"


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\nHost: example\r\n" * 4,
        b"\xff" * 100,
        line(MULTISTREAM_HEADER) + line("/noise") + b"\xff\xff",
        line(MULTISTREAM_HEADER) + line("/noise") + b"\x00\x20" + bytes(32),
        line(MULTISTREAM_HEADER) + b"\x02\xff\n",
        line(MULTISTREAM_HEADER) + line("/unknown") * 30,
    ],
)
async def test_garbage_instead_of_a_handshake_ends_that_connection(garbage: bytes) -> None:
    """End a connection that sends garbage instead of a handshake, and no other."""
    node = victim()
    async with running(node):
        stream = await raw(node)
        await stream.send_all(garbage)
        await ended(stream)
        await still_works(node)


async def test_peers_that_disconnect_at_once_leave_nothing_behind() -> None:
    """Leave nothing behind of peers that disconnect at once."""
    node = victim()
    async with running(node):
        for _ in range(50):
            stream = await raw(node)
            await stream.send_all(line(MULTISTREAM_HEADER))
            await trio.aclose_forcefully(stream)
        await still_works(node)
        await until(lambda: not node.peers and node._connections.admission.pending == 0)


@pytest.mark.parametrize(
    "attack", [b"\x01" * 12, FRAME.pack(0, 0, 0, 200, 5) + b"never", FRAME.pack(0, 0, SYN, 1, 1 << 30)]
)
async def test_malformed_frames_end_the_connection_and_cost_reputation(attack: bytes) -> None:
    """End a connection with malformed frames, and lower the peer's reputation."""
    node = victim()
    async with running(node):
        stream, peer = await secured(node)
        await until(lambda: node.peers)
        identity = next(iter(node.peers))
        await frames(peer.channel, stream, attack)
        await ended(stream)
        await until(lambda: not node.peers)
        assert node._peer_store.score(identity, trio.current_time()) < 0
        await still_works(node)


async def test_a_flood_of_substreams_stops_at_the_limit() -> None:
    """Stop a flood of substreams at the limit, and serve others meanwhile."""
    node = victim()
    async with running(node):
        stream, peer = await secured(node)
        flood = [FRAME.pack(0, WINDOW, SYN, 2 * number + 1, 0) for number in range(200)]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ended, stream)
            await frames(peer.channel, stream, *flood)
            await until(lambda: node.peers)
            connection = next(iter(node._connections.peers.values())).connection
            await until(lambda: sum(number % 2 for number in connection._substreams) == MAX_INBOUND)
            await still_works(node)
            assert sum(number % 2 for number in connection._substreams) == MAX_INBOUND
            nursery.cancel_scope.cancel()


async def test_one_peer_gets_half_of_what_a_protocol_serves_at_a_time() -> None:
    """Serve one peer at most half of the concurrent requests of a protocol."""
    node, greedy, modest = service(1), service(2), service(3)
    begun, go_on = 0, trio.Event()

    async def slow(peer: str, data: bytes) -> bytes | None:
        nonlocal begun
        begun += 1
        await go_on.wait()
        return data

    node.serve_requests("sync/2", slow, RequestLimits(concurrent=4))
    refused = 0

    async def ask(client: NetworkService) -> None:
        nonlocal refused
        try:
            await client.request(node.peer_id, "sync/2", b"x")
        except RequestFailed:
            refused += 1

    for client in (greedy, modest):
        client.serve_requests("sync/2", None)
    async with running(node, greedy, modest), trio.open_nursery() as nursery:
        for client in (greedy, modest):
            await client.connect(address_of(node))
        for _ in range(3):
            nursery.start_soon(ask, greedy)
        await until(lambda: refused == 1)
        assert begun == 2
        nursery.start_soon(ask, modest)
        await until(lambda: begun == 3)
        go_on.set()
    assert refused == 1


def test_one_address_of_the_internet_gets_five_connections() -> None:
    """Accept five connections of an internet address or /64, and any number of this machine."""
    admission = victim()._connections.admission
    crowded, other, here = (
        Multiaddr.parse(f"/ip4/{host}/tcp/1") for host in ("8.8.8.8", "8.8.4.4", "127.0.0.1")
    )
    near, far = (Multiaddr.parse(f"/ip6/2606:4700:{net}::7/tcp/1") for net in ("1:2", "1:3"))
    same_net = Multiaddr.parse("/ip6/2606:4700:1:2::8/tcp/1")
    with ExitStack() as stack:
        for address in (*[crowded] * 4, *[here] * 20, *[same_net] * 5):
            stack.enter_context(admission.counted(address))
        assert not admission.at_limit(crowded)
        stack.enter_context(admission.counted(crowded))
        assert admission.at_limit(crowded)
        assert not admission.at_limit(other)
        assert not admission.at_limit(here), "many nodes of a development chain share one machine"
        assert admission.at_limit(near)
        assert not admission.at_limit(far)
    assert not admission.at_limit(crowded)


async def test_connections_that_are_not_yet_secured_count_for_their_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Count connections for their address before they are secured."""
    monkeypatch.setattr(Multiaddr, "is_global", property(lambda address: True))
    node = victim()
    async with running(node):
        silent = [await raw(node) for _ in range(MAX_PER_ADDRESS + 1)]
        await ended(silent[-1])
        assert node._connections.admission.pending == MAX_PER_ADDRESS
        for stream in silent:
            await trio.aclose_forcefully(stream)
        await until(lambda: not node._connections.admission._per_address)
        await still_works(node)


async def test_false_addresses_reported_by_a_peer_are_not_passed_on() -> None:
    """It reports real and invented nodes at the address of a victim, which all nodes would then dial."""
    liar, node, true, asking = (service(number) for number in (1, 2, 3, 4))
    trap = Multiaddr.parse("/ip4/127.0.0.1/tcp/9")
    named = [KnownPeer(peer_id(key(number).public), (trap,)) for number in (3, *range(50, 60))]

    async def lie(peer: str, data: bytes) -> bytes | None:
        return kademlia.answer(named)

    liar.serve_requests("kad", lie, KAD_LIMITS)
    async with running(liar, node, true, asking):
        await node.connect(address_of(true))
        await node.connect(address_of(liar))
        await until(lambda: {true.peer_id, liar.peer_id} <= {entry.peer for entry in met(node)})
        before = node._discovery.addresses(true.peer_id)
        assert await node._discovery.discover([liar.peer_id], node._ask_kad) == 10
        assert node._discovery.addresses(true.peer_id) == before
        await asking.connect(address_of(node))
        answer = kademlia.decode_answer(await asking.request(node.peer_id, "kad", kademlia.query(bytes(32))))
        assert {entry.peer for entry in answer} <= {true.peer_id, liar.peer_id, asking.peer_id}
        assert trap not in [address for entry in answer for address in entry.addresses]


def met(node: NetworkService) -> list[KnownPeer]:
    """Return the known peers that the node has met."""
    return node._discovery._table.nearest(bytes(32), met=True)


async def test_a_node_with_many_slow_addresses_delays_no_other_dial(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Twenty seconds per address, ten addresses, eight such nodes: a boot node would wait for minutes."""
    node, called = service(1), list[str]()
    for number in range(MAX_DIALS):
        addresses = [Multiaddr.parse(f"/ip4/127.0.0.{last}/tcp/9") for last in range(1, 20)]
        node._discovery.learn(peer_id(key(70 + number).public), addresses, met=True)
        assert len(node._discovery.addresses(peer_id(key(70 + number).public))) == 10

    async def dial(address: Multiaddr) -> None:
        called.append(str(address.peer))
        await trio.sleep(20)
        raise DialError(f"{address}: no answer")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(node._dialing.run, dial, lambda: MAX_DIALS, lambda: None)
        await trio.sleep(1)
        assert len(set(called)) == MAX_DIALS
        friend = Multiaddr.parse("/ip4/127.0.0.1/tcp/9").with_peer(peer_id(key(99).public))
        node._discovery.add_named(friend)
        await trio.sleep(NODE_TIMEOUT + UPKEEP_INTERVAL)
        assert called.count(str(friend.peer)) == 1
        nursery.cancel_scope.cancel()


async def test_a_silent_connection_is_dropped_before_it_is_secured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Drop a silent connection before it is secured, and free its slot."""
    monkeypatch.setattr("cfnode.network.connections.SETUP_TIMEOUT", 0.2)
    node = victim()
    async with running(node):
        silent = [await raw(node) for _ in range(MAX_HALF_OPEN_CONNECTIONS + 3)]
        await until(lambda: node._connections.admission.pending == MAX_HALF_OPEN_CONNECTIONS)
        for stream in silent:
            await ended(stream)
        assert node._connections.admission.pending == 0
        await still_works(node)


async def test_a_multistream_line_that_is_not_text_ends_its_substream_only() -> None:
    """Reset only the substream on which a line is not text."""
    node = victim()
    async with running(node):
        stream, peer = await secured(node)
        session = YamuxSession(dialer=True)
        number = session.open()
        session.send(number, line(MULTISTREAM_HEADER) + b"\x05\xff\xfe\xfd\xfc\n")
        await frames(peer.channel, stream, *session.frames_to_send())
        events = []
        with trio.fail_after(LIMIT_S):
            while not any(type(event).__name__ == "StreamReset" for event in events):
                for plaintext in peer.channel.receive_data(bytes(await stream.receive_some(65536))):
                    events += session.receive_data(plaintext)
        assert len(node.peers) == 1
        await still_works(node)


async def test_the_error_names_an_address_that_does_not_answer() -> None:
    """Name the address that does not answer in the error."""
    node = victim()
    async with running(node):
        with pytest.raises(DialError, match=r"/ip4/127\.0\.0\.1/tcp/1: "):
            await node.connect(Multiaddr.parse("/ip4/127.0.0.1/tcp/1"))
        with pytest.raises(DialError, match="cannot be dialed"):
            await node.connect(Multiaddr.parse("/ip4/127.0.0.1/udp/1"))


async def test_a_boot_node_with_another_id_is_listed_with_the_reason() -> None:
    """List a boot node with another id than its address states, with the reason."""
    impostor, claimed = victim(), service(9).peer_id
    async with running(impostor):
        node = service(3, boot_nodes=[impostor.listening[0].with_peer(claimed)])
        async with running(node):
            await until(lambda: node.unreachable)
            assert f"the node's id is {impostor.peer_id}" in node.unreachable[claimed]
            assert not node.peers
            assert not node._peer_store.may_dial(claimed, trio.current_time())


async def test_a_node_that_the_user_reserves_is_dialed_now_however_often_it_has_failed() -> None:
    """Dial a node that the user reserves now, however often it has failed."""
    friend = service(9)
    node = service(3, boot_nodes=[Multiaddr.parse(f"/ip4/127.0.0.1/tcp/1/p2p/{friend.peer_id}")])
    async with running(node, friend):
        await until(lambda: node.unreachable)
        for _ in range(10):
            node._peer_store.dials.failed(friend.peer_id, trio.current_time())
        assert not node._peer_store.may_dial(friend.peer_id, trio.current_time() + 50)
        node.reserve(address_of(friend))
        await until(lambda: friend.peer_id in node.peers and not node.unreachable)


async def test_a_boot_node_that_disconnects_at_once_is_not_dialed_again_at_once() -> None:
    """Dial a boot node that disconnects at once only after a wait."""
    calls = 0

    async def hang_up(stream: trio.SocketStream) -> None:
        nonlocal calls
        calls += 1
        await upgrade(stream, key(66), dialer=False)
        await trio.aclose_forcefully(stream)

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, hang_up, 0, host="127.0.0.1"))
        boot = Multiaddr.parse(f"/ip4/127.0.0.1/tcp/{listeners[0].socket.getsockname()[1]}")
        node = service(3, boot_nodes=[boot.with_peer(peer_id(key(66).public))])
        announces = node.notifications("block-announces/1", lambda: b"hello")
        async with running(node):
            await until(lambda: calls)
            await until(lambda: not node.peers and not announces.has_link(peer_id(key(66).public)))
            check = node._dialing._wake
            node._dialing.wake()
            await until(lambda: node._dialing._wake is not check)
            assert not node._dialing._under_way, "this check would have dialed it"
            assert calls == 1
        nursery.cancel_scope.cancel()


def test_reputation_decays() -> None:
    """Let reputation decay towards zero, and ban a peer for one lie or three lesser faults."""
    peer_store = PeerStore()
    assert peer_store.report("liar", -(1 << 31), now=0)
    assert peer_store.banned("liar", now=10)
    assert not peer_store.banned("liar", now=100)
    assert BANNED_THRESHOLD < peer_store.score("liar", now=100) < 0
    assert not peer_store.report("clumsy", -(1 << 29), now=0)
    assert not peer_store.report("clumsy", -(1 << 29), now=0)
    assert peer_store.report("clumsy", -(1 << 29), now=0)
