"""Schnorr signatures of Chainflip's aggregate key, for the contracts on EVM chains.

A signature is over secp256k1, in the form that a contract can check with `ecrecover`: the commitment is an
address, not a point. (chainflip-eth-contracts, contracts/abstract/SchnorrSECP256K1.sol.)

    e = keccak256(x of the key ‖ its parity ‖ message hash ‖ address of k·G)
    s = k − secret·e,   valid if the address of s·G + e·key is that of k·G
"""

from __future__ import annotations

from dataclasses import dataclass

from coincurve import PrivateKey, PublicKey

from cfnode.core.ethereum_key import address_of
from cfnode.core.hashing import keccak_256

__all__ = ["ORDER", "Signature", "sign", "verify"]

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature: `s` (32 bytes, big-endian) and the address (20 bytes) of the one-time key."""

    s: bytes
    k_times_g_address: bytes


def sign(secret: bytes, one_time: bytes, message_hash: bytes) -> Signature:
    """Sign 32 bytes. `one_time` is a scalar of 32 bytes that must never serve for another message."""
    key = PrivateKey(secret).public_key
    address = address_of(PrivateKey(one_time).public_key)
    e = _challenge(key, message_hash, address)
    s = (int.from_bytes(one_time, "big") - int.from_bytes(secret, "big") * e) % ORDER
    return Signature(s.to_bytes(32, "big"), address)


def verify(public: bytes, message_hash: bytes, signature: Signature) -> bool:
    """Return whether a compressed key (33 bytes) has signed 32 bytes, by the contract's own rules."""
    s = int.from_bytes(signature.s, "big")
    if not 0 < s < ORDER or not any(signature.k_times_g_address) or not any(message_hash):
        return False
    try:
        key = PublicKey(public)
        e = _challenge(key, message_hash, signature.k_times_g_address)
        times_e = key.multiply(e.to_bytes(32, "big"))
        commitment = PublicKey.combine_keys([PrivateKey(signature.s).public_key, times_e])
    except ValueError:
        return False
    return address_of(commitment) == signature.k_times_g_address


def _challenge(key: PublicKey, message_hash: bytes, address: bytes) -> int:
    compressed = key.format()
    parity = bytes([compressed[0] - 2])
    return int.from_bytes(keccak_256(compressed[1:] + parity + message_hash + address), "big") % ORDER
