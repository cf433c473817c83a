"""A node to attack, and a peer that makes its frames itself."""

from __future__ import annotations

import trio.testing

from cfnode.core.p2p.noise import SecureChannel
from cfnode.network.service import NetworkService
from cfnode.network.upgrade import Secured, upgrade
from tests.network.conftest import key, service
from tests.support.waiting import LIMIT_S


async def raw(node: NetworkService) -> trio.SocketStream:
    """Return a TCP connection to a node, without a handshake."""
    endpoint = node.listening[0].endpoint
    assert endpoint is not None
    return await trio.open_tcp_stream(endpoint.host, endpoint.port)


async def secured(node: NetworkService) -> tuple[trio.SocketStream, Secured]:
    """Return a connection after the handshake, whose frames the test makes itself."""
    stream = await raw(node)
    return stream, await upgrade(stream, key(66), dialer=True)


async def ended(stream: trio.SocketStream) -> None:
    """Read until the node closes the connection."""
    with trio.fail_after(LIMIT_S):
        try:
            while await stream.receive_some(65536):
                pass
        except trio.BrokenResourceError:
            pass


async def echo(peer: str, data: bytes) -> bytes | None:
    """Return the request."""
    return data


def victim() -> NetworkService:
    """Return the node that is attacked."""
    node = service(1)
    node.serve_requests("sync/2", echo)
    return node


async def frames(channel: SecureChannel, stream: trio.SocketStream, *items: bytes) -> None:
    """Send frames in one piece."""
    await stream.send_all(b"".join(channel.seal(item) for item in items))
