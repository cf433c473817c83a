"""Ethereum keys of Chainflip seed phrases, and the addresses of keys.

Chainflip's `generate-keys` takes the first 32 bytes of HMAC-SHA512 over the 64-byte BIP-39 seed, keyed with
the text `Chainflip Ethereum Key`. The address is the last 20 bytes of Keccak-256 over the public key's two
coordinates (Ethereum yellow paper, appendix F).
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field

import coincurve

from cfnode.core.bip39 import wallet_seed
from cfnode.core.hashing import keccak_256

__all__ = ["EthereumKey", "address_of"]

LABEL = b"Chainflip Ethereum Key"


@dataclass(frozen=True, slots=True)
class EthereumKey:
    """A secp256k1 key: `secret` 32 bytes (kept out of repr), `public` 33 (compressed), `address` 20."""

    secret: bytes = field(repr=False)
    public: bytes
    address: bytes

    @classmethod
    def from_secret(cls, secret: bytes) -> EthereumKey:
        """Return the key of a 32-byte secret; raise ValueError if it is not a scalar of the curve."""
        public = coincurve.PrivateKey(secret).public_key
        return cls(secret, public.format(), address_of(public))

    @classmethod
    def from_phrase(cls, phrase: str) -> EthereumKey:
        """Return the key that Chainflip derives from a seed phrase; raise PhraseError."""
        return cls.from_secret(hmac.digest(LABEL, wallet_seed(phrase), "sha512")[:32])


def address_of(public: coincurve.PublicKey) -> bytes:
    """Return the address (20 bytes) of a public key."""
    return keccak_256(public.format(compressed=False)[1:])[12:]
