"""The client of a request that came through a trusted proxy, from the headers that name it.

A trusted proxy names the client in `Forwarded` (RFC 7239), `X-Forwarded-For` or `X-Real-IP`. The official
node believes the first address of a list, which the client itself can write. Here only the last address
counts, the one that the trusted proxy added; and if that one is a trusted proxy, too, the one before it.

A proxy may pass on a header that it does not write. So the headers have to agree: if they name different
clients, the client is unknown, and has the rights of no address.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from cfnode.core.ip_addresses import peer_address

__all__ = ["MAX_FORWARDED_HEADER_BYTES", "UNKNOWN_CLIENT", "forwarded_client"]

UNKNOWN_CLIENT: Final = "unknown"
"""The address of a client that the headers do not name, or name differently; it is within no network."""
MAX_FORWARDED_HEADER_BYTES: Final = 2048
"""Bytes of one header; a longer one names no client."""
MAX_HOPS: Final = 32
"""Proxies that one header may list."""

_PAIR: Final = re.compile(r'\s*([!#$%&\'*+.^_`|~\w-]+)=("(?:[^"\\]|\\.)*"|[^\s",;]*)\s*', re.ASCII)
"""A parameter of `Forwarded`, its value a token or a quoted string."""
_NODE: Final = re.compile(r"(?:\[([^\]]*)\]|([^\[\]:]*))(?::(?:[0-9]{1,5}|_[\w.-]{1,32}))?", re.ASCII)
"""An address, that of IPv6 in brackets, perhaps with a port."""

Headers = Mapping[bytes, bytes]


def forwarded_client(headers: Headers, is_proxy: Callable[[str], bool]) -> str | None:
    """Return the client of a request from a trusted proxy: an address, or UNKNOWN.

    None if no header names a client. `is_proxy`: whether an address in a list is a further trusted proxy.
    """
    lists = [hops for name, read in _READERS.items() if (hops := _hops(headers.get(name), read))]
    clients = {_client(hops, is_proxy) for hops in lists}
    outside_clients = {address for address in clients if not is_proxy(address)}
    candidates = outside_clients or clients
    return None if not candidates else candidates.pop() if len(candidates) == 1 else UNKNOWN_CLIENT


def _client(hops: list[str], is_proxy: Callable[[str], bool]) -> str:
    """Return the last hop that is no trusted proxy, or the first hop."""
    return next((hop for hop in reversed(hops) if not is_proxy(hop)), hops[0])


def _hops(value: bytes | None, read: Callable[[str], Iterator[str]]) -> list[str]:
    """Return the addresses of one header, the client first; UNKNOWN for an entry that is no address."""
    if value is None:
        return []
    if len(value) > MAX_FORWARDED_HEADER_BYTES:
        return [UNKNOWN_CLIENT]
    hops = [_address(text) for text in read(value.decode("latin-1"))]
    return hops if 0 < len(hops) <= MAX_HOPS else [UNKNOWN_CLIENT]


def _address(text: str) -> str:
    """Return the address of a hop, without a port; UNKNOWN for any other text.

    The forms are `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1` and `[2001:db8::1]:80`.
    """
    node = _NODE.fullmatch(text)
    parsed = peer_address(text if node is None else node[1] or node[2] or "")
    return UNKNOWN_CLIENT if parsed is None else str(parsed)


def _listed(value: str) -> Iterator[str]:
    return (element.strip() for element in value.split(","))


def _sole(value: str) -> Iterator[str]:
    """Yield the one address of X-Real-IP.

    Values of several headers come joined by a comma, which no address has.
    """
    yield value.strip()


def _elements(value: str) -> Iterator[str]:
    """Yield the `for` of each element of `Forwarded`.

    The text is empty for an element without one, and at an error.
    """
    position, node, is_named = 0, "", False
    while position < len(value):
        pair = _PAIR.match(value, position)
        if pair is None:
            yield ""
            return
        if pair[1].lower() == "for":
            node, is_named = "" if is_named else pair[2].removeprefix('"').removesuffix('"'), True
        position = pair.end()
        end = value[position : position + 1]
        if end == ",":
            yield node
            node, is_named = "", False
        elif end not in ("", ";"):
            yield ""
            return
        position += 1
    yield node


_READERS: Final[Mapping[bytes, Callable[[str], Iterator[str]]]] = {
    b"forwarded": _elements,
    b"x-forwarded-for": _listed,
    b"x-real-ip": _sole,
}
