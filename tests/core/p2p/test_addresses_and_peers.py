"""Multiaddresses, identify and Kademlia."""

from __future__ import annotations

import contextlib
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.keys import Keypair
from cfnode.core.p2p import kademlia
from cfnode.core.p2p.errors import RemoteError
from cfnode.core.p2p.identify import Identify
from cfnode.core.p2p.kademlia import KnownPeer, Lookup, RoutingTable
from cfnode.core.p2p.multiaddr import Endpoint, Multiaddr, MultiaddrError
from cfnode.core.p2p.protobuf import bytes_field, framed, uint_field
from cfnode.core.peer_id import peer_id, public_of

BOOT_KEY = "cb863746a3daf4202581a7cb8431ef6835977bd114d61179bfd1d92264b4c7e8"
BOOT = peer_id(bytes.fromhex(BOOT_KEY))
HERE = Multiaddr.parse("/ip4/127.0.0.1/tcp/30333")


@cache
def peer(number: int) -> str:
    """Return the id of a numbered peer."""
    return peer_id(Keypair.from_seed(number.to_bytes(32, "big"), "ed25519").public)


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("/ip4/138.68.126.239/tcp/30333", Endpoint("138.68.126.239", 30333)),
        ("/ip6/::1/tcp/1/ws", Endpoint("::1", 1, websocket=True)),
        ("/dns4/boot.example/tcp/443", Endpoint("boot.example", 443, family="dns4")),
        ("/dns/boot.example/tcp/443/wss", Endpoint("boot.example", 443, True, True, "dns")),
        ("/dns6/boot.example/tcp/443/tls/ws", Endpoint("boot.example", 443, True, True, "dns6")),
        ("/dns/boot.example/tcp/443/tls", None),
        ("/dnsaddr/boot.example", None),
        ("/ip4/1.2.3.4/udp/30333/quic-v1", None),
    ],
)
def test_an_address_gives_the_endpoint_to_dial(text: str, endpoint: Endpoint | None) -> None:
    """Read from a multiaddress where to dial, or None for a transport that the node does not speak."""
    address = Multiaddr.parse(f"{text}/p2p/{BOOT}")
    assert str(address) == f"{text}/p2p/{BOOT}"
    assert address.peer == BOOT
    assert address.endpoint == endpoint
    assert Multiaddr.decode(address.encode()) == address


def test_an_address_has_the_bytes_of_the_specification() -> None:
    """Encode a multiaddress in the bytes of the specification."""
    address = Multiaddr.parse(f"/ip4/138.68.126.239/tcp/30333/ws/p2p/{BOOT}")
    assert address.encode().hex() == f"048a447eef06767ddd03a50326002408011220{BOOT_KEY}"


@pytest.mark.parametrize(
    "text", ["", "ip4/1.2.3.4", "/ip4", "/ip4/1.2.3", "/tcp/65536", "/tcp/x", "/p2p/Qm", "/x/1"]
)
def test_malformed_addresses_are_refused(text: str) -> None:
    """Refuse a malformed multiaddress."""
    with pytest.raises(MultiaddrError):
        Multiaddr.parse(text)


@given(st.binary(max_size=80))
def test_no_bytes_make_the_readers_fail_otherwise_than_by_a_remote_error(data: bytes) -> None:
    """Answer any bytes with a message or a RemoteError: a peer must not be able to crash the node."""
    for read in (Multiaddr.decode, Identify.decode, kademlia.decode_query, kademlia.decode_answer):
        with contextlib.suppress(RemoteError):
            read(data)


def test_private_addresses_are_known_as_such() -> None:
    """Tell public addresses from those of private networks, which are not worth a dial from elsewhere."""
    assert Multiaddr.parse("/ip4/138.68.126.239/tcp/1").is_global
    assert Multiaddr.parse("/dns/boot.example/tcp/1").is_global
    for text in ("/ip4/10.0.0.1/tcp/1", "/ip4/127.0.0.1/tcp/1", "/ip6/fe80::1/tcp/1", "/dns/localhost/tcp/1"):
        assert not Multiaddr.parse(text).is_global


def test_identify_decodes_to_what_was_encoded_with_printable_text_only() -> None:
    """Read identify back as written, and strip what a terminal would obey from a peer's agent text."""
    said = Identify(public_of(BOOT), "node/1 (x)", (HERE,), ("/ipfs/ping/1.0.0", "/a/kad"), HERE)
    assert Identify.decode(said.encode()) == said
    rude = Identify(public_of(BOOT), "\x1b[2Jhi" + "x" * 1000)
    agent = Identify.decode(rude.encode()).agent
    assert agent.startswith("\N{REPLACEMENT CHARACTER}[2Jhi")
    assert len(agent) == 256
    with pytest.raises(RemoteError, match="not an ed25519 key"):
        Identify.decode(bytes_field(1, uint_field(1, 0) + bytes_field(2, bytes(32))))


