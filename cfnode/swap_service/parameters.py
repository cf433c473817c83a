"""Readers of a request's members, and the Refusal of a request.

Requests are query strings, where every value is text, or JSON; amounts are decimal strings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cfnode.core.assets import asset_by_symbol
from cfnode.core.runtime_names import RuntimeNames

__all__ = [
    "RequestRefusal",
    "amount",
    "asset_pair",
    "invalid",
    "member",
    "number",
    "switch",
    "text",
]

MAX_DIGITS = 78  # decimal digits of 2^256


class RequestRefusal(Exception):
    """Refusal of a request: the HTTP status and the `message` of the answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


def invalid(name: str) -> RequestRefusal:
    """Return the refusal of a missing or malformed member."""
    return RequestRefusal(400, f"invalid request: {name}")


def text(members: Mapping[str, Any], name: str) -> str:
    """Return a required member that is a text. Raises Refusal."""
    value = members.get(name)
    if not isinstance(value, str) or not value:
        raise invalid(name)
    return value


def number(members: Mapping[str, Any], name: str, maximum: int, default: int | None = None) -> int:
    """Return a member from 0 to `maximum`, written as a number or in decimal digits. Raises Refusal.

    Returns `default` for a missing member, unless it is None.
    """
    value = members.get(name)
    if value is None and default is not None:
        return default
    digits = str(value) if type(value) is int else value
    if not isinstance(digits, str) or not digits.isascii() or not digits.isdigit():
        raise invalid(name)
    if len(digits) > MAX_DIGITS or int(digits) > maximum:
        raise invalid(name)
    return int(digits)


def amount(members: Mapping[str, Any], name: str) -> int:
    """Return a member that is a positive amount, in the smallest unit. Raises Refusal."""
    value = number(members, name, 2**128 - 1)
    if value == 0:
        raise invalid(name)
    return value


def switch(members: Mapping[str, Any], *names: str) -> bool:
    """Return whether one of the members is true or "true"."""
    return any(members.get(name) in ("true", True) for name in names)


def member(members: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """Return a member that is an object, None for a missing one. Raises Refusal."""
    value = members.get(name)
    if value is not None and not isinstance(value, Mapping):
        raise invalid(name)
    return value


def asset_pair(members: Mapping[str, Any], side: str, names: RuntimeNames) -> str:
    """Return the variant name of the asset of one side, `src` or `dest`. Raises Refusal.

    The request has two texts, srcChain and srcAsset, or srcAsset as an object of both. The runtime must have
    the asset (`names`).
    """
    value = members.get(f"{side}Asset")
    chain, symbol = members.get(f"{side}Chain"), value
    if isinstance(value, Mapping):
        chain, symbol = value.get("chain"), value.get("asset")
    if not isinstance(chain, str) or not isinstance(symbol, str):
        raise invalid(f"{side}Asset")
    try:
        name = asset_by_symbol(chain, symbol).name
    except KeyError:
        raise invalid(f"{side}Asset") from None
    if name not in names.assets:
        raise invalid(f"{side}Asset")
    return name
