"""Multiaddresses of nodes: text form, binary form, and the endpoint to dial.

A multiaddress (multiformats.io/multiaddr) is a sequence of parts, each a protocol and for most a value:
`/ip4/1.2.3.4/tcp/30333/p2p/12D3KooW…`, or the same in binary, `varint(code) ‖ value`. We read every part that
Substrate nodes announce, and dial TCP and WebSocket (also over TLS) to IPv4, IPv6 and DNS names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address

from cfnode.core.p2p.errors import RemoteError
from cfnode.core.p2p.protobuf import decode_varint, encode_varint, framed
from cfnode.core.peer_id import PeerIdError, peer_id, public_of

__all__ = ["Endpoint", "Multiaddr", "MultiaddrError"]

MAX_COMPONENTS = 16
MAX_MULTIADDR_BYTES = 1024
MAX_DNS_NAME = 253
"""Characters of a DNS name."""
PEER_PREFIX = bytes.fromhex("002408011220")


class MultiaddrError(ValueError):
    """The text is not a multiaddress."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A host (address or DNS name) and a TCP port to dial, with or without TLS and WebSocket."""

    host: str
    port: int
    websocket: bool = False
    tls: bool = False
    family: str = "ip"
    """`ip`, or `dns`, `dns4`, `dns6`: the kinds of addresses that the name may resolve to."""


@dataclass(frozen=True, slots=True)
class Multiaddr:
    """A multiaddress: its parts in order, (protocol, value as text, empty where it has none)."""

    parts: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, text: str) -> Multiaddr:
        """Return the address in a text; raise MultiaddrError."""
        words = text.split("/")
        if words[0] != "" or len(words) < 2:
            raise MultiaddrError(f"{text!r}: an address begins with /, as in /ip4/1.2.3.4/tcp/30333")
        parts, remaining_words = [], words[1:]
        while remaining_words:
            name = remaining_words.pop(0)
            kind = _BY_NAME.get(name)
            if kind is None:
                raise MultiaddrError(f"{text!r}: unknown address part {name!r}")
            if kind.size != 0 and not remaining_words:
                raise MultiaddrError(f"{text!r}: /{name} needs a value")
            value = remaining_words.pop(0) if kind.size != 0 else ""
            parts.append((kind.name, kind.checked(value, text)))
        return cls(tuple(parts))

    @classmethod
    def decode(cls, data: bytes) -> Multiaddr:
        """Return the address in its binary form; raise RemoteError."""
        if len(data) > MAX_MULTIADDR_BYTES:
            raise RemoteError(f"multiaddress: {len(data)} bytes, {MAX_MULTIADDR_BYTES} are allowed")
        parts: list[tuple[str, str]] = []
        offset = 0
        while offset < len(data):
            code, offset = decode_varint(data, offset)
            kind = _BY_CODE.get(code)
            if kind is None or len(parts) == MAX_COMPONENTS:
                raise RemoteError(f"multiaddress: part {len(parts)} has the unknown code {code}")
            value, offset = kind.take(data, offset)
            parts.append((kind.name, value))
        return cls(tuple(parts))

    def encode(self) -> bytes:
        """Return the binary form of the address."""
        return b"".join(_BY_NAME[name].encode(value) for name, value in self.parts)

    def __str__(self) -> str:
        """Return the text form, as in `/ip4/127.0.0.1/tcp/30333`."""
        return "".join(f"/{name}/{value}" if value else f"/{name}" for name, value in self.parts)

    @property
    def peer(self) -> str | None:
        """The peer id at the end, if it names one."""
        name, value = self.parts[-1] if self.parts else ("", "")
        return value if name == "p2p" else None

    @property
    def without_peer(self) -> Multiaddr:
        """The address without the peer id."""
        return Multiaddr(self.parts[:-1]) if self.peer else self

    def with_peer(self, peer: str) -> Multiaddr:
        """Return the address with a peer id at its end, in place of its own."""
        return Multiaddr((*self.without_peer.parts, ("p2p", peer)))

    @property
    def endpoint(self) -> Endpoint | None:
        """The endpoint to dial; None for transports that we do not support."""
        match self.without_peer.parts:
            case ((kind, host), ("tcp", port), *layers) if kind in _HOSTS:
                pass
            case _:
                return None
        match [name for name, _ in layers]:
            case []:
                return Endpoint(host, int(port), family=_HOSTS[kind])
            case ["ws"]:
                return Endpoint(host, int(port), websocket=True, family=_HOSTS[kind])
            case ["wss"] | ["tls", "ws"]:
                return Endpoint(host, int(port), websocket=True, tls=True, family=_HOSTS[kind])
        return None

    @property
    def dnsaddr_name(self) -> str | None:
        """The DNS name whose records hold the real addresses (`/dnsaddr/<name>`), None for other forms."""
        match self.without_peer.parts:
            case (("dnsaddr", name),):
                return name
        return None

    def inside(self, *layers: str) -> Multiaddr:
        """Return the address with further layers on it, such as `ws`."""
        return Multiaddr((*self.parts, *((layer, "") for layer in layers)))

    @property
    def is_global(self) -> bool:
        """Whether the address can be reached from the internet, judged by its form."""
        name, value = self.parts[0] if self.parts else ("", "")
        if name in ("ip4", "ip6"):
            return ip_address(value).is_global
        return (
            name.startswith("dns") and value != "localhost" and not value.endswith((".local", ".localhost"))
        )


