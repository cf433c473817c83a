"""Peer discovery by Kademlia: FIND_NODE messages, the routing table, and lookups.

Substrate finds peers by one part of Kademlia (libp2p specs, "kad-dht"), FIND_NODE. Nodes are ordered by the
distance of their ids from a target, SHA-256 of both XORed. A `RoutingTable` keeps few nodes at each distance
from ourselves and returns the nearest known ones; a `Lookup` asks ever nearer nodes until none is nearer. No
peer can fill the table: a bucket takes 20 nodes, and an old node is removed only after it could not be
reached. Addresses that other nodes report are hints for dialing: those that the node itself reports replace
them, and they are not passed on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256

from cfnode.core.p2p.errors import RemoteError
from cfnode.core.p2p.multiaddr import PEER_PREFIX, Multiaddr
from cfnode.core.p2p.protobuf import Message, bytes_field, uint_field
from cfnode.core.peer_id import peer_id, public_of

__all__ = [
    "BUCKET_SIZE",
    "MAX_ADDRESSES_OF_PEER",
    "MAX_KADEMLIA_MESSAGE_BYTES",
    "KnownPeer",
    "Lookup",
    "RoutingTable",
    "decode_answer",
    "decode_query",
]

BUCKET_SIZE = 20
PARALLEL = 3
MAX_KADEMLIA_MESSAGE_BYTES = 70_000
"""Bytes of a message: 20 peers with ten addresses each have less."""
MAX_ADDRESSES_OF_PEER = 10
"""Addresses of one peer."""
MAX_ASKED = 60
"""Peers that one lookup asks."""
MAX_POSITIONS = 8192
"""Cached positions: more than a table holds."""
FIND_NODE = 4
MAX_LOOKUP_KEY_BYTES = 256


@dataclass(frozen=True, slots=True)
class KnownPeer:
    """A peer and its reported addresses.

    `met`: the peer reported them itself, over a connection that proved its key.
    """

    peer: str
    addresses: tuple[Multiaddr, ...]
    met: bool = False

    def encode(self, connected: bool = False) -> bytes:
        """Return the protobuf of a peer in an answer to FIND_NODE."""
        addresses = b"".join(bytes_field(2, address.encode()) for address in self.addresses)
        return bytes_field(1, peer_bytes(self.peer)) + addresses + uint_field(3, int(connected))


def peer_bytes(peer: str) -> bytes:
    """Return a peer id as its multihash, 38 bytes."""
    return PEER_PREFIX + public_of(peer)


def query(target: bytes) -> bytes:
    """Return the message that asks for the nodes nearest to `target` (a multihash, or any bytes)."""
    return uint_field(1, FIND_NODE) + bytes_field(2, target)


def decode_query(data: bytes) -> bytes | None:
    """Return the target of a FIND_NODE, None for a query of another kind; raise RemoteError."""
    message = Message.decode(data, max_fields=256)
    if message.uint(1) != FIND_NODE:
        return None
    target = message.data(2) or b""
    if not 0 < len(target) <= MAX_LOOKUP_KEY_BYTES:
        raise RemoteError(
            f"kademlia: a target of {len(target)} bytes; 1 to {MAX_LOOKUP_KEY_BYTES} are allowed"
        )
    return target


def answer(peers: Iterable[KnownPeer]) -> bytes:
    """Return the answer to a FIND_NODE."""
    return uint_field(1, FIND_NODE) + b"".join(bytes_field(8, peer.encode()) for peer in peers)


def decode_answer(data: bytes) -> list[KnownPeer]:
    """Return at most K peers of an answer; raise RemoteError.

    Peers without an ed25519 id or without a usable address are left out.
    """
    message = Message.decode(data, max_fields=1024)
    if message.uint(1) != FIND_NODE:
        raise RemoteError(f"kademlia: an answer of type {message.uint(1)} to FIND_NODE")
    peers = [_known(Message.decode(item, max_fields=256)) for item in message.repeated(8)[:BUCKET_SIZE]]
    return [peer for peer in peers if peer is not None]


def _known(message: Message) -> KnownPeer | None:
    identity = message.data(1) or b""
    if len(identity) != len(PEER_PREFIX) + 32 or not identity.startswith(PEER_PREFIX):
        return None
    peer = peer_id(identity[len(PEER_PREFIX) :])
    addresses = []
    for item in message.repeated(2)[:MAX_ADDRESSES_OF_PEER]:
        try:
            address = Multiaddr.decode(item)
        except RemoteError:
            continue
        if address.endpoint is not None and address.peer in (None, peer):
            addresses.append(address.without_peer)
    return KnownPeer(peer, tuple(addresses)) if addresses else None


def position(identity: bytes) -> int:
    """Return the position of a node or target: SHA-256 of its bytes as a number."""
    return int.from_bytes(sha256(identity).digest(), "big")


@lru_cache(maxsize=MAX_POSITIONS)
def _position_of(peer: str) -> int:
    """Return the position of a peer. Each lookup sorts the table by it, and decoding an id is slow."""
    return position(peer_bytes(peer))


@dataclass(slots=True)
class RoutingTable:
    """The nodes we know, at most K at each distance from ourselves."""

    own: str
    _buckets: dict[int, dict[str, KnownPeer]] = field(default_factory=dict)

    def add(self, peer: KnownPeer) -> bool:
        """Add a node, or replace its addresses by those it reports itself.

        Returns False for our own node, and if the node's bucket is full.
        """
        if peer.peer == self.own:
            return False
        bucket = self._buckets.setdefault(self._distance(peer.peer), {})
        if peer.peer in bucket and not peer.met:
            return True
        if peer.peer not in bucket and len(bucket) >= BUCKET_SIZE:
            unverified = next((member for member in bucket.values() if not member.met), None)
            if unverified is None or not peer.met:
                return False
            del bucket[unverified.peer]
        bucket[peer.peer] = peer
        return True

    def remove(self, peer: str) -> None:
        """Remove a node that could not be reached."""
        self._buckets.get(self._distance(peer), {}).pop(peer, None)

    def nearest(self, target: bytes, count: int = BUCKET_SIZE, *, met: bool = False) -> list[KnownPeer]:
        """Return the known nodes nearest to `target`, the nearest first; `met`: only those we have met."""
        target_position = position(target)
        peers = [peer for bucket in self._buckets.values() for peer in bucket.values() if peer.met or not met]
        return sorted(peers, key=lambda peer: _position_of(peer.peer) ^ target_position)[:count]

    def __contains__(self, peer: object) -> bool:
        """Return whether the table has the node with this peer id."""
        return isinstance(peer, str) and peer in self._buckets.get(self._distance(peer), {})

    def __len__(self) -> int:
        """Return the number of known nodes at all distances."""
        return sum(len(bucket) for bucket in self._buckets.values())

    def _distance(self, peer: str) -> int:
        """Return the number of a node's bucket: the number of significant bits of its distance from us."""
        return (_position_of(self.own) ^ _position_of(peer)).bit_length()


