"""SS58 addresses, the text form of accounts.

SS58 (Substrate docs, "SS58 address format"): base58 of prefix ‖ account ‖ checksum, where the checksum is the
first two bytes of BLAKE2b-512 over `SS58PRE` ‖ prefix ‖ account. A prefix up to 63 takes one byte, one up to
16383 two. The Chainflip networks use prefix 2112, which makes addresses begin with `cF`.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

import base58

__all__ = ["ACCOUNT_LENGTH", "CHAINFLIP_PREFIX", "Ss58Error", "decode", "encode"]

CHAINFLIP_PREFIX = 2112
ACCOUNT_LENGTH = 32
CHECKSUM_LENGTH = 2
MAX_PREFIX = 16383
MAX_SS58_TEXT = 64  # the longest we accept (an ECDSA key, 37 bytes) takes 51 characters
MAX_KEPT_ADDRESSES = 4_096
"""Addresses that are kept, since documents and books name few accounts many times."""
ALPHABET = frozenset(base58.BITCOIN_ALPHABET.decode())


class Ss58Error(ValueError):
    """The text is not an SS58 address, or the value cannot be written as one.

    `official` is the official node's text for the same fault.
    """

    def __init__(self, text: str, official: str = "Length is bad") -> None:
        super().__init__(text)
        self.official = official


@lru_cache(maxsize=MAX_KEPT_ADDRESSES)
def encode(account: bytes, prefix: int = CHAINFLIP_PREFIX) -> str:
    """Return the address of an account id (32 bytes) or of a compressed secp256k1 public key (33 bytes).

    Raises Ss58Error.
    """
    if len(account) not in (ACCOUNT_LENGTH, ACCOUNT_LENGTH + 1):
        raise Ss58Error(f"an account id has 32 bytes, a secp256k1 public key 33; these are {len(account)}")
    body = _encode_prefix(prefix) + account
    return base58.b58encode(body + _checksum(body)).decode()


def decode(text: str, length: int = ACCOUNT_LENGTH) -> tuple[int, bytes]:
    """Return (prefix, account) of an address; raise Ss58Error.

    `length` is the number of bytes the account must have. The caller decides which prefixes are acceptable.
    """
    if not text or len(text) > MAX_SS58_TEXT or not ALPHABET.issuperset(text):
        raise Ss58Error(
            "not an SS58 address: it must be base58 text of about 49 characters",
            "Length is bad" if not text or ALPHABET.issuperset(text) else "Base 58 requirement is violated",
        )
    raw = base58.b58decode(text)
    prefix, start = _decode_prefix(raw)
    if len(raw) != start + length + CHECKSUM_LENGTH:
        raise Ss58Error(
            f"not an SS58 address of {length} bytes: it holds {len(raw) - start - CHECKSUM_LENGTH}"
        )
    body, checksum = raw[:-CHECKSUM_LENGTH], raw[-CHECKSUM_LENGTH:]
    if checksum != _checksum(body):
        raise Ss58Error(
            "not an SS58 address: the checksum does not match, so a character is wrong", "Invalid checksum"
        )
    return prefix, body[start:]


def _encode_prefix(prefix: int) -> bytes:
    if not 0 <= prefix <= MAX_PREFIX:
        raise Ss58Error(f"an SS58 prefix lies in 0..{MAX_PREFIX}, not {prefix}")
    if prefix < 64:
        return bytes([prefix])
    # The low six bits of the first byte hold bits 2..7; the second byte holds bits 0..1 on top of bits 8..13.
    return bytes([0x40 | (prefix & 0xFC) >> 2, (prefix & 0x03) << 6 | prefix >> 8])


def _decode_prefix(raw: bytes) -> tuple[int, int]:
    """Return the prefix and the number of bytes that it takes; raise Ss58Error."""
    if len(raw) < 2 or raw[0] >= 128:
        official = "Length is bad" if len(raw) < 2 else "Invalid SS58 prefix byte."
        raise Ss58Error("not an SS58 address: the network prefix is malformed", official)
    if raw[0] < 64:
        return raw[0], 1
    return (raw[0] << 2 & 0xFC) | raw[1] >> 6 | (raw[1] & 0x3F) << 8, 2


def _checksum(body: bytes) -> bytes:
    return blake2b(b"SS58PRE" + body).digest()[:CHECKSUM_LENGTH]
