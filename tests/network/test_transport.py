"""Each form of address in a chain spec is dialed; a peer that breaks the WebSocket protocol is dropped."""

from __future__ import annotations

import ipaddress
import json
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import dns.asyncresolver
import dns.message
import dns.name
import dns.rcode
import dns.rrset
import pytest
import trio
import trio.testing
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from cfnode.core.p2p.errors import RemoteError
from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.network import websocket
from cfnode.network.service import NetworkService
from cfnode.network.transport import DialError
from tests.network.conftest import running, service
from tests.support.network.websockets import both_ends
from tests.support.waiting import until


async def echo(peer: str, data: bytes) -> bytes | None:
    """Return the data."""
    return data


def listening_at(*addresses: str) -> NetworkService:
    """Return an echoing node that listens at these addresses."""
    node = service(1, listen=tuple(map(Multiaddr.parse, addresses)))
    node.serve_requests("sync/2", echo)
    return node


async def echoes(address: Multiaddr) -> None:
    """Dial the address from a fresh node, and get an answer."""
    client = service(2)
    client.serve_requests("sync/2", None)
    async with running(client):
        peer = await client.connect(address)
        data = bytes(range(256)) * 2000
        assert await client.request(peer, "sync/2", data) == data


def ports(node: NetworkService) -> list[str]:
    """Return the ports at which a node listens."""
    return [address.parts[1][1] for address in node.listening]


@pytest.mark.parametrize(
    ("listen", "dial"),
    [
        ("/ip4/127.0.0.1/tcp/0/ws", "/ip4/127.0.0.1/tcp/{}/ws"),
        ("/ip4/127.0.0.1/tcp/0", "/dns/localhost/tcp/{}"),
        ("/ip4/127.0.0.1/tcp/0/ws", "/dns4/localhost/tcp/{}/ws"),
        ("/ip6/::1/tcp/0", "/ip6/::1/tcp/{}"),
        ("/ip6/::1/tcp/0/ws", "/ip6/::1/tcp/{}/ws"),
    ],
)
async def test_each_form_of_address_is_dialed(listen: str, dial: str) -> None:
    """Dial each form of address that a specification may have."""
    node = listening_at(listen)
    try:
        async with running(node):
            await echoes(Multiaddr.parse(dial.format(*ports(node))).with_peer(node.peer_id))
    except* DialError as group:
        pytest.skip(f"no IPv6 here: {group.exceptions[0]}") if "ip6" in listen else pytest.fail(str(group))


async def test_one_node_listens_over_tcp_and_websocket_and_announces_both() -> None:
    """Listen over TCP and WebSocket at once, and announce both addresses."""
    node = listening_at("/ip4/127.0.0.1/tcp/0", "/ip4/127.0.0.1/tcp/0/ws")
    async with running(node):
        plain, layered = node.listening
        assert str(plain) == f"/ip4/127.0.0.1/tcp/{ports(node)[0]}"
        assert str(layered) == f"/ip4/127.0.0.1/tcp/{ports(node)[1]}/ws"
        for address in node.listening:
            await echoes(address.with_peer(node.peer_id))


async def test_a_name_of_the_wrong_kind_is_not_dialed() -> None:
    """Refuse to dial a name without an address of the kind that is asked for."""
    client = service(2)
    async with running(client):
        with pytest.raises(DialError, match=r"/dns6/no-such-name\.invalid/tcp/1: "):
            await client.connect(Multiaddr.parse("/dns6/no-such-name.invalid/tcp/1"))


def test_the_boot_nodes_of_the_official_specification_can_be_dialed(berghain_spec: Path) -> None:
    """Parse every boot node of the official specification as one that can be dialed."""
    boot_nodes = json.loads(berghain_spec.read_text())["bootNodes"]
    addresses = [Multiaddr.parse(text) for text in boot_nodes]
    assert addresses
    assert all(address.endpoint is not None and address.peer for address in addresses)


