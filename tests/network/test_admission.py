"""When strangers take all slots, new nodes and peers that proved useful are still accepted."""

from __future__ import annotations

import logging
import random
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import trio
import trio.testing

from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.core.p2p.multistream import MULTISTREAM_HEADER, line
from cfnode.core.peer_id import peer_id
from cfnode.network.admission import (
    MAX_HALF_OPEN_CONNECTIONS,
    SPARE_CONNECTIONS,
    USEFUL_SLOTS,
    ConnectionAdmission,
    newest_of_largest_network,
)
from cfnode.network.peer_store import BANNED_THRESHOLD, MIN_FIRST_SCORE, PeerStore
from cfnode.network.service import NetworkService
from cfnode.network.useful_peers import MAX_USEFUL, MIN_DELIVERED, USEFUL_PEERS_FILE, UsefulPeers
from tests.network.conftest import address_of, key, running, service
from tests.support.network.notifications import Node
from tests.support.waiting import LIMIT_S, until


def at(host: str) -> Multiaddr:
    """Return the TCP address of a host."""
    return Multiaddr.parse(f"/{'ip6' if ':' in host else 'ip4'}/{host}/tcp/1")


def name(number: int) -> str:
    """Return the peer id of a numbered key."""
    return peer_id(key(number).public)


# Half-open connections


async def test_a_new_connection_evicts_the_oldest_half_open_one_of_the_address_with_most() -> None:
    """Evict the oldest half-open connection of the network and address that have most, not a lone one."""
    admission = ConnectionAdmission(8, (), ())
    hosts = ["10.0.0.1"] * 3 + ["10.0.1.1"] * 8 + ["10.0.1.2"] * 9 + ["10.9.0.1"] * 12
    with ExitStack() as stack:
        scopes = [(host, stack.enter_context(admission.half_open(at(host)))) for host in hosts]
        evicted: list[int] = []
        for number in range(8):
            stack.enter_context(admission.half_open(at(f"192.0.2.{number}")))
            evicted += [
                index
                for index, (_, scope) in enumerate(scopes)
                if scope.cancel_called and index not in evicted
            ]
        assert admission.pending == MAX_HALF_OPEN_CONNECTIONS
        assert [hosts[index] for index in evicted].count("10.0.0.1") == 0
        assert evicted[:3] == [11, 3, 12], "10.0.1.0/24 has 17: .2 has most of them, then both have eight"
    assert admission.pending == 0


async def hold(node: NetworkService, host: str) -> None:
    """Keep a half-open connection, and open it again whenever it ends."""
    endpoint = node.listening[0].endpoint
    assert endpoint is not None
    while True:
        stream = await trio.open_tcp_stream(endpoint.host, endpoint.port, local_address=host)
        try:
            await stream.send_all(line(MULTISTREAM_HEADER))
            while await stream.receive_some():
                pass
        except trio.BrokenResourceError:
            pass
        finally:
            await trio.aclose_forcefully(stream)
        await trio.sleep(0.01)  # a peer that calls again and again, not all the time


async def test_an_honest_node_is_accepted_while_all_half_open_slots_are_held() -> None:
    """Accept an honest node while others hold all half-open slots and come back at once."""
    node, honest = service(1), service(2)
    async with running(node, honest), trio.open_nursery() as nursery:
        for number in range(3 * MAX_HALF_OPEN_CONNECTIONS):
            nursery.start_soon(hold, node, f"127.0.0.{2 + number % 7}")
        await until(lambda: node._connections.admission.pending == MAX_HALF_OPEN_CONNECTIONS)
        with trio.fail_after(LIMIT_S):
            assert await honest.connect(address_of(node)) == node.peer_id
            await until(lambda: honest.peer_id in node.peers)
        assert node._connections.admission.pending <= MAX_HALF_OPEN_CONNECTIONS
        nursery.cancel_scope.cancel()


# Slots of peers


@dataclass
class Candidate:
    """A connected peer, as the choice of an eviction sees it."""

    address: Multiaddr
    inbound: bool = True


