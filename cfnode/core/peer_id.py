"""Peer ids of libp2p nodes, and the ed25519 keys that they hold.

A libp2p peer id (libp2p specs, "Peer IDs") is base58 of the identity multihash `00 24` over the protobuf form
`08 01 12 20` of an ed25519 public key. All such ids begin with `12D3KooW`.
"""

from __future__ import annotations

import base58

__all__ = ["PeerIdError", "peer_id", "public_of"]

ED25519_PEER_ID_PREFIX = bytes.fromhex("002408011220")
KEY_LENGTH = 32
TEXT_LENGTH = 52
ALPHABET = frozenset(base58.BITCOIN_ALPHABET.decode())


class PeerIdError(ValueError):
    """The text is not the peer id of an ed25519 key."""


def peer_id(public: bytes) -> str:
    """Return the peer id of an ed25519 public key (32 bytes); raise PeerIdError."""
    if len(public) != KEY_LENGTH:
        raise PeerIdError(f"an ed25519 public key has 32 bytes, not {len(public)}")
    return base58.b58encode(ED25519_PEER_ID_PREFIX + public).decode()


def public_of(text: str) -> bytes:
    """Return the ed25519 public key (32 bytes) that a peer id holds; raise PeerIdError."""
    if len(text) != TEXT_LENGTH or not ALPHABET.issuperset(text):
        raise PeerIdError("a peer id of an ed25519 key is 52 base58 characters that begin with 12D3KooW")
    raw = base58.b58decode(text)
    if len(raw) != len(ED25519_PEER_ID_PREFIX) + KEY_LENGTH or not raw.startswith(ED25519_PEER_ID_PREFIX):
        raise PeerIdError("this peer id does not hold an ed25519 key")
    return raw[len(ED25519_PEER_ID_PREFIX) :]