# TLS


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """Return a TLS server context for 127.0.0.1, signed by an authority that this process trusts."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a node")])
    today = datetime(2026, 1, 1)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), today)
        .not_valid_after(today + timedelta(days=36500))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "node.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + private)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


@asynccontextmanager
async def tls_in_front_of(node: NetworkService, context: ssl.SSLContext) -> AsyncIterator[int]:
    """Yield an operator's proxy: TLS outside, the node's WebSocket inside; yields its port."""

    async def forward(source: trio.abc.Stream, sink: trio.abc.Stream) -> None:
        async for data in source:
            await sink.send_all(data)

    async def serve(stream: trio.SSLStream[trio.SocketStream]) -> None:
        try:
            inside = await trio.open_tcp_stream("127.0.0.1", int(ports(node)[0]))
            async with inside, trio.open_nursery() as nursery:
                nursery.start_soon(forward, inside, stream)
                await forward(stream, inside)
        except* (trio.BrokenResourceError, trio.ClosedResourceError):
            pass

    async with trio.open_nursery() as nursery:
        listeners = await trio.open_ssl_over_tcp_listeners(0, context, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, serve, listeners)
        yield listeners[0].transport_listener.socket.getsockname()[1]
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("form", ["wss", "tls/ws"])
async def test_a_node_behind_tls_is_dialed(authority: ssl.SSLContext, form: str) -> None:
    """Dial a node behind TLS in both forms of its address."""
    node = listening_at("/ip4/127.0.0.1/tcp/0/ws")
    async with running(node), tls_in_front_of(node, authority) as port:
        await echoes(Multiaddr.parse(f"/ip4/127.0.0.1/tcp/{port}/{form}").with_peer(node.peer_id))


async def test_a_certificate_of_another_host_is_refused(
    authority: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refuse a certificate of another host, and one of an unknown authority."""
    node, client = listening_at("/ip4/127.0.0.1/tcp/0/ws"), service(2)
    async with running(node, client), tls_in_front_of(node, authority) as port:
        with pytest.raises(DialError, match=f"/dns/localhost/tcp/{port}/wss: TLS failed.*localhost"):
            await client.connect(Multiaddr.parse(f"/dns/localhost/tcp/{port}/wss"))
        monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(DialError, match="TLS failed"):
            await client.connect(Multiaddr.parse(f"/ip4/127.0.0.1/tcp/{port}/wss"))


# /dnsaddr


@asynccontextmanager
async def name_server(monkeypatch: pytest.MonkeyPatch, records: dict[str, list[str]]) -> AsyncIterator[None]:
    """Yield a name server on this machine with TXT records by name, which the process then uses."""
    with trio.socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        await sock.bind(("127.0.0.1", 0))
        resolver = dns.asyncresolver.Resolver(configure=False)
        resolver.nameservers, resolver.port = ["127.0.0.1"], sock.getsockname()[1]
        monkeypatch.setattr(dns.asyncresolver, "default_resolver", resolver)

        async def serve() -> None:
            while True:
                data, sender = await sock.recvfrom(4096)
                query = dns.message.from_wire(data)
                name, answer = query.question[0].name, dns.message.make_response(query)
                texts = records.get(name.to_text(omit_final_dot=True))
                if texts is None:
                    answer.set_rcode(dns.rcode.NXDOMAIN)
                else:
                    answer.answer.append(
                        dns.rrset.from_text(name, 60, "IN", "TXT", *(f'"{text}"' for text in texts))
                    )
                await sock.sendto(answer.to_wire(), sender)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            yield
            nursery.cancel_scope.cancel()


async def test_the_addresses_of_a_dnsaddr_are_dialed_until_one_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dial the addresses of a dnsaddr record until one answers, and give up on a loop."""
    node, other = listening_at("/ip4/127.0.0.1/tcp/0/ws"), service(9)
    async with running(node):
        records = {
            "_dnsaddr.boot.test": [
                f"dnsaddr=/ip4/127.0.0.1/tcp/1/p2p/{node.peer_id}",
                f"dnsaddr=/ip4/127.0.0.1/tcp/2/p2p/{other.peer_id}",
                "dnsaddr=/no/address",
                "something else",
                f"dnsaddr=/dnsaddr/deeper.test/p2p/{node.peer_id}",
            ],
            "_dnsaddr.deeper.test": [f"dnsaddr={node.listening[0].with_peer(node.peer_id)}"],
            "_dnsaddr.loop.test": ["dnsaddr=/dnsaddr/loop.test"] * 3,
        }
        async with name_server(monkeypatch, records):
            await echoes(Multiaddr.parse(f"/dnsaddr/boot.test/p2p/{node.peer_id}"))
            client = service(3)
            async with running(client):
                for name, reason in (
                    ("loop.test", "no dnsaddr records of that node"),
                    ("boot.test", "refused"),
                    ("missing.test", "does not exist"),
                ):
                    with pytest.raises(DialError, match=reason):
                        await client.connect(Multiaddr.parse(f"/dnsaddr/{name}/p2p/{other.peer_id}"))


async def test_a_boot_node_may_be_a_dnsaddr(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept a dnsaddr record as a boot node."""
    node = listening_at("/ip4/127.0.0.1/tcp/0")
    async with running(node):
        records = {"_dnsaddr.boot.test": [f"dnsaddr={node.listening[0]}"]}
        async with name_server(monkeypatch, records):
            boot = Multiaddr.parse(f"/dnsaddr/boot.test/p2p/{node.peer_id}")
            client = service(2, boot_nodes=[boot])
            async with running(client):
                await until(lambda: node.peer_id in client.peers)


