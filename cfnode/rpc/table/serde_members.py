"""Objects in the parameters of a call in which a member stands twice.

serde refuses an object in which a member that it knows stands twice, at the second one. A decoded dict has
lost the first one, so the parameters of a call are decoded once more: only if they have an object with two
members and are short. Such an object becomes a `Repeated`; all others stay plain dicts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from cfnode.core.jsonrpc import RpcCall

__all__ = ["MAX_CHECKED", "Repeated", "arguments_of", "members", "object_of"]

MAX_CHECKED: Final = 16 * 1024
"""Bytes of parameters up to which members that stand twice are searched.

The search takes at most 4 ms of the event loop. In longer parameters the last member counts.
"""

Pairs = list[tuple[str, Any]]


class Repeated(dict[str, Any]):
    """An object in which a member stands twice: a dict of the last ones, and all in their order."""

    def __init__(self, pairs: Pairs) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def object_of(pairs: Pairs) -> dict[str, Any]:
    """Return the object with these members."""
    by_name = dict(pairs)
    return by_name if len(by_name) == len(pairs) else Repeated(pairs)


def _number(text: str) -> Any:
    """Read a number as the first decoder does: json's own way refuses an integer of thousands of digits."""
    return msgspec.json.decode(text)


_DECODER: Final = json.JSONDecoder(object_pairs_hook=object_of, parse_int=_number, parse_float=_number)


def arguments_of(call: RpcCall) -> list[Any] | dict[str, Any]:
    """Return the arguments of `RpcCall.arguments`, with a `Repeated` for each object that needs it."""
    arguments = call.arguments()
    raw = memoryview(call.params)
    if not arguments or raw.nbytes > MAX_CHECKED or bytes(raw).count(b":") < 2:
        return arguments
    try:
        return _DECODER.decode(str(raw, "utf-8"))  # type: ignore[no-any-return]
    except RecursionError:  # this decoder may allow less than the first
        return arguments


def members(value: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    """Return the members in the order of the document, each as often as it stands there."""
    return value.pairs if isinstance(value, Repeated) else value.items()
