"""Nodes with notification protocols."""

from __future__ import annotations

from typing import Any

import trio.testing

from cfnode.core.wire.announces import AnnounceHandshake, Roles
from cfnode.network.connection import OnSubstream, PeerConnection
from cfnode.network.exchange import accept_protocol
from cfnode.network.interface import NotificationEvent, NotificationLimits
from cfnode.network.notifications import Notifications
from cfnode.network.service import NetworkService
from cfnode.network.substream import Substream
from tests.network.conftest import GENESIS, service
from tests.support.waiting import LIMIT_S


class Node:
    """A node with block announces and one more protocol."""

    def __init__(
        self,
        number: int,
        limits: NotificationLimits | None = None,
        roles: Roles | None = None,
        **settings: Any,
    ) -> None:
        self.service: NetworkService = service(number, **settings)
        said = b"hello from %d" % number if roles is None else hello(roles, number)
        self.announces = self.service.notifications(
            "block-announces/1", lambda: said, limits or NotificationLimits()
        )
        self.grandpa = self.service.notifications("grandpa/1", lambda: b"\x01")

    @property
    def id(self) -> str:
        """The peer id of the node."""
        return self.service.peer_id


async def next_of(protocol: Notifications) -> NotificationEvent:
    """Return the next event of a protocol."""
    with trio.fail_after(LIMIT_S):
        return await protocol.events.receive()


def hello(roles: Roles, number: int) -> bytes:
    """Return the handshake of block announcements."""
    return AnnounceHandshake(roles, number, bytes(32), GENESIS).encode()


NAME = "/gossip"


def served(by: Notifications) -> OnSubstream:
    """Return a handler of substreams that serves the protocol."""

    async def serve(connection: PeerConnection, substream: Substream) -> None:
        _, first = await accept_protocol(substream, {NAME})
        await by.serve(connection, substream, first)

    return serve
