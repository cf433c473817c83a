"""How is a byte stream to an address made, and where do we listen?

TCP over IPv4, IPv6 and DNS names; Nagle's delay is off, since requests are small and wait for answers.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence

import trio

from cfnode.core.p2p.multiaddr import Multiaddr

__all__ = ["DialError", "dial", "listen", "local_address", "reachable", "remote_address"]

DIAL_TIMEOUT = 10.0


class DialError(Exception):
    """The address cannot be reached; the text says why."""


async def dial(address: Multiaddr) -> trio.SocketStream:
    """A TCP connection to the address; raises DialError."""
    endpoint = address.endpoint
    if endpoint is None or endpoint.websocket:
        raise DialError(f"{address}: we dial /ip4, /ip6 and /dns addresses over /tcp")
    try:
        with trio.fail_after(DIAL_TIMEOUT):
            stream = await trio.open_tcp_stream(endpoint.host, endpoint.port)
    except trio.TooSlowError:
        raise DialError(f"{address}: no answer within {DIAL_TIMEOUT:.0f} s") from None
    except OSError as error:
        raise DialError(f"{address}: {error.strerror or error}") from error
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return stream


async def listen(addresses: Sequence[Multiaddr]) -> list[trio.SocketListener]:
    """Listeners at the addresses; raises DialError naming the one that is taken."""
    listeners: list[trio.SocketListener] = []
    for address in addresses:
        endpoint = address.endpoint
        if endpoint is None or endpoint.websocket:
            raise DialError(f"{address}: we listen at /ip4 and /ip6 addresses over /tcp")
        try:
            listeners += await trio.open_tcp_listeners(endpoint.port, host=endpoint.host)
        except OSError as error:
            raise DialError(f"cannot listen at {address}: {error.strerror or error}") from error
    return listeners


def local_address(listener: trio.SocketListener) -> Multiaddr:
    """Where the listener listens, with the port it got."""
    return _address(listener.socket.getsockname())


def remote_address(stream: trio.SocketStream) -> Multiaddr:
    """Where the other side is; raises OSError when it has gone already."""
    return _address(stream.socket.getpeername())


def reachable(listening: Sequence[Multiaddr], stream: trio.SocketStream) -> list[Multiaddr]:
    """What to tell the other side of `stream`: where we listen everywhere, the address it met us at."""
    try:
        met = _address(stream.socket.getsockname())
    except OSError:  # the connection has gone meanwhile
        return []
    return [_instead(address, met) for address in listening]


def _instead(listening: Multiaddr, met: Multiaddr) -> Multiaddr:
    kind, host = listening.parts[0]
    if host in ("0.0.0.0", "::") and met.parts[0][0] == kind:
        return Multiaddr((met.parts[0], *listening.parts[1:]))
    return listening


def _address(name: tuple[str, int]) -> Multiaddr:
    host, port = name[0].split("%")[0], name[1]
    return Multiaddr((("ip6" if ":" in host else "ip4", host), ("tcp", str(port))))
