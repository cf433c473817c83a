"""Encoding and decoding of trie nodes.

Polkadot spec, state storage: a base-16 Patricia trie without extension nodes. The first byte encodes whether
it is a leaf or a branch, how the value is held and how long the partial key is:

    01......  leaf, value inside           6 bits of length
    10......  branch, no value             6
    11......  branch, value inside         6
    001.....  leaf, value by its hash      5    (state version 1)
    0001....  branch, value by its hash    4    (state version 1)
    00000000  the empty trie, only as a root

Then follow the rest of the length, the partial key, for a branch the bitmap of its children, the value, and
for a branch the *merkle value* of each child: the hash of its encoding, or the encoding itself below 32
bytes.

Decoding is strict: every accepted node encodes to the same bytes again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import compress

from cfnode.core.hashing import blake2_256
from cfnode.core.scale import ScaleError, decode_compact, encode_compact
from cfnode.core.trie.errors import TrieError
from cfnode.core.trie.nibbles import pack, to_nibbles

HASH_LENGTH = 32
EMPTY_NODE = b"\x00"
EMPTY_ROOT = blake2_256(EMPTY_NODE)
MAX_PARTIAL_KEY = 2 * 65_535
"""Longest partial key in nibbles: no key of a runtime comes near it."""

NO_CHILDREN: tuple[bytes, ...] = (b"",) * 16

_LEAF, _BRANCH, _BRANCH_VALUE, _LEAF_HASHED, _BRANCH_HASHED = 0x40, 0x80, 0xC0, 0x20, 0x10
HASH_PREFIX = b"\x80"
"""Compact 32: the prefix of every child that is given by its hash."""
_HASH_FIELD = 1 + HASH_LENGTH
_BITS = tuple(1 << index for index in range(16))
_SHORT = tuple(bytes([n << 2]) for n in range(64))  # compact(n) of the lengths met nearly always


@dataclass(slots=True)
class TrieNode:
    """A trie node. Leaves have no `children`; a branch has 16 entries, `b""` where a child is absent.

    An entry is a child's merkle value *with* its length prefix, as in the parent's bytes, so a changed branch
    is encoded by joining slices. `value` is the value itself, or with `hashed` its blake2-256.
    """

    partial: bytes
    value: bytes | None = None
    hashed: bool = False
    children: list[bytes] | None = field(default=None)


def merkle_entry(encoded: bytes) -> bytes:
    """Return a parent's entry for a node: its length-prefixed hash, or its length-prefixed bytes below 32."""
    length = len(encoded)
    return HASH_PREFIX + blake2_256(encoded) if length >= HASH_LENGTH else _SHORT[length] + encoded


def is_hash_entry(entry: bytes) -> bool:
    """Return whether a child entry names a node by its hash, so that the node has a row of its own."""
    return len(entry) == _HASH_FIELD


def stored_value(value: bytes, version: int) -> tuple[bytes, bool]:
    """Return a value as a node holds it in a state version, and whether that is its hash."""
    if version and len(value) > HASH_LENGTH:
        return blake2_256(value), True
    return value, False


# --- encoding


def encode_node(node: TrieNode) -> bytes:
    """Return the bytes of a node."""
    partial, value = node.partial, node.value
    if node.children is None:
        kind, mask = (_LEAF_HASHED, 31) if node.hashed else (_LEAF, 63)
        return _header(kind, mask, len(partial)) + pack(partial) + _encode_value(value or b"", node.hashed)
    if value is None:
        kind, mask, body = _BRANCH, 63, b""
    else:
        kind, mask = (_BRANCH_HASHED, 15) if node.hashed else (_BRANCH_VALUE, 63)
        body = _encode_value(value, node.hashed)
    bitmap = _bitmap(node.children)
    return b"".join((_header(kind, mask, len(partial)), pack(partial), bitmap, body, *node.children))


def _header(kind: int, mask: int, length: int) -> bytes:
    if length < mask:
        return bytes((kind | length,))
    full, last = divmod(length - mask, 255)
    return bytes((kind | mask,)) + b"\xff" * full + bytes((last,))


def _encode_value(value: bytes, hashed: bool) -> bytes:
    if hashed:
        return value
    length = len(value)
    return (_SHORT[length] if length < 64 else encode_compact(length)) + value


