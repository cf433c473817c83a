"""Host functions for signature checks and hashes.

Each depends on its arguments alone: a runtime in this process has no keys to sign with, so generating,
listing and signing are left out.

Polkadot spec, host API: Crypto and Hashing. ed25519 holds by ZIP-215; sr25519 in the context `substrate`.
"""

from __future__ import annotations

from hashlib import sha256

import coincurve
from Crypto.Hash import keccak

from cfnode.core import hashing
from cfnode.core.keys import verify
from cfnode.runtime.wasm.host.signature import host_function

__all__ = ["Crypto", "Hashing"]

_BAD_RS, _BAD_V, _BAD_SIGNATURE = b"\x01\x00", b"\x01\x01", b"\x01\x02"
"""The variants of Err(EcdsaVerifyError)."""

_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
"""The order of the group of secp256k1: r and s are below it."""


def _recover(signature: bytes, message: bytes, reduce: bool) -> coincurve.PublicKey | bytes:
    """Return the key that signed this 32-byte message, or the error as SCALE.

    `reduce`: version 1 took r and s modulo the order of the group instead of refusing them.
    """
    number = signature[64] - 27 if signature[64] > 26 else signature[64]  # Ethereum counts from 27
    if number > 3:
        return _BAD_V
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:64], "big")
    if reduce:
        r, s = r % _ORDER, s % _ORDER
    elif r >= _ORDER or s >= _ORDER:
        return _BAD_RS
    plain = r.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes((number,))
    try:
        return coincurve.PublicKey.from_signature_and_message(plain, message, hasher=None)
    except ValueError:
        return _BAD_SIGNATURE


def _whole(signature: bytes, message: bytes, reduce: bool) -> bytes:
    """Return the SCALE Result<[u8; 64], EcdsaVerifyError>."""
    key = _recover(signature, message, reduce)
    return key if isinstance(key, bytes) else b"\0" + key.format(compressed=False)[1:]


def _compressed(signature: bytes, message: bytes, reduce: bool) -> bytes:
    """Return the SCALE Result<[u8; 33], EcdsaVerifyError>."""
    key = _recover(signature, message, reduce)
    return key if isinstance(key, bytes) else b"\0" + key.format()


def _signed(signature: bytes, digest: bytes, public: bytes, reduce: bool) -> int:
    """Return whether this key signed, 1 or 0; only here, a recovery id of 27 and more is invalid."""
    return int(signature[64] <= 3 and _compressed(signature, digest, reduce) == b"\0" + public)


