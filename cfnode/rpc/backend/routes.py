"""Which requests does the swap service of a development node answer?

| request | answer |
|---|---|
| GET /v2/quote, GET /quote | quotes: all, or the one without chunks |
| GET /v2/swaps/‹id›, GET /swaps/‹id› | the status of a swap, in either form |
| GET /api/networkInfo | what can be swapped |
| POST /api/openSwapDepositChannel | a deposit channel; 201 |
| POST /trpc/openSwapDepositChannel | the same in the envelope of older SDKs, alone or as a batch of one |
| POST /api/encodeVaultSwapData | what to send to the vault, instead of paying into a channel |
| GET /healthcheck | OK |

An error is `{"message": …}` with a status of 400, 404, 413 or 503.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

import msgspec

from cfnode.core import jsonrpc
from cfnode.core.jsonrpc import RpcError
from cfnode.rpc.backend.channels import DefaultBroker
from cfnode.rpc.backend.fields import Refusal
from cfnode.rpc.backend.flat_status import flat_status
from cfnode.rpc.backend.network import network_info
from cfnode.rpc.backend.quotes import quote, quotes
from cfnode.rpc.backend.statuses import status
from cfnode.rpc.backend.vault_swaps import encode_vault_swap
from cfnode.rpc.errors import explain

if TYPE_CHECKING:
    from cfnode.node.node import Node

__all__ = ["MAX_BODY", "Answer", "Backend"]

MAX_QUERY: Final = 4096
MAX_QUERY_FIELDS: Final = 32
MAX_BODY: Final = 128 * 1024
"""Bytes of a request for a channel: a message of 15,000 bytes is 30,000 digits."""
_STATUS: Final = ("/v2/swaps/", "/swaps/")
_GETS: Final = frozenset({"/v2/quote", "/quote", "/api/networkInfo", "/healthcheck"})
_CHANNEL, _OLD_CHANNEL = "/api/openSwapDepositChannel", "/trpc/openSwapDepositChannel"
_VAULT_SWAP: Final = "/api/encodeVaultSwapData"
_POSTS: Final = frozenset({_CHANNEL, _OLD_CHANNEL, _VAULT_SWAP})
_BIG_INTEGERS: Final = ("srcChainExpiryBlock", "channelOpeningFee")


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer: status and body; `is_text` if the body is not JSON."""

    status: int
    body: bytes
    is_text: bool = False


class Backend:
    """The swap service of one development node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._broker = DefaultBroker(node)

    def serves(self, method: str, path: str) -> bool:
        """Whether a request is for the swap service."""
        if method == "GET":
            return path in _GETS or path.startswith(_STATUS)
        return method == "POST" and path in _POSTS

    async def answer(self, path: str, query: bytes, body: bytes, sdk_version: str) -> Answer:
        """The answer to a request that is served; `sdk_version` is "" where no SDK asks."""
        try:
            return await self._answer(path, query, body, sdk_version)
        except Refusal as refusal:
            return _json(refusal.status, {"message": refusal.message})
        # As in JSON-RPC: what went wrong inside is logged, and is no other client's business.
        except Exception as error:
            refused = error if isinstance(error, RpcError) else explain(error, path)
            return _json(500, {"message": refused.message})

    async def _answer(self, path: str, query: bytes, body: bytes, sdk_version: str) -> Answer:
        if path in ("/v2/quote", "/quote"):
            asked = quotes if path.startswith("/v2") else quote
            return _json(200, await asked(self._node, _read_query(query)))
        if path.startswith(_STATUS):
            return _json(200, await self._status(path))
        if path == "/api/networkInfo":
            return _json(200, await network_info(self._node, sdk_version))
        if path == _CHANNEL:
            return _json(201, await self._broker.open(_read_object(body)))
        if path == _VAULT_SWAP:
            return _json(200, await encode_vault_swap(self._node, self._broker, _read_object(body)))
        if path == _OLD_CHANNEL:
            return await self._old_channel(_read_object(body), _read_query(query).get("batch") == "1")
        return Answer(200, b"OK", is_text=True)

    async def _status(self, path: str) -> dict[str, Any]:
        reference = path.rpartition("/swaps/")[2]
        found = await status(self._node, self._broker.expected, reference)
        return found if path.startswith("/v2") else flat_status(found)

    async def _old_channel(self, body: Mapping[str, Any], is_batch: bool) -> Answer:
        """The envelope of tRPC with superjson: `{"0": {"json": …}}` asks; `meta` tells the big integers."""
        asked = body.get("0") if is_batch else body
        inner = asked.get("json") if isinstance(asked, Mapping) else None
        if not isinstance(inner, Mapping):
            raise Refusal(400, "invalid request: json")
        opened = await self._broker.open(inner)
        meta = {"values": {name: ["bigint"] for name in _BIG_INTEGERS}}
        result = {"result": {"data": {"json": opened, "meta": meta}}}
        return _json(200, [result] if is_batch else result)


def _json(code: int, document: Any) -> Answer:
    return Answer(code, jsonrpc.encode(document))


def _read_query(query: bytes) -> dict[str, str]:
    if len(query) > MAX_QUERY:
        raise Refusal(400, "invalid request")
    try:
        return dict(parse_qsl(query.decode(), max_num_fields=MAX_QUERY_FIELDS))
    except ValueError:
        raise Refusal(400, "invalid request") from None


def _read_object(body: bytes) -> Mapping[str, Any]:
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Refusal(400, "invalid request: the body is not JSON") from None
    if not isinstance(document, dict):
        raise Refusal(400, "invalid request: the body is no object")
    return document
