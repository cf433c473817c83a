"""A second trie, written for clearness only: the whole set at once, recursively, after the specification."""

from __future__ import annotations

from hashlib import blake2b


def _hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=32).digest()


def _compact(n: int) -> bytes:
    if n < 64:
        return bytes([n * 4])
    if n < 2**14:
        return (n * 4 + 1).to_bytes(2, "little")
    return (n * 4 + 2).to_bytes(4, "little")


def _header(bits: int, size: int, length: int) -> bytes:
    largest = 2**size - 1
    if length < largest:
        return bytes([bits + length])
    out, length = [bits + largest], length - largest
    while length >= 255:
        out.append(255)
        length -= 255
    return bytes([*out, length])


def _node(pairs: dict[tuple[int, ...], bytes], version: int) -> bytes:
    """Return the encoding of the node above these pairs; keys are nibbles after what lies above."""
    partial: list[int] = []
    while all(len(k) > len(partial) for k in pairs) and len({k[len(partial)] for k in pairs}) == 1:
        partial.append(next(iter(pairs))[len(partial)])
    cut = len(partial)
    value = pairs.get(tuple(partial))
    groups: dict[int, dict[tuple[int, ...], bytes]] = {}
    for key, v in pairs.items():
        if len(key) > cut:
            groups.setdefault(key[cut], {})[key[cut + 1 :]] = v
    by_hash = version == 1 and value is not None and len(value) > 32
    body = b""
    if value is not None:
        body = _hash(value) if by_hash else _compact(len(value)) + value
    if not groups:
        head = _header(0b00100000, 5, cut) if by_hash else _header(0b01000000, 6, cut)
    elif by_hash:
        head = _header(0b00010000, 4, cut)
    else:
        head = _header(0b11000000 if value is not None else 0b10000000, 6, cut)
    nibbles = [0, *partial] if cut % 2 else partial
    packed = bytes(nibbles[i] * 16 + nibbles[i + 1] for i in range(0, len(nibbles), 2))
    if not groups:
        return head + packed + body
    bitmap = sum(1 << i for i in groups).to_bytes(2, "little")
    children = b""
    for i in sorted(groups):
        child = _node(groups[i], version)
        merkle_value = child if len(child) < 32 else _hash(child)
        children += _compact(len(merkle_value)) + merkle_value
    return head + packed + bitmap + body + children


def naive_root(pairs: dict[bytes, bytes], version: int) -> bytes:
    """Return the root of the pairs, by the definition."""
    return _hash(_node(_nibbles(pairs), version)) if pairs else _hash(b"\0")


def naive_merkle_value(pairs: dict[bytes, bytes], below: dict[bytes, bytes], version: int) -> bytes:
    """Return the merkle value of the trie's node above `below`, all of the `pairs` that begin alike."""
    whole, part = _nibbles(pairs), _nibbles(below)
    any_key = next(iter(part))
    cut = next(n for n in range(len(any_key) + 1) if _under(whole, any_key[:n]) == part)
    node = _node({key[cut:]: value for key, value in part.items()}, version)
    return node if cut and len(node) < 32 else _hash(node)


def _under(pairs: dict[tuple[int, ...], bytes], path: tuple[int, ...]) -> dict[tuple[int, ...], bytes]:
    return {key: value for key, value in pairs.items() if key[: len(path)] == path}


def _nibbles(pairs: dict[bytes, bytes]) -> dict[tuple[int, ...], bytes]:
    return {tuple(n for b in k for n in (b >> 4, b & 15)): v for k, v in pairs.items()}
