"""Envelope of tRPC 10 with superjson, in which SDKs up to 1.9 wrap their channel requests.

The request is `{"json": {…}}`, alone or as the only entry `"0"` of a batch. The answer is in
`result.data.json`; `meta` next to it lists the members that are big integers. An error has a JSON-RPC code,
by which the client recognises it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from cfnode.core.jsonrpc import ErrorCode
from cfnode.swap_service.parameters import RequestRefusal

__all__ = ["unwrapped", "wrapped", "wrapped_refusal"]

BIG_INTEGERS: Final = ("srcChainExpiryBlock", "channelOpeningFee", "value")

_NAMES: Final = {429: "TOO_MANY_REQUESTS", 503: "SERVICE_UNAVAILABLE"}


def unwrapped(body: Mapping[str, Any], *, is_batch: bool) -> Mapping[str, Any]:
    """Return the request inside the envelope. Raises Refusal."""
    entry = body.get("0") if is_batch else body
    inner = entry.get("json") if isinstance(entry, Mapping) else None
    if not isinstance(inner, Mapping):
        raise RequestRefusal(400, "invalid request: json")
    return inner


def wrapped(answer: Any, *, is_batch: bool) -> Any:
    """Return an answer inside the envelope."""
    values = {name: ["bigint"] for name in BIG_INTEGERS if isinstance(answer, Mapping) and name in answer}
    result = {"result": {"data": {"json": answer, "meta": {"values": values}}}}
    return [result] if is_batch else result


def wrapped_refusal(refusal: RequestRefusal, *, is_batch: bool) -> Any:
    """Return a refusal inside the envelope, as an error whose message the client throws."""
    data = {"code": _NAMES.get(refusal.status, "BAD_REQUEST"), "httpStatus": refusal.status}
    error = {"message": refusal.message, "code": ErrorCode.INVALID_REQUEST, "data": data}
    result = {"error": {"json": error}}
    return [result] if is_batch else result
