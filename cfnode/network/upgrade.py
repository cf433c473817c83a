"""Upgrade of a raw byte stream to a secured connection with a known peer: noise, then yamux.

The steps are multistream `/noise`, the noise handshake, and inside it multistream `/yamux/1.0.0` (libp2p
specs, "connections"). Data that the peer sends ahead is passed on to the next step. The caller sets the time
limit.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import trio

from cfnode.core.keys import Keypair
from cfnode.core.p2p.errors import RemoteError
from cfnode.core.p2p.multistream import Dialer, MultistreamListener
from cfnode.core.p2p.noise import NoiseHandshake, SecureChannel

__all__ = ["NOISE", "YAMUX", "Secured", "upgrade"]

MAX_UPGRADE = 64 << 10
"""Bytes within which the peer's part has to end. It takes less than one kilobyte."""
NOISE = "/noise"
YAMUX = "/yamux/1.0.0"


@dataclass(frozen=True, slots=True)
class Secured:
    """The peer's proven key, the channel to it, and the data it has already sent over the channel."""

    remote: bytes
    channel: SecureChannel
    first: bytes


class _Machine(Protocol):
    def bytes_to_send(self) -> bytes: ...
    def receive_data(self, data: bytes) -> None: ...


async def upgrade(
    stream: trio.abc.Stream, identity: Keypair, *, dialer: bool, expected: bytes | None = None
) -> Secured:
    """Secure the stream and agree on yamux.

    `expected`: the key that the address names. Raise RemoteError.
    """
    wire = _Wire(stream)
    outer = _negotiation(dialer, NOISE)
    await _drive(wire, outer, lambda: outer.chosen is not None)
    handshake = NoiseHandshake(
        identity,
        dialer=dialer,
        static=secrets.token_bytes(32),
        ephemeral=secrets.token_bytes(32),
        expected=expected,
    )
    handshake.receive_data(outer.rest)
    await _drive(wire, handshake, lambda: handshake.finished)
    channel, inner = handshake.channel(), _negotiation(dialer, YAMUX)
    first = await _agree_inside(wire, channel, inner)
    return Secured(handshake.remote, channel, first)


class _Wire:
    """The stream, and the number of bytes that may still be received."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self._left = MAX_UPGRADE

    async def receive(self) -> bytes:
        data = bytes(await self.stream.receive_some(4096))
        if not data:
            raise RemoteError("the peer closed the connection before it was secured")
        self._left -= len(data)
        if self._left < 0:
            raise RemoteError(f"the connection was not secured within {MAX_UPGRADE} bytes")
        return data


def _negotiation(dialer: bool, name: str) -> Dialer | MultistreamListener:
    return Dialer([name]) if dialer else MultistreamListener({name})


async def _drive(wire: _Wire, machine: _Machine, done: Callable[[], bool]) -> None:
    while True:
        if data := machine.bytes_to_send():
            await wire.stream.send_all(data)
        if done():
            return
        machine.receive_data(await wire.receive())


async def _agree_inside(wire: _Wire, channel: SecureChannel, inner: Dialer | MultistreamListener) -> bytes:
    """Negotiate yamux within the channel; return the data after the choice."""
    arrived: list[bytes] = channel.receive_data(b"")
    while True:
        while arrived and inner.chosen is None:
            inner.receive_data(arrived.pop(0))
        if data := inner.bytes_to_send():
            await wire.stream.send_all(channel.seal(data))
        if inner.chosen is not None:
            return inner.rest + b"".join(arrived)
        arrived = channel.receive_data(await wire.receive())
