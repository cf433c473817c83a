"""Parsers of the headers Host and Origin, and comparison of origins by scheme, host labels and port.

A pattern over the text of a header is not a rule about hosts: `https://*.shop.example` as text is also
`https://evil.example/.shop.example`, and two Origin headers, which come joined by a comma. So each header is
parsed first, to exactly one host or origin, and its parts are compared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from cfnode.web.networks import BadFlagError

__all__ = ["HostAuthority", "OriginPattern", "WebOrigin", "origin_pattern"]

MAX_HOST_HEADER_BYTES: Final = 512
"""Maximum bytes of a Host or an Origin; a name has at most 253."""
_ADDRESS: Final = r"\[[0-9a-f:.]{2,45}\]"
_NAME: Final = rf"[a-z0-9._-]{{1,253}}|{_ADDRESS}"
_PORT: Final = r"[0-9]{1,5}"
_AUTHORITY: Final = re.compile(rf"(?P<name>{_NAME})(?::(?P<port>{_PORT}))?", re.ASCII)
_SCHEME: Final = r"[a-z][a-z0-9+.-]{0,30}"
_ORIGIN: Final = re.compile(rf"(?P<scheme>{_SCHEME})://(?P<name>{_NAME})(?::(?P<port>{_PORT}))?", re.ASCII)
_PATTERN: Final = re.compile(
    rf"(?P<scheme>\*|{_SCHEME})://(?P<name>[*a-z0-9._-]{{1,253}}|{_ADDRESS})(?::(?P<port>{_PORT}|\*))?",
    re.ASCII,
)
_NAMED: Final = re.compile(rf"(?:\*\.)?(?:{_NAME})", re.ASCII)
"""The name of a host; `*` may be its first label."""
_OPAQUE: Final = ("null", "file://")
"""Origins without a host: those of a sandboxed frame and of a file."""
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True)
class HostAuthority:
    """Host and its port, "" without one; in lower case."""

    name: str
    port: str

    @classmethod
    def parse(cls, header: bytes) -> HostAuthority | None:
        """Return the value of a header Host; None for any other text."""
        match = _AUTHORITY.fullmatch(_lower(header))
        return None if match is None else cls(match["name"], match["port"] or "")

    @property
    def text(self) -> str:
        """Text of the authority, as in a header."""
        return f"{self.name}:{self.port}" if self.port else self.name


@dataclass(frozen=True, slots=True)
class WebOrigin:
    """Scheme, host, and port, "" for the scheme's own; an origin without a host has only its scheme."""

    scheme: str
    name: str = ""
    port: str = ""

    @classmethod
    def parse(cls, header: bytes) -> WebOrigin | None:
        """Return the value of one header Origin; None for any other text, such as two origins."""
        text = _lower(header)
        if text in _OPAQUE:
            return cls(text)
        match = _ORIGIN.fullmatch(text)
        return None if match is None else cls(match["scheme"], match["name"], _port(match))

    def is_of(self, host: HostAuthority) -> bool:
        """Return whether it is the origin of pages that this host serves.

        They are served under the scheme of the origin.
        """
        port = "" if host.port == _DEFAULT_PORTS.get(self.scheme) else host.port
        return (self.name, self.port) == (host.name, port)


@dataclass(frozen=True, slots=True)
class OriginPattern:
    """Pattern of the origins that an entry of a list allows.

    `*` is any scheme, any port, any host, or a part of one label; as the first label of a longer name it is
    any labels.
    """

    scheme: str
    name: str
    port: str

    def matches(self, origin: WebOrigin) -> bool:
        """Return whether the entry allows this origin."""
        return (
            self.scheme in ("*", origin.scheme)
            and self.port in ("*", origin.port)
            and _matches_labels(self.name, origin.name)
        )

    @property
    def names_a_host(self) -> bool:
        """Whether it names a host: `https://*` is every page, and `null` a frame of any page."""
        return self.scheme != "*" and _NAMED.fullmatch(self.name) is not None


def origin_pattern(text: str) -> OriginPattern:
    """Parse an entry of a list of origins.

    Such as `https://shop.example`, `https://*.shop.example`, `http://localhost:*`. Raises BadFlagError.
    """
    lower = text.lower()
    if lower in _OPAQUE:
        return OriginPattern(lower, "", "")
    match = _PATTERN.fullmatch("*://*:*" if lower == "*" else lower.rstrip("/"))
    if match is None:
        raise BadFlagError(
            f"--rpc-cors: {text!r} is not an origin; give https://shop.example, https://*.shop.example, "
            "http://localhost:*, or all"
        )
    return OriginPattern(match["scheme"], match["name"], _port(match))


def _matches_labels(pattern: str, name: str) -> bool:
    if pattern == "*":
        return True
    if "*" not in pattern:
        return pattern == name
    pattern_labels, labels = pattern.split("."), name.split(".")
    if pattern_labels[0] == "*" and len(labels) >= len(pattern_labels):
        labels = labels[len(labels) - len(pattern_labels) :]
    return len(labels) == len(pattern_labels) and all(map(fnmatchcase, labels, pattern_labels))


def _port(match: re.Match[str]) -> str:
    port = match["port"] or ""
    return "" if port == _DEFAULT_PORTS.get(match["scheme"]) else port


def _lower(header: bytes) -> str:
    return header.decode("latin-1").lower() if len(header) <= MAX_HOST_HEADER_BYTES else ""