# WebSocket by the rules, and against them


async def test_a_websocket_carries_bytes_both_ways_and_its_end() -> None:
    """Carry bytes and the end of a stream over a WebSocket."""
    dialer, _, listener = await both_ends()
    await dialer.send_all(b"hello")
    await listener.send_all(b"world")
    assert await listener.receive_some(3) == b"hel"
    assert await listener.receive_some() == b"lo"
    assert await dialer.receive_some() == b"world"
    await dialer.aclose()
    assert await listener.receive_some() == b""


FRAMES: dict[str, bytes] = {
    "text": b"\x81\x82\0\0\0\0hi",
    "no mask": b"\x82\x02hi",
    "reserved bits": b"\xc2\x82\0\0\0\0hi",
    "unknown kind": b"\x83\x80\0\0\0\0",
    "a long ping": b"\x89\xfe\x00\xff\0\0\0\0" + bytes(255),
    "a ping in pieces": b"\x09\x80\0\0\0\0",
    "a piece of nothing": b"\x80\x80\0\0\0\0",
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
async def test_malformed_websocket_frames_are_a_fault_of_the_peer(frame: bytes) -> None:
    """Blame the peer for a malformed WebSocket frame."""
    _, wire, listener = await both_ends()
    await wire.send_all(frame)
    with pytest.raises(RemoteError, match="websocket: "):
        await listener.receive_some()


async def test_an_endless_frame_is_passed_on_as_it_arrives() -> None:
    """Pass an endless frame on as it arrives, without keeping it."""
    _, wire, listener = await both_ends()
    await wire.send_all(b"\x82\xff" + (1 << 62).to_bytes(8, "big") + bytes(4))
    for _ in range(50):
        await wire.send_all(bytes(10_000))
        received = 0
        while received < 10_000:
            received += len(await listener.receive_some())
        assert received == 10_000
    assert len(listener._machine.connection._proto._frame_decoder.buffer) == 0  # type: ignore[union-attr]


async def test_only_the_last_of_many_pings_is_answered() -> None:
    """Answer the last of many pings only."""
    _, wire, listener = await both_ends()
    await wire.send_all(
        b"".join(b"\x89\x81\0\0\0\0" + bytes([number]) for number in range(200)) + b"\x82\x81\0\0\0\0x"
    )
    assert await listener.receive_some() == b"x"
    assert await wire.receive_some() == b"\x8a\x01" + bytes([199])


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "Missing header"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "must be GET"),
        (b"\x13/multistream/1.0.0\n", "Bad HTTP"),
        (b"GET / HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n", "websocket: "),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 20_000, "websocket: "),
        (b"", "closed the connection"),
    ],
)
async def test_a_malformed_websocket_handshake_is_refused(sent: bytes, reason: str) -> None:
    """Refuse a malformed WebSocket handshake with the reason."""
    left, right = trio.testing.memory_stream_pair()
    await left.send_all(sent)
    await left.send_eof()
    with pytest.raises(RemoteError, match=reason):
        await websocket.accept(right)


async def test_compression_is_never_accepted() -> None:
    """Accept no compression: a small message could become a huge one."""
    left, right = trio.testing.memory_stream_pair()
    await left.send_all(
        b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
    )
    await websocket.accept(right)
    answer = bytes(await left.receive_some()).lower()
    assert answer.startswith(b"http/1.1 101")
    assert b"s3pplmbitxaq9kygzzhzrbk+xoo=" in answer
    assert b"extensions" not in answer


async def test_the_error_names_a_web_server_in_the_place_of_a_node() -> None:
    """Name the answer of a web server that stands where a node should be."""

    async def not_found(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.send_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")

    client = service(2)
    async with running(client), trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, not_found, 0, host="127.0.0.1"))
        port = listeners[0].socket.getsockname()[1]
        with pytest.raises(DialError, match=f"/ip4/127.0.0.1/tcp/{port}/ws: websocket: .*404"):
            await client.connect(Multiaddr.parse(f"/ip4/127.0.0.1/tcp/{port}/ws"))
        nursery.cancel_scope.cancel()