def test_find_node_has_the_bytes_of_the_specification() -> None:
    """Encode a FIND_NODE query in the bytes of the specification, and ignore queries of other types."""
    query = kademlia.query(kademlia.peer_bytes(BOOT))
    assert framed(query).hex() == f"2a08041226002408011220{BOOT_KEY}"
    assert kademlia.decode_query(query) == kademlia.peer_bytes(BOOT)
    assert kademlia.decode_query(uint_field(1, 5)) is None


def test_an_answer_is_decoded_without_peers_that_cannot_be_dialed() -> None:
    """Leave out peers that cannot be dialed, and refuse an answer of another type."""
    known = KnownPeer(peer(1), (HERE,))
    elsewhere = KnownPeer(peer(2), (Multiaddr.parse("/ip4/1.2.3.4/udp/1/quic-v1"),))
    assert kademlia.decode_answer(kademlia.answer([known, elsewhere])) == [known]
    assert kademlia.decode_answer(uint_field(1, 4)) == []
    with pytest.raises(RemoteError, match="type 0"):
        kademlia.decode_answer(b"")


def test_no_peer_can_fill_the_routing_table() -> None:
    """Cap each bucket of the routing table, so that no peer fills it with ids of its choice."""
    table = RoutingTable(peer(0))
    taken = [number for number in range(1, 200) if table.add(KnownPeer(peer(number), (HERE,)))]
    assert not table.add(KnownPeer(peer(0), (HERE,)))
    assert len(table) == len(taken) < 199
    assert all(len(bucket) <= kademlia.BUCKET_SIZE for bucket in table._buckets.values())
    target = kademlia.peer_bytes(peer(taken[0]))
    assert table.nearest(target, 1)[0].peer == peer(taken[0])
    table.remove(peer(taken[0]))
    assert peer(taken[0]) not in table


def test_addresses_reported_by_others_are_replaced_by_a_nodes_own_and_not_passed_on() -> None:
    """Keep the address under which a node was met.

    Others cannot redirect it, and hearsay is not passed on.
    """
    table, elsewhere = RoutingTable(peer(0)), Multiaddr.parse("/ip4/9.9.9.9/tcp/666")
    table.add(KnownPeer(peer(1), (elsewhere,)))
    assert table.nearest(bytes(32), met=True) == []
    met = KnownPeer(peer(1), (HERE,), met=True)
    assert table.add(met)
    assert table.add(KnownPeer(peer(1), (elsewhere,)))
    assert table.nearest(bytes(32), met=True) == [met], (
        "others cannot replace the address of a node that was met"
    )


def test_a_node_that_we_connect_to_replaces_one_that_others_reported() -> None:
    """Prefer a node that was met over one that others reported, but keep an old one that can be reached."""
    table = RoutingTable(peer(0))
    refused = next(number for number in range(1, 500) if not table.add(KnownPeer(peer(number), (HERE,))))
    before = len(table)
    assert table.add(KnownPeer(peer(refused), (HERE,), met=True))
    assert peer(refused) in table
    assert len(table) == before
    further = (n for n in range(500, 5000) if table._distance(peer(n)) == table._distance(peer(refused)))
    for number in (next(further) for _ in range(kademlia.BUCKET_SIZE - 1)):
        assert table.add(KnownPeer(peer(number), (HERE,), met=True))
    assert not table.add(KnownPeer(peer(next(further)), (HERE,), met=True)), (
        "an old one that can be reached stays"
    )


@cache
def hundred_tables() -> dict[str, RoutingTable]:
    """Return the tables of 100 nodes, each with the other nodes as far as there is room."""
    tables = {peer(number): RoutingTable(peer(number)) for number in range(100)}
    for table in tables.values():
        for known in tables:
            table.add(KnownPeer(known, (HERE,)))
    return tables


@settings(max_examples=10)
@given(st.integers(0, 99))
def test_a_lookup_finds_a_node_that_only_others_know(wanted: int) -> None:
    """Find a node by asking from table to table, though the start knows only three peers."""
    target, tables = kademlia.peer_bytes(peer(wanted)), hundred_tables()
    lookup = Lookup.start(target, tables[peer(50)].nearest(bytes(32), 3))
    while (asked := lookup.next()) is not None:
        lookup.answered(tables[asked.peer].nearest(target))
    assert lookup.result()[0].peer == peer(wanted)


def test_a_lookup_among_liars_ends() -> None:
    """End a lookup among peers that always name new ones, after MAX_ASKED questions at the latest."""
    lookup = Lookup.start(bytes(32), [KnownPeer(peer(1), (HERE,))])
    asked, fresh = 0, 2
    while lookup.next() is not None:
        asked += 1
        lookup.answered(KnownPeer(peer(number), (HERE,)) for number in range(fresh, fresh + 5))
        fresh += 5
    assert 20 <= asked <= kademlia.MAX_ASKED
