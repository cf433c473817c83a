"""Digests against published values."""

from __future__ import annotations

import pytest

from cfnode.core import hashing


@pytest.mark.parametrize(
    ("function", "data", "digest"),
    [
        (hashing.blake2_256, b"", "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"),
        (hashing.blake2_256, b"abc", "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"),
        (hashing.blake2_128, b"abc", "cf4ab791c62b8d2b2109c90275287816"),
        (hashing.twox_64, b"", "99e9d85137db46ef"),
        (hashing.twox_128, b"System", "26aa394eea5630e07c48ae0c9558cef7"),
        (hashing.twox_128, b"Account", "b99d880ec681799c0cf30e8886371da9"),
        (hashing.keccak_256, b"", "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"),
        (hashing.sha2_256, b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    ],
)
def test_known_digests(function, data, digest):
    """Compute published digests of each hash function."""
    assert function(data).hex() == digest


def test_the_wider_twox_hashes_begin_with_the_narrower_ones():
    """Begin a wider twox hash with the narrower ones: each width adds seeds."""
    data = b"Chainflip"
    assert hashing.twox_256(data)[:16] == hashing.twox_128(data)
    assert hashing.twox_128(data)[:8] == hashing.twox_64(data)
    assert len(hashing.twox_256(data)) == 32


def test_a_concatenating_hasher_keeps_the_key_readable_after_its_prefix():
    """Append the key to the prefix of a concatenating hasher: keys of a map are read back from storage."""
    for hasher in hashing.STORAGE_HASHERS.values():
        part = hasher.hash(b"key")
        assert len(part) == hasher.length + (3 if hasher.concat else 0)
        assert not hasher.concat or part[hasher.length :] == b"key"


def test_storage_hashers_stand_in_the_order_of_the_metadata_enum():
    """Number the storage hashers as the metadata's enum does."""
    assert [hasher.index for hasher in hashing.STORAGE_HASHERS.values()] == list(range(7))
    assert list(hashing.STORAGE_HASHERS) == [
        "Blake2_128",
        "Blake2_256",
        "Blake2_128Concat",
        "Twox128",
        "Twox256",
        "Twox64Concat",
        "Identity",
    ]