def _bitmap(children: Sequence[bytes]) -> bytes:
    return sum(compress(_BITS, children)).to_bytes(2, "little")


# --- decoding


def decode_node(data: bytes, *, omitted: bool = False) -> TrieNode:
    """Return the node in these bytes, to the last one; raise TrieError.

    With `omitted`, a child may be of no bytes (its entry is one zero byte), as in a compact proof.
    """
    try:
        return _decode(data, omitted)
    except (IndexError, ScaleError) as error:
        raise TrieError(f"trie node ends early or has a bad length: 0x{data[:80].hex()}") from error


def _decode(data: bytes, omitted: bool) -> TrieNode:
    first_byte = data[0]
    leaf, hashed, mask = _kind(first_byte)
    length, offset = first_byte & mask, 1
    if length == mask:
        length, offset = _long_length(data, mask)
    end = offset + (length + 1) // 2
    partial = to_nibbles(data[offset:end]) if length else b""
    if length & 1:
        if partial[0]:
            raise TrieError(f"trie node: padding of the partial key is not zero: 0x{data[:80].hex()}")
        partial = partial[1:]
    if len(partial) != length:
        raise TrieError(f"trie node: partial key of {length} nibbles is cut off")
    if leaf:
        value, end = _decode_value(data, end, hashed)
        if end != len(data):
            raise TrieError(f"trie leaf has {len(data) - end} bytes too many")
        return TrieNode(partial, value, hashed)
    bitmap = data[end] | data[end + 1] << 8
    body: bytes | None = None
    end += 2
    if hashed or first_byte >= _BRANCH_VALUE:
        body, end = _decode_value(data, end, hashed)
    return TrieNode(partial, body, hashed, _decode_children(data, end, bitmap, omitted))


def _kind(first: int) -> tuple[bool, bool, int]:
    """Return whether a node is a leaf, whether its value is hashed, and the mask of the length bits."""
    if first >= _LEAF:
        return first < _BRANCH, False, 63
    if first >= _LEAF_HASHED:
        return True, True, 31
    if first >= _BRANCH_HASHED:
        return False, True, 15
    raise TrieError(f"trie node: unknown header byte 0x{first:02x}")


def _long_length(data: bytes, mask: int) -> tuple[int, int]:
    length, offset = mask, 1
    while data[offset] == 255:
        length, offset = length + 255, offset + 1
        if length > MAX_PARTIAL_KEY:
            raise TrieError(f"trie node: partial key longer than {MAX_PARTIAL_KEY} nibbles")
    return length + data[offset], offset + 1


def _decode_value(data: bytes, at: int, hashed: bool) -> tuple[bytes, int]:
    length = HASH_LENGTH
    if not hashed:
        length, at = decode_compact(data, at)
    end = at + length
    if end > len(data):
        raise TrieError(f"trie node: value of {length} bytes is cut off")
    return data[at:end], end


def _decode_children(data: bytes, at: int, bitmap: int, omitted: bool) -> list[bytes]:
    count = bitmap.bit_count()
    if not count:
        raise TrieError("trie branch without children")
    children = _all_hashed(data, at, count) or _mixed(data, at, count, omitted)
    if count == 16:
        return children
    slots = list(NO_CHILDREN)
    for index, entry in zip(_positions(bitmap), children, strict=True):
        slots[index] = entry
    return slots


@lru_cache(4096)
def _positions(bitmap: int) -> tuple[int, ...]:
    return tuple(index for index in range(16) if bitmap >> index & 1)


def _all_hashed(data: bytes, at: int, count: int) -> list[bytes] | None:
    """Return the children at once if all are given by hash, as in the usual branch; else None."""
    end = at + count * _HASH_FIELD
    if end != len(data) or data[at::_HASH_FIELD] != HASH_PREFIX * count:
        return None
    return [data[i : i + _HASH_FIELD] for i in range(at, end, _HASH_FIELD)]


def _mixed(data: bytes, at: int, count: int, omitted: bool) -> list[bytes]:
    entries = []
    for _ in range(count):
        length, start = decode_compact(data, at)
        end = start + length
        if not (length or omitted) or length > HASH_LENGTH or end > len(data):
            raise TrieError(f"trie branch: a child of {length} bytes")
        entries.append(data[at:end])
        at = end
    if at != len(data):
        raise TrieError(f"trie branch has {len(data) - at} bytes too many")
    return entries