@dataclass(slots=True)
class Lookup:
    """A search for the nodes nearest to a target.

    The caller asks the node that `next()` returns, then calls `answered` or `failed`.
    """

    target: bytes
    known: dict[str, KnownPeer]
    _asked: set[str] = field(default_factory=set)
    _failed: set[str] = field(default_factory=set)

    @classmethod
    def start(cls, target: bytes, peers: Iterable[KnownPeer]) -> Lookup:
        """Return a lookup of the peers closest to a target (bytes), beginning with the known ones."""
        return cls(target, {peer.peer: peer for peer in peers})

    def next(self) -> KnownPeer | None:
        """Return the nearest node not asked yet among the K nearest, None when the search has ended."""
        if len(self._asked) >= MAX_ASKED:
            return None
        for peer in self.result():
            if peer.peer not in self._asked:
                self._asked.add(peer.peer)
                return peer
        return None

    def answered(self, peers: Iterable[KnownPeer]) -> None:
        """Add the nodes of an answer."""
        for peer in peers:
            self.known.setdefault(peer.peer, peer)

    def failed(self, peer: str) -> None:
        """Exclude a node that does not answer from the nearest ones."""
        self._failed.add(peer)

    def result(self) -> list[KnownPeer]:
        """Return the K nearest nodes so far."""
        target_position = position(self.target)
        live = [peer for peer in self.known.values() if peer.peer not in self._failed]
        return sorted(live, key=lambda peer: _position_of(peer.peer) ^ target_position)[:BUCKET_SIZE]
