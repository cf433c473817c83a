"""Secret URIs such as `bottom drive …//Alice/0///password`: root, derivation path and password.

Substrate's secret URI (Substrate docs, "subkey: derivation"): a root, then a path, then a password.

1. The root is a seed phrase, a seed in hexadecimal (`0x` and 64 digits), or nothing, which means the public
   development phrase.
2. `//name` is a hard junction (the parent's secret is needed to follow it), `/name` a soft one. A junction
   that is a decimal u64 is encoded as eight bytes, any other as a SCALE string; more than 32 bytes are
   hashed.
3. `///password` ends the URI and salts the stretching of the phrase.

No error here repeats any part of a URI.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from cfnode.core.bip39 import PhraseError, substrate_seed
from cfnode.core.hashing import blake2_256

__all__ = ["DEV_PHRASE", "Junction", "SecretUri", "SuriError", "parse"]

DEV_PHRASE = "bottom drive obey lake curtain smoke basket hold race lonely fit walk"
"""The root of `//Alice`, `//Bob` and the like. It is public, so it protects nothing."""

MAX_SURI_TEXT = 8192
CHAIN_CODE_LENGTH = 32
MAX_U64 = 2**64 - 1
URI = re.compile(r"(?P<root>[\d\w ]+)?(?P<path>(?://?[^/]+)*)(?:///(?P<password>.*))?", re.DOTALL)
JUNCTION = re.compile(r"/(/?)([^/]+)")
DECIMAL_JUNCTION = re.compile(r"\+?0*([0-9]{1,20})", re.ASCII)
SEED_PATTERN = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)


class SuriError(ValueError):
    """The text is not a secret URI; the message gives the reason without repeating the text."""


@dataclass(frozen=True, slots=True)
class Junction:
    """One step of a derivation path: the chain code (32 bytes) and whether the step is hard."""

    chain_code: bytes
    hard: bool

    @classmethod
    def of(cls, name: str, *, hard: bool) -> Junction:
        """Return the junction that is written `/name` or `//name`."""
        encoded = _encode_name(name)
        if len(encoded) > CHAIN_CODE_LENGTH:
            return cls(blake2_256(encoded), hard)
        return cls(encoded.ljust(CHAIN_CODE_LENGTH, b"\0"), hard)


@dataclass(frozen=True, slots=True)
class SecretUri:
    """A parsed secret URI. Its repr contains neither root nor password."""

    root: str = field(repr=False)
    junctions: tuple[Junction, ...] = field(repr=False)
    password: str | None = field(repr=False)

    @property
    def is_bare_phrase(self) -> bool:
        """Whether the URI is a seed phrase and nothing else."""
        return not self.root.startswith("0x") and not self.junctions and self.password is None

    def seed(self, password: str | None = None) -> bytes:
        """Return the 32-byte seed of the root, before any junction. `password` overrides the URI's own.

        Raises SuriError.
        """
        if self.root.startswith("0x"):
            return _hex_seed(self.root)
        chosen = self.password if password is None else password
        try:
            return substrate_seed(self.root, chosen or "")
        except PhraseError as error:
            raise SuriError(str(error)) from None


def parse(text: str) -> SecretUri:
    """Take a secret URI apart; raise SuriError. The phrase is checked when its seed is asked for."""
    if len(text) > MAX_SURI_TEXT:
        raise SuriError(f"a secret URI has at most {MAX_SURI_TEXT} characters; this one has {len(text)}")
    match = URI.fullmatch(text)
    if match is None or not _is_unicode(text):
        raise SuriError(
            "not a secret URI: it must be a seed phrase or 0x and 64 hex digits, "
            "then any //hard and /soft junctions, then ///password if there is one"
        )
    junctions = tuple(
        Junction.of(name, hard=bool(slash)) for slash, name in JUNCTION.findall(match.group("path"))
    )
    root = match.group("root")
    return SecretUri(DEV_PHRASE if root is None else root, junctions, match.group("password"))


def _is_unicode(text: str) -> bool:
    """Return whether a text has no lone surrogates, which stand for stray bytes of a command line."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _encode_name(name: str) -> bytes:
    number = DECIMAL_JUNCTION.fullmatch(name)
    if number and int(number[1]) <= MAX_U64:
        return int(number[1]).to_bytes(8, "little")
    text = name.encode()
    return _compact_length(len(text)) + text


def _compact_length(length: int) -> bytes:
    """Return a length in SCALE's compact form; MAX_SURI_TEXT keeps a name below 2^14 · 4 bytes."""
    if length < 1 << 6:
        return bytes([length << 2])
    if length < 1 << 14:
        return (length << 2 | 1).to_bytes(2, "little")
    return (length << 2 | 2).to_bytes(4, "little")


def _hex_seed(text: str) -> bytes:
    if not SEED_PATTERN.fullmatch(text):
        raise SuriError("a hexadecimal seed is 0x and 64 hex digits (32 bytes)")
    return bytes.fromhex(text[2:])
