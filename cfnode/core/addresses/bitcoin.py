"""Conversion between Bitcoin addresses and output scripts.

Legacy addresses are base58check of a version byte and a hash; segregated-witness addresses are bech32
(BIP 173) for version 0 and bech32m (BIP 350) from version 1 on. The network decides version bytes and prefix.

A script is held as the SCALE value of `ScriptPubkey`: `("P2PKH", hash)`, …, `("Taproot", key)`,
`("OtherSegwit", {"version": v, "program": bytes})`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, TypedDict

import base58
import bech32

from cfnode.core.addresses.errors import AddressError

__all__ = ["NETWORKS", "BitcoinNetwork", "Script", "script_bytes", "script_from_text", "script_to_text"]


class SegwitProgram(TypedDict):
    """A witness program of a version without a name of its own."""

    version: int
    program: bytes


Script: TypeAlias = tuple[str, bytes | SegwitProgram]


@dataclass(frozen=True, slots=True)
class BitcoinNetwork:
    """The address format of a Bitcoin network: prefix of bech32 texts, version bytes of legacy addresses."""

    hrp: str
    p2pkh_version: int
    p2sh_version: int


# By Chainflip's network environment.
NETWORKS: dict[str, BitcoinNetwork] = {
    "Mainnet": BitcoinNetwork("bc", 0, 5),
    "Testnet": BitcoinNetwork("tb", 111, 196),
    "Development": BitcoinNetwork("bcrt", 111, 196),
}

_BECH32, _BECH32M = 1, 0x2BC830A3
_MAX_TEXT = 90  # characters of a bech32 text; also far above any legacy address
_MAX_VERSION = 16
_OP_1 = 0x51
_NAMED_PROGRAMS = {(0, 20): "P2WPKH", (0, 32): "P2WSH", (1, 32): "Taproot"}
_NAMED_VERSIONS = {name: version for (version, _), name in _NAMED_PROGRAMS.items()}


def script_from_text(text: str, network: BitcoinNetwork) -> Script:
    """Return the script of an address of `network`; raise AddressError if it is malformed."""
    script = None
    if len(text) <= _MAX_TEXT and text.isascii() and text.isalnum():
        script = _legacy_script(text, network) or _segwit_script(text, network)
    if script is None:
        raise AddressError(f"{text[:_MAX_TEXT]!r} is not a Bitcoin address of the network {network.hrp!r}")
    return script


def script_to_text(script: Script, network: BitcoinNetwork) -> str:
    """Return the address of a script."""
    kind, payload = script
    if isinstance(payload, bytes):
        if kind in _NAMED_VERSIONS:
            return _segwit_text(network.hrp, _NAMED_VERSIONS[kind], payload)
        version = network.p2pkh_version if kind == "P2PKH" else network.p2sh_version
        return base58.b58encode_check(bytes([version]) + payload).decode()
    return _segwit_text(network.hrp, payload["version"], payload["program"])


def script_bytes(script: Script) -> bytes:
    """Return the script as bytes of a transaction's output."""
    kind, payload = script
    if not isinstance(payload, bytes):
        version, program = payload["version"], payload["program"]
        return bytes([_OP_1 + version - 1, len(program)]) + program
    if kind == "P2PKH":
        return b"\x76\xa9\x14" + payload + b"\x88\xac"
    if kind == "P2SH":
        return b"\xa9\x14" + payload + b"\x87"
    version = _NAMED_VERSIONS[kind]
    return bytes([_OP_1 + version - 1 if version else 0, len(payload)]) + payload


def _legacy_script(text: str, network: BitcoinNetwork) -> Script | None:
    try:
        payload = base58.b58decode_check(text)
    except ValueError:
        return None
    if len(payload) != 21:
        return None
    kinds = {network.p2pkh_version: "P2PKH", network.p2sh_version: "P2SH"}
    kind = kinds.get(payload[0])
    return (kind, payload[1:]) if kind else None


def _segwit_script(text: str, network: BitcoinNetwork) -> Script | None:
    if text not in (text.lower(), text.upper()):
        return None
    hrp, _, data = text.lower().rpartition("1")
    if hrp != network.hrp or len(data) < 7 or not set(data) <= set(bech32.CHARSET):
        return None
    words = [bech32.CHARSET.index(character) for character in data]
    version, program = words[0], bech32.convertbits(words[1:-6], 5, 8, False)
    if _checksum(hrp, words) != _constant(version) or version > _MAX_VERSION or program is None:
        return None
    return _script_of_program(version, bytes(program))


def _script_of_program(version: int, program: bytes) -> Script | None:
    if name := _NAMED_PROGRAMS.get((version, len(program))):
        return name, program
    if version == 0 or not 2 <= len(program) <= 40:
        return None
    return "OtherSegwit", {"version": version, "program": program}


def _segwit_text(hrp: str, version: int, program: bytes) -> str:
    words = [version, *(bech32.convertbits(program, 8, 5) or [])]
    checksum = _checksum(hrp, words + [0] * 6) ^ _constant(version)
    words += [checksum >> 5 * (5 - i) & 31 for i in range(6)]
    return hrp + "1" + "".join(bech32.CHARSET[word] for word in words)


def _checksum(hrp: str, words: list[int]) -> int:
    return int(bech32.bech32_polymod(bech32.bech32_hrp_expand(hrp) + words))


def _constant(version: int) -> int:
    return _BECH32 if version == 0 else _BECH32M
