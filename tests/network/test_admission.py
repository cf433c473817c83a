"""Strangers that take all places: newcomers, and peers that proved useful, get in all the same."""

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
from cfnode.core.p2p.multistream import HEADER, line
from cfnode.core.peer_id import peer_id
from cfnode.network.admission import MAX_PENDING, SPARE_CONNECTIONS, USEFUL_PLACES, Admission, newest_of_crowd
from cfnode.network.peer_store import BANNED, LOWEST_BEGINNING, PeerStore
from cfnode.network.service import Service
from cfnode.network.useful import FILE_NAME, MAX_USEFUL, MIN_DELIVERED, UsefulPeers
from tests.network.conftest import address_of, key, running, service, until
from tests.network.test_notifications import Node


def at(host: str) -> Multiaddr:
    return Multiaddr.parse(f"/{'ip6' if ':' in host else 'ip4'}/{host}/tcp/1")


def name(number: int) -> str:
    return peer_id(key(number).public)


# Half-open connections


async def test_the_oldest_of_the_address_with_most_half_open_connections_makes_way() -> None:
    admission = Admission(8, (), ())
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
        assert admission.pending == MAX_PENDING
        assert [hosts[index] for index in evicted].count("10.0.0.1") == 0
        assert evicted[:3] == [11, 3, 12], "10.0.1.0/24 has 17: .2 has most of them, then both have eight"
    assert admission.pending == 0


async def hold(node: Service, host: str) -> None:
    """Open a connection, say hardly anything, and open it again when it ends; for ever."""
    endpoint = node.listening[0].endpoint
    assert endpoint is not None
    while True:
        stream = await trio.open_tcp_stream(endpoint.host, endpoint.port, local_address=host)
        try:
            await stream.send_all(line(HEADER))
            while await stream.receive_some():
                pass
        except trio.BrokenResourceError:
            pass
        finally:
            await trio.aclose_forcefully(stream)
        await trio.sleep(0.01)


async def test_an_honest_node_gets_in_while_all_places_are_held_half_open() -> None:
    node, honest = service(1), service(2)
    async with running(node, honest), trio.open_nursery() as nursery:
        for number in range(3 * MAX_PENDING):
            nursery.start_soon(hold, node, f"127.0.0.{2 + number % 7}")
        await until(lambda: node._connections.admission.pending == MAX_PENDING)
        with trio.fail_after(10):
            assert await honest.connect(address_of(node)) == node.peer_id
            await until(lambda: honest.peer_id in node.peers)
        assert node._connections.admission.pending <= MAX_PENDING
        nursery.cancel_scope.cancel()


# Places of peers


@dataclass
class Guest:
    address: Multiaddr
    inbound: bool = True


def test_a_full_node_lets_useful_peers_in_and_those_of_other_networks() -> None:
    admission = Admission(0, reserved={"friend"}, useful={f"useful {number}" for number in range(99)})
    crowd = {f"sybil {number}": Guest(at(f"8.8.8.{number}")) for number in range(SPARE_CONNECTIONS - 1)}
    crowd["called"] = Guest(at("8.8.8.99"), inbound=False)
    assert admission.takes("sybil", at("8.8.8.50"), crowd) is None
    assert admission.takes("stranger", at("8.8.4.1"), crowd) == f"sybil {SPARE_CONNECTIONS - 2}"
    assert admission.takes("friend", at("8.8.8.50"), crowd) == ""
    for number in range(USEFUL_PLACES):
        assert admission.takes(f"useful {number}", at("8.8.8.60"), crowd) == ""
        crowd[f"useful {number}"] = Guest(at("8.8.8.60"))
    assert admission.takes("useful 98", at("8.8.8.60"), crowd) is None


def test_nobody_makes_way_for_a_network_that_has_as_many() -> None:
    strangers = {"a": at("8.8.8.1"), "b": at("8.8.8.2"), "c": at("8.8.4.1")}
    assert newest_of_crowd(strangers, at("8.8.4.2")) is None
    assert newest_of_crowd(strangers, at("9.9.9.9")) == "b"
    assert newest_of_crowd({}, at("9.9.9.9")) is None
    near, far = at("2606:4700:1:2::1"), at("2606:4700:2::1")
    assert newest_of_crowd({"a": near, "b": at("2606:4700:1:9::1")}, far) == "b", "a /48 is one network"


async def test_a_peer_that_proved_useful_gets_a_slot_where_all_are_taken(tmp_path: Path) -> None:
    file = tmp_path / "network" / FILE_NAME
    before = service(1, useful_peers=file)
    async with running(before):
        for _ in range(MIN_DELIVERED):
            before.mark_useful(name(3))
    full = Node(1, in_peers=1, useful_peers=file)
    first, second, useful = Node(2), Node(4), Node(3)
    async with running(full.service, first.service, second.service, useful.service):
        for each in (first, second, useful):
            await each.service.connect(address_of(full.service))
            await until(lambda each=each: each.announces.peers or each.announces._pauses.failures(full.id))
        await until(lambda: full.announces.peers == {first.id, useful.id})
        assert second.announces._pauses.failures(full.id)
        assert full.service.peers[useful.id].reputation == 0


