"""Hash functions of the chain, and the storage hashers of its metadata.

Blocks, extrinsics and trie nodes are identified by BLAKE2b-256; storage keys use the twox and BLAKE2
families, EVM addresses Keccak-256 (Polkadot spec, "Hashing" in the host API and "Storage hashers" in the
metadata). Twox is xxHash64 with the seeds 0, 1, 2, 3, each digest little-endian.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b, sha256

from Crypto.Hash import keccak
from xxhash import xxh64_intdigest

__all__ = [
    "STORAGE_HASHERS",
    "StorageHasher",
    "blake2_128",
    "blake2_256",
    "keccak_256",
    "sha2_256",
    "twox_64",
    "twox_128",
    "twox_256",
]


def blake2_256(data: bytes) -> bytes:
    """Return the BLAKE2b digest of 32 bytes."""
    return blake2b(data, digest_size=32).digest()


def blake2_128(data: bytes) -> bytes:
    """Return the BLAKE2b digest of 16 bytes."""
    return blake2b(data, digest_size=16).digest()


def twox_64(data: bytes) -> bytes:
    """Return the xxHash64 with seed 0, 8 bytes. Not cryptographic."""
    return xxh64_intdigest(data, 0).to_bytes(8, "little")


def twox_128(data: bytes) -> bytes:
    """Return the xxHash64 with the seeds 0 and 1, 16 bytes. Not cryptographic."""
    return (xxh64_intdigest(data, 0) | xxh64_intdigest(data, 1) << 64).to_bytes(16, "little")


def twox_256(data: bytes) -> bytes:
    """Return the xxHash64 with the seeds 0 to 3, 32 bytes. Not cryptographic."""
    return b"".join(xxh64_intdigest(data, seed).to_bytes(8, "little") for seed in range(4))


def keccak_256(data: bytes) -> bytes:
    """Return the Keccak-256 digest as Ethereum uses it (the padding before SHA-3), 32 bytes."""
    return keccak.new(digest_bits=256, data=data).digest()


def sha2_256(data: bytes) -> bytes:
    """Return the SHA-256 digest, 32 bytes."""
    return sha256(data).digest()


@dataclass(frozen=True, slots=True)
class StorageHasher:
    """Hasher of one key of a storage map, as a part of the storage key.

    `length` counts the bytes before the encoded key itself; `concat`: the encoded key follows them, so that
    it can be read back from a storage key.
    """

    name: str
    index: int
    length: int
    concat: bool
    digest: Callable[[bytes], bytes]

    def hash(self, encoded_key: bytes) -> bytes:
        """Return the part of the storage key for this SCALE-encoded map key."""
        digest = self.digest(encoded_key)
        return digest + encoded_key if self.concat else digest


STORAGE_HASHERS: dict[str, StorageHasher] = {
    hasher.name: hasher
    for hasher in (
        StorageHasher("Blake2_128", 0, 16, False, blake2_128),
        StorageHasher("Blake2_256", 1, 32, False, blake2_256),
        StorageHasher("Blake2_128Concat", 2, 16, True, blake2_128),
        StorageHasher("Twox128", 3, 16, False, twox_128),
        StorageHasher("Twox256", 4, 32, False, twox_256),
        StorageHasher("Twox64Concat", 5, 8, True, twox_64),
        StorageHasher("Identity", 6, 0, True, lambda _key: b""),
    )
}
"""By name, in the order of their index in the metadata's `StorageHasher` enum."""
