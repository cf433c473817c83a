"""The identify protocol over a connection: our answer, and the request of a peer's."""

from __future__ import annotations

import logging

import trio

from cfnode.core.p2p.errors import RemoteError
from cfnode.core.p2p.identify import MAX_IDENTIFY, PROTOCOL, Identify
from cfnode.core.p2p.protobuf import framed
from cfnode.network.connection import PeerConnection
from cfnode.network.exchange import ask
from cfnode.network.interface import RequestFailed, RequestLimits
from cfnode.network.substream import Substream

__all__ = ["IDENTIFY_RATE", "answer_identify", "request_identify"]

log = logging.getLogger("cfnode.sub-libp2p")

LINGER = 2.0
"""Seconds that our identify answer waits for the peer to end the substream."""
IDENTIFY_RATE = (0.5, 10)
"""Rate limit of identify requests on one connection (per second, burst): a node sends one when it
connects."""
IDENTIFY_LIMITS = RequestLimits(request=0, response=MAX_IDENTIFY, timeout=10.0, window=256 * 1024)


async def answer_identify(substream: Substream, ours: Identify) -> None:
    """Answer an identify request, and end our direction only after the peer's, or after `LINGER`.

    js-libp2p loses an answer that arrives together with its end.
    """
    await substream.send_all(framed(ours.encode()))
    with trio.move_on_after(LINGER):
        await substream.receive()
    substream.finish()


async def request_identify(connection: PeerConnection) -> Identify | None:
    """Return the identify message of a peer; None if it sends none. Raise RemoteError."""
    try:
        answer = await ask(connection, PROTOCOL, None, IDENTIFY_LIMITS, IDENTIFY_LIMITS.timeout)
    except RequestFailed as error:
        log.debug("no identify message from %s: %s", connection.peer_id, error)
        return None
    identification = Identify.decode(answer)
    if identification.public != connection.remote:
        raise RemoteError("identify: the key is not that of the connection")
    return identification