def test_a_full_node_accepts_useful_peers_and_peers_of_other_networks() -> None:
    """Accept useful, reserved and far peers on a full node, and none more of a network that has many."""
    admission = ConnectionAdmission(
        0, reserved={"friend"}, useful={f"useful {number}" for number in range(99)}
    )
    peers = {f"sybil {number}": Candidate(at(f"8.8.8.{number}")) for number in range(SPARE_CONNECTIONS - 1)}
    peers["called"] = Candidate(at("8.8.8.99"), inbound=False)
    assert admission.eviction_for("sybil", at("8.8.8.50"), peers) is None
    assert admission.eviction_for("stranger", at("8.8.4.1"), peers) == f"sybil {SPARE_CONNECTIONS - 2}"
    assert admission.eviction_for("friend", at("8.8.8.50"), peers) == ""
    for number in range(USEFUL_SLOTS):
        assert admission.eviction_for(f"useful {number}", at("8.8.8.60"), peers) == ""
        peers[f"useful {number}"] = Candidate(at("8.8.8.60"))
    assert admission.eviction_for("useful 98", at("8.8.8.60"), peers) is None


def test_no_peer_is_evicted_for_a_network_with_as_many_peers() -> None:
    """Evict no peer for one of a network with as many peers, and count a /48 as one network."""
    strangers = {"a": at("8.8.8.1"), "b": at("8.8.8.2"), "c": at("8.8.4.1")}
    assert newest_of_largest_network(strangers, at("8.8.4.2")) is None
    assert newest_of_largest_network(strangers, at("9.9.9.9")) == "b"
    assert newest_of_largest_network({}, at("9.9.9.9")) is None
    near, far = at("2606:4700:1:2::1"), at("2606:4700:2::1")
    assert newest_of_largest_network({"a": near, "b": at("2606:4700:1:9::1")}, far) == "b", (
        "a /48 is one network"
    )


async def test_a_peer_that_proved_useful_gets_a_slot_where_all_are_taken(tmp_path: Path) -> None:
    """Give a slot to a peer that proved useful in an earlier run, though all are taken."""
    file = tmp_path / "network" / USEFUL_PEERS_FILE
    before = service(1, useful_peers=file)
    async with running(before):
        for _ in range(MIN_DELIVERED):
            before.mark_useful(name(3))
    full = Node(1, in_peers=1, useful_peers=file)
    first, second, useful = Node(2), Node(4), Node(3)
    async with running(full.service, first.service, second.service, useful.service):
        for peer in (first, second, useful):
            await peer.service.connect(address_of(full.service))
            await until(lambda peer=peer: peer.announces.peers or peer.announces._pauses.failures(full.id))
        await until(lambda: full.announces.peers == {first.id, useful.id})
        assert second.announces._pauses.failures(full.id)
        assert full.service.peers[useful.id].reputation == 0


async def test_the_newest_peer_of_the_largest_network_loses_its_slot_to_another_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Take the newest peer's slot of the largest network for a peer of another network."""
    full = Node(1, in_peers=3)
    peers, other = [Node(number) for number in (2, 3, 4)], Node(5)
    async with running(full.service, *(peer.service for peer in (*peers, other))):
        for peer in peers:
            await peer.service.connect(address_of(full.service))
            await until(lambda peer=peer: peer.id in full.announces.peers)
        await other.service.connect(address_of(full.service))
        await until(lambda: other.announces._pauses.failures(full.id))
        assert other.id not in full.announces.peers, "they are all in one network"
        full.service._connections.peers[other.id].connection.address = at("8.8.8.8")
        other.announces._pauses.succeeded(full.id)
        other.announces.open(other.service._connections.peers[full.id].connection)
        await until(lambda: full.announces.peers == {peers[0].id, peers[1].id, other.id})


# Useful peers


def test_useful_peers_are_remembered_across_restarts(tmp_path: Path) -> None:
    """Remember useful peers across restarts once they have delivered often enough."""
    peers = UsefulPeers(tmp_path / USEFUL_PEERS_FILE)
    for number, times in ((1, MIN_DELIVERED), (2, MIN_DELIVERED - 1)):
        for _ in range(times):
            peers.note(name(number))
    peers.save()
    again = UsefulPeers(tmp_path / USEFUL_PEERS_FILE)
    assert (name(1) in again, name(2) in again, name(3) in again) == (True, False, False)
    again.note(name(2))
    assert name(2) in again
    assert [path.name for path in tmp_path.iterdir()] == [USEFUL_PEERS_FILE]