class Crypto:
    """Host functions of the part Crypto: checks of signatures."""

    batch: bool | None = None
    """Whether all signatures of the open batch hold; None if none is open."""

    @host_function("b64", "data", "b32", result="u32")
    def ext_crypto_ed25519_verify_version_1(self, signature: bytes, message: bytes, public: bytes) -> int:
        """Return 1 if an ed25519 signature is valid, else 0."""
        return int(verify("ed25519", public, message, signature))

    @host_function("b64", "data", "b32", result="u32")
    def ext_crypto_sr25519_verify_version_1(self, signature: bytes, message: bytes, public: bytes) -> int:
        """Check an sr25519 signature.

        Signatures of the form before schnorrkel's audit (2019) are not accepted, as in version 2.
        """
        return int(verify("sr25519", public, message, signature))

    @host_function("b64", "data", "b32", result="u32")
    def ext_crypto_sr25519_verify_version_2(self, signature: bytes, message: bytes, public: bytes) -> int:
        """Return 1 if an sr25519 signature is valid, else 0."""
        return int(verify("sr25519", public, message, signature))

    @host_function("b65", "data", "b33", result="u32")
    def ext_crypto_ecdsa_verify_version_1(self, signature: bytes, message: bytes, public: bytes) -> int:
        """Return 1 if an ECDSA signature of the BLAKE2 hash is valid, else 0.

        Overflowing scalars are reduced.
        """
        return _signed(signature, hashing.blake2_256(message), public, reduce=True)

    @host_function("b65", "data", "b33", result="u32")
    def ext_crypto_ecdsa_verify_version_2(self, signature: bytes, message: bytes, public: bytes) -> int:
        """Return 1 if an ECDSA signature of the BLAKE2 hash is valid, else 0."""
        return _signed(signature, hashing.blake2_256(message), public, reduce=False)

    @host_function("b65", "b32", "b33", result="u32")
    def ext_crypto_ecdsa_verify_prehashed_version_1(
        self, signature: bytes, digest: bytes, public: bytes
    ) -> int:
        """Return 1 if an ECDSA signature of a digest is valid, else 0."""
        return _signed(signature, digest, public, reduce=False)

    @host_function("b65", "b32", result="data")
    def ext_crypto_secp256k1_ecdsa_recover_version_1(self, signature: bytes, message: bytes) -> bytes:
        """Return the SCALE result: the public key (64 bytes) of a signature, or an error.

        Overflowing scalars are reduced.
        """
        return _whole(signature, message, reduce=True)

    @host_function("b65", "b32", result="data")
    def ext_crypto_secp256k1_ecdsa_recover_version_2(self, signature: bytes, message: bytes) -> bytes:
        """Return the SCALE result: the public key (64 bytes) of a signature, or an error."""
        return _whole(signature, message, reduce=False)

    @host_function("b65", "b32", result="data")
    def ext_crypto_secp256k1_ecdsa_recover_compressed_version_1(
        self, signature: bytes, message: bytes
    ) -> bytes:
        """Return the SCALE result: the public key (33 bytes) of a signature, or an error.

        Overflowing scalars are reduced.
        """
        return _compressed(signature, message, reduce=True)

    @host_function("b65", "b32", result="data")
    def ext_crypto_secp256k1_ecdsa_recover_compressed_version_2(
        self, signature: bytes, message: bytes
    ) -> bytes:
        """Return the SCALE result: the public key (33 bytes) of a signature, or an error."""
        return _compressed(signature, message, reduce=False)

    # Batches are checked one by one: what they promise is an answer at the end, not speed.

    @host_function()
    def ext_crypto_start_batch_verify_version_1(self) -> None:
        """Begin a batch of signatures, none of which has failed yet."""
        self.batch = True

    @host_function(result="u32")
    def ext_crypto_finish_batch_verify_version_1(self) -> int:
        """End the batch; return 1 if all its signatures are valid, else 0."""
        batch, self.batch = self.batch, None
        return int(batch is not False)

    @host_function("b64", "data", "b32", result="u32")
    def ext_crypto_ed25519_batch_verify_version_1(
        self, signature: bytes, message: bytes, public: bytes
    ) -> int:
        """Check an ed25519 signature, in the batch if one has begun."""
        return self._batched(self.ext_crypto_ed25519_verify_version_1(signature, message, public))

    @host_function("b64", "data", "b32", result="u32")
    def ext_crypto_sr25519_batch_verify_version_1(
        self, signature: bytes, message: bytes, public: bytes
    ) -> int:
        """Check an sr25519 signature, in the batch if one has begun."""
        return self._batched(self.ext_crypto_sr25519_verify_version_1(signature, message, public))

    @host_function("b65", "data", "b33", result="u32")
    def ext_crypto_ecdsa_batch_verify_version_1(self, signature: bytes, message: bytes, public: bytes) -> int:
        """Check an ECDSA signature, in the batch if one has begun."""
        return self._batched(self.ext_crypto_ecdsa_verify_version_1(signature, message, public))

    def _batched(self, holds: int) -> int:
        if self.batch is None:
            return holds
        self.batch = self.batch and bool(holds)
        return 1


class Hashing:
    """Host functions of the part Hashing; `twox` is usually answered without leaving WebAssembly."""

    @host_function("data", result="pointer")
    def ext_hashing_keccak_256_version_1(self, data: bytes) -> bytes:
        """Return the Keccak-256 hash, 32 bytes."""
        return hashing.keccak_256(data)

    @host_function("data", result="pointer")
    def ext_hashing_keccak_512_version_1(self, data: bytes) -> bytes:
        """Return the Keccak-512 hash, 64 bytes."""
        return keccak.new(digest_bits=512, data=data).digest()

    @host_function("data", result="pointer")
    def ext_hashing_sha2_256_version_1(self, data: bytes) -> bytes:
        """Return the SHA-256 hash, 32 bytes."""
        return sha256(data).digest()

    @host_function("data", result="pointer")
    def ext_hashing_blake2_128_version_1(self, data: bytes) -> bytes:
        """Return the BLAKE2b hash of 16 bytes."""
        return hashing.blake2_128(data)

    @host_function("data", result="pointer")
    def ext_hashing_blake2_256_version_1(self, data: bytes) -> bytes:
        """Return the BLAKE2b hash of 32 bytes."""
        return hashing.blake2_256(data)

    @host_function("data", result="pointer")
    def ext_hashing_twox_64_version_1(self, data: bytes) -> bytes:
        """Return the xxHash of 8 bytes."""
        return hashing.twox_64(data)

    @host_function("data", result="pointer")
    def ext_hashing_twox_128_version_1(self, data: bytes) -> bytes:
        """Return two xxHashes, 16 bytes."""
        return hashing.twox_128(data)

    @host_function("data", result="pointer")
    def ext_hashing_twox_256_version_1(self, data: bytes) -> bytes:
        """Return four xxHashes, 32 bytes."""
        return hashing.twox_256(data)
