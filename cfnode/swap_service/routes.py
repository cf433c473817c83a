"""Requests that the swap service answers, by method and path.

| request | answer |
|---|---|
| GET /v2/quote, GET /quote | quotes: all, or only the one without chunks |
| GET /v2/swaps/‹id›, GET /swaps/‹id› | the status of a swap, nested or flat |
| GET /api/networkInfo, GET /trpc/networkStatus | the assets that can be swapped |
| POST /api/openSwapDepositChannel | a deposit channel; 201 |
| POST /api/encodeVaultSwapData | the transaction of a vault swap |
| POST /api/encodeCfParameters | only the parameters of a vault swap |
| POST /trpc/‹any of these› | the answer to the POST request in the envelope of older SDKs |
| GET /healthcheck | OK |

An error is `{"message": …}` with a status of 400, 404, 413, 429, 500 or 503.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import parse_qsl

from cfnode.core import jsonrpc
from cfnode.core.foreign import ForeignError, read_json
from cfnode.swap_service.channels import open_channel
from cfnode.swap_service.envelope import unwrapped, wrapped, wrapped_refusal
from cfnode.swap_service.network import network_info, network_status
from cfnode.swap_service.parameters import RequestRefusal
from cfnode.swap_service.quotes import quote, quotes
from cfnode.swap_service.source import SwapSource
from cfnode.swap_service.statuses import status
from cfnode.swap_service.vault_swaps import encode_terms, encode_vault_swap
from cfnode.swaps.documents.status_v1 import flat_status
from cfnode.web.pages import PageAnswer

__all__ = ["MAX_BODY_BYTES", "SPENDING_REQUEST", "SwapService"]

MAX_QUERY_BYTES: Final = 4096
MAX_QUERY_FIELDS: Final = 32
MAX_BODY_BYTES: Final = 128 * 1024
"""Most bytes of a request's body: a message of 15,000 bytes has 30,000 hex digits."""
_STATUS: Final = ("/v2/swaps/", "/swaps/")
_GETS: Final = frozenset({"/v2/quote", "/quote", "/api/networkInfo", "/trpc/networkStatus", "/healthcheck"})
_API, _OLDER = "/api", "/trpc"
SPENDING_REQUEST: Final = "openSwapDepositChannel"
"""The request that costs the service's account the fee of a channel."""

Handler = Callable[[Mapping[str, Any]], Awaitable[Any]]
"""Handler of a POST: from the body to the answer. Raises Refusal."""


class SwapService:
    """Swap service over one source; implements `cfnode.web.pages.Pages`."""

    max_body = MAX_BODY_BYTES

    def __init__(self, source: SwapSource) -> None:
        self._source = source
        self._posts: dict[str, tuple[int, Handler]] = {
            SPENDING_REQUEST: (201, partial(open_channel, source)),
            "encodeVaultSwapData": (200, partial(encode_vault_swap, source)),
            "encodeCfParameters": (200, partial(encode_terms, source)),
        }

    def serves(self, method: str, path: str) -> bool:
        """Return whether the swap service answers this request."""
        if method == "GET":
            return path in _GETS or path.startswith(_STATUS)
        prefix, _, name = path.rpartition("/")
        return method == "POST" and prefix in (_API, _OLDER) and name in self._posts

    async def answer(self, path: str, query: bytes, body: bytes, sdk_version: str) -> PageAnswer:
        """Return the answer to a request; `sdk_version` is "" if the client is not an SDK."""
        try:
            return await self._answer(path, query, body, sdk_version)
        except RequestRefusal as refusal:
            return _json(refusal.status, {"message": refusal.message})
        # An unforeseen exception is logged, and only this request fails, as in JSON-RPC.
        except Exception as error:
            code, message = self._source.fault(error, path)
            return _json(code, {"message": message})

    async def _answer(self, path: str, query: bytes, body: bytes, sdk_version: str) -> PageAnswer:
        if path in ("/v2/quote", "/quote"):
            handler = quotes if path.startswith("/v2") else quote
            parameters = _read_query(query)
            return _json(200, await handler(await self._source.best(), parameters))
        if path.startswith(_STATUS):
            return _json(200, await self._status(path))
        if path == "/api/networkInfo":
            return _json(200, await network_info(await self._source.best(), sdk_version))
        if path == "/trpc/networkStatus":
            return _json(
                200, wrapped(await network_status(await self._source.best(), sdk_version), is_batch=False)
            )
        if path == "/healthcheck":
            return PageAnswer(200, b"OK", is_text=True)
        return await self._post(path, query, _read_object(body))

    async def _post(self, path: str, query: bytes, body: Mapping[str, Any]) -> PageAnswer:
        prefix, _, name = path.rpartition("/")
        code, handler = self._posts[name]
        if prefix == _API:
            return _json(code, await handler(body))
        is_batch = _read_query(query).get("batch") == "1"
        try:
            answer = await handler(unwrapped(body, is_batch=is_batch))
        except RequestRefusal as refusal:
            return _json(refusal.status, wrapped_refusal(refusal, is_batch=is_batch))
        return _json(200, wrapped(answer, is_batch=is_batch))

    async def _status(self, path: str) -> dict[str, Any]:
        reference = path.rpartition("/swaps/")[2]
        document = await self._source.read(lambda record: status(record, reference))
        return document if path.startswith("/v2") else flat_status(document)


def _json(code: int, document: Any) -> PageAnswer:
    return PageAnswer(code, jsonrpc.encode(document))


def _read_query(query: bytes) -> dict[str, str]:
    if len(query) > MAX_QUERY_BYTES:
        raise RequestRefusal(400, "invalid request")
    try:
        return dict(parse_qsl(query.decode(), max_num_fields=MAX_QUERY_FIELDS))
    except ValueError:
        raise RequestRefusal(400, "invalid request") from None


def _read_object(body: bytes) -> Mapping[str, Any]:
    try:
        document = read_json(body)
    except ForeignError as error:
        raise RequestRefusal(400, f"invalid request: the body {error}") from None
    if not isinstance(document, dict):
        raise RequestRefusal(400, "invalid request: the body is not an object")
    return document