@dataclass(frozen=True, slots=True)
class _Kind:
    """One protocol of the table. `size`: bytes of the value; None: the value has its length in front."""

    name: str
    code: int
    size: int | None
    to_bytes: Callable[[str], bytes]
    to_text: Callable[[bytes], str]

    def checked(self, value: str, whole: str) -> str:
        try:
            return self.to_text(self.to_bytes(value))
        except (ValueError, OverflowError, AddressValueError, PeerIdError, RemoteError) as error:
            raise MultiaddrError(f"{whole!r}: malformed value {value!r} of /{self.name} ({error})") from None

    def encode(self, value: str) -> bytes:
        data = self.to_bytes(value)
        return encode_varint(self.code) + (framed(data) if self.size is None else data)

    def take(self, data: bytes, offset: int) -> tuple[str, int]:
        size, offset = decode_varint(data, offset) if self.size is None else (self.size, offset)
        if size > len(data) - offset:
            raise RemoteError(f"multiaddress: the value of /{self.name} is truncated")
        try:
            return self.to_text(data[offset : offset + size]), offset + size
        except (ValueError, PeerIdError) as error:
            raise RemoteError(f"multiaddress: malformed value of /{self.name} ({error})") from None


def _nothing(value: str) -> bytes:
    return b""


def _no_text(data: bytes) -> str:
    return ""


def _port(text: str) -> bytes:
    if not (text.isascii() and text.isdigit()):
        raise ValueError("a port is a decimal number")
    return int(text[:6]).to_bytes(2, "big")


def _port_text(data: bytes) -> str:
    return str(int.from_bytes(data, "big"))


def _name(text: str) -> bytes:
    if (
        not 0 < len(text) <= MAX_DNS_NAME
        or not text.isascii()
        or not all(c.isalnum() or c in "-._" for c in text)
    ):
        raise ValueError("a DNS name has letters, digits, dots and hyphens")
    return text.encode()


def _name_text(data: bytes) -> str:
    text = data.decode("ascii")
    _name(text)
    return text


def _peer(text: str) -> bytes:
    return PEER_PREFIX + public_of(text)


def _peer_text(data: bytes) -> str:
    if not data.startswith(PEER_PREFIX):
        raise ValueError("the peer id is not that of an ed25519 key")
    return peer_id(data[len(PEER_PREFIX) :])


def _opaque(text: str) -> bytes:
    return bytes.fromhex(text)


_KINDS = (
    _Kind("ip4", 4, 4, lambda text: IPv4Address(text).packed, lambda data: str(IPv4Address(data))),
    _Kind("ip6", 41, 16, lambda text: IPv6Address(text).packed, lambda data: str(IPv6Address(data))),
    _Kind("dns", 53, None, _name, _name_text),
    _Kind("dns4", 54, None, _name, _name_text),
    _Kind("dns6", 55, None, _name, _name_text),
    _Kind("dnsaddr", 56, None, _name, _name_text),
    _Kind("tcp", 6, 2, _port, _port_text),
    _Kind("udp", 273, 2, _port, _port_text),
    _Kind("ws", 477, 0, _nothing, _no_text),
    _Kind("wss", 478, 0, _nothing, _no_text),
    _Kind("tls", 448, 0, _nothing, _no_text),
    _Kind("quic", 460, 0, _nothing, _no_text),
    _Kind("quic-v1", 461, 0, _nothing, _no_text),
    _Kind("webrtc-direct", 280, 0, _nothing, _no_text),
    _Kind("certhash", 466, None, _opaque, bytes.hex),
    _Kind("p2p", 421, None, _peer, _peer_text),
)
_BY_NAME = {kind.name: kind for kind in _KINDS} | {"ipfs": _KINDS[-1]}
_BY_CODE = {kind.code: kind for kind in _KINDS}
_HOSTS = {"ip4": "ip", "ip6": "ip", "dns": "dns", "dns4": "dns4", "dns6": "dns6"}
