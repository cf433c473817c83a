"""Structured data as Ethereum wallets hash and sign it (EIP-712).

The signature covers the Keccak-256 of this payload:

    payload = 19 01 ‖ keccak256(domain) ‖ keccak256(message)

Each struct is hashed as its type followed by its members, 32 bytes each; a member that is a struct, a text or
bytes is replaced by its hash.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cfnode.core.hashing import keccak_256

__all__ = ["DOMAIN", "Member", "TypedData", "Types"]

Member = tuple[str, str]
"""A struct's member: its name and its type."""
Types = Mapping[str, tuple[Member, ...]]

DOMAIN: tuple[Member, ...] = (("name", "string"), ("version", "string"))
EIP712_PREFIX = b"\x19\x01"
WORD = 2**256


@dataclass(frozen=True, slots=True)
class TypedData:
    """A message with its types, for one application (`name`) in one `version`.

    A struct is a dict, `bytes` and `address` are bytes, integers are int, texts and truth values as they are.
    """

    name: str
    version: str
    types: Types
    primary_type: str
    message: Mapping[str, Any]

    def payload(self) -> bytes:
        """Return the 66 bytes whose Keccak-256 is signed."""
        domain = {"name": self.name, "version": self.version}
        hashed = _Hashing({"EIP712Domain": DOMAIN}).struct("EIP712Domain", domain)
        return EIP712_PREFIX + hashed + _Hashing(self.types).struct(self.primary_type, self.message)


class _Hashing:
    """Hashes of values by one set of types."""

    def __init__(self, types: Types) -> None:
        self._types = types
        self._known: dict[str, bytes] = {}

    def struct(self, name: str, value: Mapping[str, Any]) -> bytes:
        members = (self._word(kind, value[member]) for member, kind in self._types[name])
        return keccak_256(self._type_hash(name) + b"".join(members))

    def _word(self, kind: str, value: Any) -> bytes:
        if kind in self._types:
            return self.struct(kind, value)
        if kind == "string":
            return keccak_256(value.encode())
        if kind == "bytes":
            return keccak_256(value)
        if kind == "address":
            return bytes(12) + bytes(value)
        return (int(value) % WORD).to_bytes(32, "big")  # an integer, or a truth value

    def _type_hash(self, name: str) -> bytes:
        if name not in self._known:
            referenced = sorted(self._reachable(name) - {name})
            self._known[name] = keccak_256("".join(map(self._written, [name, *referenced])).encode())
        return self._known[name]

    def _written(self, name: str) -> str:
        return f"{name}({','.join(f'{kind} {member}' for member, kind in self._types[name])})"

    def _reachable(self, name: str) -> set[str]:
        """Return the names of the structs that a struct consists of, including itself."""
        structs, waiting = set(), [name]
        while waiting:
            struct = waiting.pop()
            if struct in self._types and struct not in structs:
                structs.add(struct)
                waiting.extend(kind for _, kind in self._types[struct])
        return structs