def test_peers_that_delivered_least_are_forgotten_first() -> None:
    """Forget the peers first that delivered least: a flood of ids must not displace an old friend."""
    peers = UsefulPeers()
    for _ in range(MIN_DELIVERED):
        peers.note("old friend")
    for number in range(3 * MAX_USEFUL):
        peers.note(f"sybil {number}")
    assert "old friend" in peers
    assert len(peers._delivered) == MAX_USEFUL


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\xff\xfe", b"cfnode useful peers 2\n", b"cfnode useful peers 1\nnobody 3\n",
        b"cfnode useful peers 1\n" + name(1).encode() + b" many\n", b"x" * (65 << 10),
    ],
)  # fmt: skip
def test_a_malformed_file_of_useful_peers_is_ignored_with_a_log_line(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Ignore a malformed file of useful peers with a log line, and write a new one."""
    caplog.set_level(logging.INFO)
    (tmp_path / USEFUL_PEERS_FILE).write_bytes(content)
    peers = UsefulPeers(tmp_path / USEFUL_PEERS_FILE)
    assert not peers._delivered
    assert "useful peers" in caplog.text
    assert "is ignored" in caplog.text
    peers.note(name(1))
    peers.save()
    assert UsefulPeers(tmp_path / USEFUL_PEERS_FILE)._delivered == {name(1): 1}


# Reputation


def test_a_liar_that_comes_back_with_a_new_id_begins_with_a_lower_score() -> None:
    """Begin a new id at a liar's address with a lower score, but never so low that it is banned."""
    store = PeerStore()
    assert store.report("liar", -(1 << 31), 0, "8.8.8.8")
    store.add_stranger("liar again", "8.8.8.8", 1)
    assert not store.banned("liar again", 1)
    assert store.report("liar again", -(1 << 29), 2, "8.8.8.8"), "other peers need three of those for a ban"
    for number in range(20):
        store.report(f"liar {number}", -(1 << 31), 3, "8.8.8.8")
    store.add_stranger("honest neighbor", "8.8.8.8", 4)
    assert store.score("honest neighbor", 4) == round(MIN_FIRST_SCORE) > BANNED_THRESHOLD
    assert not store.banned("honest neighbor", 4), "one liar does not lock out all nodes at its address"
    store.add_stranger("elsewhere", "9.9.9.9", 4)
    assert store.score("elsewhere", 4) == 0


def test_a_new_peer_id_begins_with_a_lower_score_than_a_peer_that_has_delivered() -> None:
    """Score a peer that has delivered above a new id at the address of a liar."""
    store = PeerStore()
    store.report("known", 1 << 10, 0, "8.8.8.8")
    store.report("liar", -(1 << 29), 0, "8.8.8.8")
    for peer in ("known", "fresh"):
        store.add_stranger(peer, "8.8.8.8", 1)
    assert store.score("fresh", 1) < -(1 << 27) < 0 < store.score("known", 1)


async def test_a_reserved_node_is_never_banned_and_the_log_warns_of_its_faults(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Keep a reserved node in spite of its faults, and warn of them once."""
    friend = service(3)
    async with running(friend):
        node = service(1, reserved_nodes=[address_of(friend)])
        async with running(node):
            await until(lambda: friend.peer_id in node.peers)
            caplog.clear()
            for _ in range(5):
                node.report(friend.peer_id, -(1 << 31), "it lied")
            assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
                f"The reserved node {friend.peer_id} misbehaves, and is still kept: it lied"
            ]
            await until(lambda: friend.peer_id not in node.peers)
            assert node.bans == 0
            assert await node.connect(address_of(friend)) == friend.peer_id
            assert not node._peer_store.banned(friend.peer_id, trio.current_time())


async def test_reserving_a_banned_node_lifts_its_ban() -> None:
    """Lift the ban of a node that is reserved, for good."""
    node = service(1)
    node.report(name(3), -(1 << 31), "it lied")
    assert node._peer_store.banned(name(3), trio.current_time())
    node.reserve(at("127.0.0.1").with_peer(name(3)))
    assert node._peer_store.may_dial(name(3), trio.current_time())
    node.unreserve(name(3))
    assert not node._peer_store.banned(name(3), trio.current_time())


# Several connections


async def test_several_nodes_connect_one_after_the_other() -> None:
    """Connect several nodes one after the other."""
    node = service(1)
    async with running(node):
        clients = [service(number) for number in random.sample(range(10, 99), 5)]
        async with running(*clients):
            for client in clients:
                await client.connect(address_of(node))
            await until(lambda: len(node.peers) == 5)
