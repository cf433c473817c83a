"""Transports: dialing and listening over TCP, TLS and WebSocket.

TCP over IPv4, IPv6 and DNS names; Nagle's delay is off, since requests are small and wait for answers. Over
TCP, depending on the address, TLS (only for dialing: `/wss`) and WebSocket. To listen at `/wss`, put a proxy
in front of a `/ws` address.
"""

from __future__ import annotations

import errno
import logging
import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import trio

from cfnode.core.p2p.multiaddr import Endpoint, Multiaddr
from cfnode.network import websocket

__all__ = [
    "DialError",
    "ListeningSocket",
    "dial",
    "listen",
    "reachable",
    "remote_address",
    "with_layers",
    "without_wildcards",
]

log = logging.getLogger("cfnode.sub-libp2p")

DIAL_TIMEOUT = 10.0
FAMILIES = {"dns4": socket.AF_INET, "dns6": socket.AF_INET6}
NO_IPV6 = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)


class DialError(Exception):
    """An address that cannot be reached; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class ListeningSocket:
    """A listening socket, and its address with the real port."""

    listener: trio.SocketListener
    address: Multiaddr


async def dial(address: Multiaddr) -> trio.abc.Stream:
    """Return a TCP connection to the address, with TLS for `/wss`. Raise DialError."""
    endpoint = address.endpoint
    if endpoint is None:
        raise DialError(
            f"{address} cannot be dialed: use /ip4, /ip6, /dns, /dns4 or /dns6 over /tcp, /ws or /wss"
        )
    try:
        with trio.fail_after(DIAL_TIMEOUT):
            stream = await trio.open_tcp_stream(await _host(endpoint), endpoint.port)
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return await _with_tls(stream, endpoint.host) if endpoint.tls else stream
    except trio.TooSlowError:
        raise DialError(f"{address}: no answer within {DIAL_TIMEOUT:.0f} s") from None
    except trio.BrokenResourceError as error:
        raise DialError(f"{address}: TLS failed: {error.__cause__ or error}") from error
    except OSError as error:
        raise DialError(f"{address}: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    """Return the system's error text; trio keeps the errors of its attempts as the cause."""
    attempts: BaseException | None = error if error.strerror else error.__cause__
    while isinstance(attempts, BaseExceptionGroup):
        attempts = attempts.exceptions[0]
    return str(getattr(attempts, "strerror", None) or error)


async def _host(endpoint: Endpoint) -> str:
    """Return the host to connect to: for `/dns4` and `/dns6`, the name's first address of that family."""
    if endpoint.family not in FAMILIES:
        return endpoint.host
    resolved = await trio.socket.getaddrinfo(endpoint.host, None, family=FAMILIES[endpoint.family])
    return str(resolved[0][4][0])


async def _with_tls(stream: trio.SocketStream, host: str) -> trio.abc.Stream:
    """Return a TLS stream over `stream`; check the certificate against the system's authorities."""
    context = await trio.to_thread.run_sync(ssl.create_default_context)
    secured = trio.SSLStream(stream, context, server_hostname=host, https_compatible=True)
    try:
        await secured.do_handshake()
    except BaseException:
        await trio.aclose_forcefully(stream)
        raise
    return secured


async def with_layers(stream: trio.abc.Stream, address: Multiaddr, *, dialed: bool) -> trio.abc.Stream:
    """Return the stream that libp2p's handshake runs in: for a `/ws` address, that of the WebSocket.

    Raise RemoteError.
    """
    endpoint = address.endpoint
    if endpoint is None or not endpoint.websocket:
        return stream
    if not dialed:
        return await websocket.accept(stream)
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return await websocket.connect(stream, f"{host}:{endpoint.port}")


async def listen(addresses: Sequence[Multiaddr]) -> list[ListeningSocket]:
    """Return sockets that listen at the addresses. Raise DialError, which names the address that failed."""
    listening: list[ListeningSocket] = []
    try:
        for address in addresses:
            listening += await _listen(address)
    except BaseException:
        for entry in listening:
            entry.listener.socket.close()
        raise
    return listening


async def _listen(address: Multiaddr) -> list[ListeningSocket]:
    endpoint = address.endpoint
    if endpoint is None or endpoint.tls:
        raise DialError(f"cannot listen at {address}: use an /ip4 or /ip6 address over /tcp or /ws")
    try:
        listeners = await trio.open_tcp_listeners(endpoint.port, host=endpoint.host)
    except OSError as error:
        if endpoint.host in ("::", "::1") and error.errno in NO_IPV6:
            log.debug("Not listening at %s: this machine has no IPv6", address)
            return []
        raise DialError(f"cannot listen at {address}: {error.strerror or error}") from error
    layers = ("ws",) if endpoint.websocket else ()
    return [
        ListeningSocket(listener, _address(listener.socket.getsockname()).inside(*layers))
        for listener in listeners
    ]


def remote_address(stream: trio.SocketStream) -> Multiaddr:
    """Return the peer's address. Raise OSError if the peer has disconnected already."""
    return _address(stream.socket.getpeername())


def reachable(listening: Sequence[Multiaddr], stream: trio.abc.Stream) -> list[Multiaddr]:
    """Return our addresses for the peer of `stream`.

    A wildcard address becomes the address that the peer is connected to.
    """
    while isinstance(stream, (trio.SSLStream, websocket.WebSocketByteStream)):
        stream = stream.transport_stream
    assert isinstance(stream, trio.SocketStream)
    try:
        local = _address(stream.socket.getsockname())
    except OSError:  # the peer has disconnected meanwhile
        return []
    return [_specific(address, local) for address in listening]


def without_wildcards(listening: Sequence[Multiaddr]) -> list[Multiaddr]:
    """Return our addresses, with those of this machine in the place of wildcard addresses."""
    specific: list[Multiaddr] = []
    for address in listening:
        kind, host = address.parts[0]
        hosts = _OWN[host]() if host in _OWN else [host]
        specific += [Multiaddr(((kind, own_host), *address.parts[1:])) for own_host in hosts]
    return specific


def _own(family: socket.AddressFamily, loopback: str, elsewhere: str) -> list[str]:
    """Return loopback, and the source address of packets to `elsewhere`; no packet is sent to find it."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((elsewhere, 9))
        except OSError:
            return [loopback]
        return list(dict.fromkeys([loopback, str(probe.getsockname()[0])]))


_OWN: dict[str, Callable[[], list[str]]] = {
    "0.0.0.0": lambda: _own(socket.AF_INET, "127.0.0.1", "192.0.2.1"),
    "::": lambda: _own(socket.AF_INET6, "::1", "2001:db8::1"),
}
"""Functions by wildcard address, which return this machine's addresses. The `elsewhere` addresses are
reserved for documentation (RFC 5737, RFC 3849)."""


def _specific(listening: Multiaddr, met: Multiaddr) -> Multiaddr:
    kind, host = listening.parts[0]
    if host in ("0.0.0.0", "::") and met.parts[0][0] == kind:
        return Multiaddr((met.parts[0], *listening.parts[1:]))
    return listening


def _address(name: tuple[str, int]) -> Multiaddr:
    host, port = name[0].split("%")[0], name[1]
    return Multiaddr((("ip6" if ":" in host else "ip4", host), ("tcp", str(port))))
