"""Groups of methods that the bearer token of a request opens, and the headers of a request by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from cfnode.web.tokens import Group, Tokens

__all__ = ["HttpRefusal", "RequestHeaders", "granted_groups", "joined"]

NO_TOKEN: Final = b"A bearer token is required: send it as Authorization: Bearer TOKEN.\n"
UNKNOWN_TOKEN: Final = b"The bearer token is unknown.\n"
_SCHEME: Final = b"bearer "

RequestHeaders = Mapping[bytes, bytes]


@dataclass(frozen=True, slots=True)
class HttpRefusal:
    """HTTP answer instead of anything else."""

    status: int
    text: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


def joined(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Return headers by name; join values of the same name with commas (RFC 9110, section 5.3)."""
    by_name: dict[bytes, bytes] = {}
    for name, value in headers:
        by_name[name] = value if name not in by_name else by_name[name] + b", " + value
    return by_name


def granted_groups(tokens: Tokens, authorization: bytes) -> frozenset[Group] | HttpRefusal:
    """Return the groups that a request with this Authorization header may call, or a Refusal."""
    is_open = frozenset(Group) - tokens.guarded
    if authorization[: len(_SCHEME)].lower() != _SCHEME:
        return is_open if Group.READ in is_open else _unauthorized(NO_TOKEN, b"Bearer")
    token = tokens.find(authorization[len(_SCHEME) :].strip())
    if token is None:
        return _unauthorized(UNKNOWN_TOKEN, b'Bearer error="invalid_token"')
    return is_open | token.groups | {Group.READ}


def _unauthorized(text: bytes, challenge: bytes) -> HttpRefusal:
    return HttpRefusal(401, text, ((b"www-authenticate", challenge),))
