"""JSON-RPC methods that the service forwards to its node: the reads that swap SDKs send, and no others.

So an SDK needs only the service's address: it asks for limits, margins and boost pools by JSON-RPC. The calls
take no parameters, and go to the node as they are.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from cfnode.core import jsonrpc
from cfnode.core.jsonrpc import ErrorCode, RpcCall, RpcError
from cfnode.ledger.errors import LedgerError
from cfnode.serving.plain_rpc import reply_to
from cfnode.swap_service.live_network.link import NodeLink

__all__ = ["METHODS", "answer"]

METHODS: Final = frozenset(
    (
        *("cf_environment", "cf_swapping_environment", "cf_ingress_egress_environment"),
        *("cf_pools_environment", "cf_funding_environment", "cf_supported_assets", "cf_available_pools"),
        *("cf_boost_pools_depth", "cf_safe_mode_statuses", "state_getRuntimeVersion"),
    )
)
MAX_FORWARDED_BATCH: Final = 20
_NO_PARAMETERS: Final[tuple[Any, ...]] = ([], {}, [None])


async def answer(link: NodeLink, body: bytes) -> bytes:
    """Return the answer to a call or a batch; b"" for a notification."""
    return await reply_to(jsonrpc.parse(body, MAX_FORWARDED_BATCH), partial(_called, link))


async def _called(link: NodeLink, call: RpcCall) -> Any:
    if call.method not in METHODS:
        raise RpcError(ErrorCode.METHOD_NOT_FOUND, "Method not found")
    if call.arguments() not in _NO_PARAMETERS:
        raise RpcError(ErrorCode.INVALID_PARAMS, "the swap service answers this method without parameters")
    try:
        return await link.call(call.method)
    except LedgerError as error:
        raise RpcError(ErrorCode.INTERNAL_ERROR, str(error)) from None