async def test_the_newest_of_a_crowd_gives_its_slot_to_a_peer_of_another_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    full = Node(1, in_peers=3)
    crowd, other = [Node(number) for number in (2, 3, 4)], Node(5)
    async with running(full.service, *(each.service for each in (*crowd, other))):
        for each in crowd:
            await each.service.connect(address_of(full.service))
            await until(lambda each=each: each.id in full.announces.peers)
        await other.service.connect(address_of(full.service))
        await until(lambda: other.announces._pauses.failures(full.id))
        assert other.id not in full.announces.peers, "they all are in one network"
        full.service._connections.peers[other.id].connection.address = at("8.8.8.8")
        other.announces._pauses.succeeded(full.id)
        other.announces.open(other.service._connections.peers[full.id].connection)
        await until(lambda: full.announces.peers == {crowd[0].id, crowd[1].id, other.id})


# What is remembered


def test_useful_peers_are_remembered_across_restarts(tmp_path: Path) -> None:
    peers = UsefulPeers(tmp_path / FILE_NAME)
    for number, times in ((1, MIN_DELIVERED), (2, MIN_DELIVERED - 1)):
        for _ in range(times):
            peers.note(name(number))
    peers.save()
    again = UsefulPeers(tmp_path / FILE_NAME)
    assert (name(1) in again, name(2) in again, name(3) in again) == (True, False, False)
    again.note(name(2))
    assert name(2) in again
    assert [each.name for each in tmp_path.iterdir()] == [FILE_NAME]


def test_those_that_delivered_least_are_forgotten_first() -> None:
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
def test_a_file_that_cannot_be_read_is_ignored_with_a_line(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    (tmp_path / FILE_NAME).write_bytes(content)
    peers = UsefulPeers(tmp_path / FILE_NAME)
    assert not peers._delivered
    assert "useful peers" in caplog.text
    assert "is ignored" in caplog.text
    peers.note(name(1))
    peers.save()
    assert UsefulPeers(tmp_path / FILE_NAME)._delivered == {name(1): 1}


# Reputation


def test_a_liar_that_comes_back_under_a_new_name_has_less_to_lose() -> None:
    standing = PeerStore()
    assert standing.report("liar", -(1 << 31), 0, "8.8.8.8")
    standing.meet("liar again", "8.8.8.8", 1)
    assert not standing.banned("liar again", 1)
    assert standing.report("liar again", -(1 << 29), 2, "8.8.8.8"), "for others three of those are a ban"
    for number in range(20):
        standing.report(f"liar {number}", -(1 << 31), 3, "8.8.8.8")
    standing.meet("honest neighbour", "8.8.8.8", 4)
    assert standing.score("honest neighbour", 4) == round(LOWEST_BEGINNING) > BANNED
    assert not standing.banned("honest neighbour", 4), "one liar does not lock out all behind its address"
    standing.meet("elsewhere", "9.9.9.9", 4)
    assert standing.score("elsewhere", 4) == 0


def test_a_fresh_identity_does_not_begin_better_than_a_peer_that_has_delivered() -> None:
    standing = PeerStore()
    standing.report("known", 1 << 10, 0, "8.8.8.8")
    standing.report("liar", -(1 << 29), 0, "8.8.8.8")
    for peer in ("known", "fresh"):
        standing.meet(peer, "8.8.8.8", 1)
    assert standing.score("fresh", 1) < -(1 << 27) < 0 < standing.score("known", 1)


async def test_a_reserved_node_is_never_banned_and_its_faults_are_said_aloud(
    caplog: pytest.LogCaptureFixture,
) -> None:
    friend = service(3)
    async with running(friend):
        node = service(1, reserved_nodes=[address_of(friend)])
        async with running(node):
            await until(lambda: friend.peer_id in node.peers)
            caplog.clear()
            for _ in range(5):
                node.report(friend.peer_id, -(1 << 31), "it lied")
            assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
                f"The reserved node {friend.peer_id} misbehaves, and is kept all the same: it lied"
            ]
            await until(lambda: friend.peer_id not in node.peers)
            assert node.bans == 0
            assert await node.connect(address_of(friend)) == friend.peer_id
            assert not node._standing.banned(friend.peer_id, trio.current_time())


async def test_a_banned_node_that_the_user_reserves_is_pardoned() -> None:
    node = service(1)
    node.report(name(3), -(1 << 31), "it lied")
    assert node._standing.banned(name(3), trio.current_time())
    node.reserve(at("127.0.0.1").with_peer(name(3)))
    assert node._standing.may_dial(name(3), trio.current_time())
    node.unreserve(name(3))
    assert not node._standing.banned(name(3), trio.current_time())


# Callers


async def test_one_caller_after_the_other_is_served() -> None:
    node = service(1)
    async with running(node):
        clients = [service(number) for number in random.sample(range(10, 99), 5)]
        async with running(*clients):
            for client in clients:
                await client.connect(address_of(node))
            await until(lambda: len(node.peers) == 5)
