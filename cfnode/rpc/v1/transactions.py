"""The `transaction_v1_*` and `transactionWatch_v1_*` methods: submit a transaction, and follow it.

Watching ends when the transaction is final or can no longer become final. A broadcast transaction that has
left the pool is submitted again at the next best block, until it is in a final block, is replaced, or the
client stops the broadcast. Stopping removes the transaction from the pool, as an invalid one: it is refused
for a while. When the connection ends, its transactions stay in the pool, and are not submitted again.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import trio

from cfnode.core.hashing import blake2_256
from cfnode.core.jsonrpc import ErrorCode, RpcError
from cfnode.node.chain.events import BestChanged
from cfnode.node.pool.errors import (
    AlreadyImported,
    ImmediatelyDropped,
    InvalidTransaction,
    PoolError,
    TemporarilyBanned,
    TooLowPriority,
    VerificationFailed,
)
from cfnode.node.pool.watchers import StatusKind, TxStatus, Watch
from cfnode.rpc.table.connection_state import Broadcast, ConnectionState
from cfnode.rpc.table.convert import BYTES, TEXT, to_hex
from cfnode.rpc.table.errors import refusal_event
from cfnode.rpc.table.extrinsics import BadExtrinsic, decoded
from cfnode.rpc.table.rows import Method, Param, Subscription

if TYPE_CHECKING:
    from cfnode.node.node import Node

MAX_BROADCASTS: Final = 16
"""Transactions that one connection may broadcast at a time; the specification requires four."""

LAST_SECONDS: Final = 2.0
"""Seconds for which the end of a connection, or of the node, waits for a validation in progress."""

NEEDS_WEBSOCKET: Final = RpcError(
    ErrorCode.CALL_FAILED, "A broadcast lasts until its connection ends: it needs a WebSocket connection"
)
INVALID_OPERATION: Final = RpcError(ErrorCode.INVALID_PARAMS, "Invalid operation id")

_ENDINGS: Final = {
    StatusKind.FINALITY_TIMEOUT: ("dropped", "Maximum number of finality watchers has been reached"),
    StatusKind.USURPED: ("invalid", "Extrinsic was rendered invalid by another extrinsic"),
    StatusKind.DROPPED: ("dropped", "Extrinsic dropped from the pool due to exceeding limits"),
    StatusKind.INVALID: ("invalid", "Extrinsic marked as invalid"),
}
_MAY_PASS: Final = (
    AlreadyImported,
    ImmediatelyDropped,
    InvalidTransaction,
    TemporarilyBanned,
    TooLowPriority,
)
"""Refusals after which a broadcast transaction is tried again; other refusals are permanent."""
_SETTLED: Final = (StatusKind.FINALIZED, StatusKind.FINALITY_TIMEOUT, StatusKind.USURPED)


async def _submitted(node: Node, extrinsic: bytes) -> Watch:
    """Submit an extrinsic to the pool, even if the client disconnects meanwhile. Raises PoolError."""
    watch: Watch | None = None
    refusal: PoolError = VerificationFailed("the connection ended first")
    try:
        async with trio.open_nursery() as nursery:
            with trio.CancelScope(shield=True) as scope:
                nursery.start_soon(_hurry, scope)
                try:
                    watch = await node.pool.submit_and_watch(extrinsic)
                except PoolError as error:
                    refusal = error
            nursery.cancel_scope.cancel()
    except BaseException:  # the client has disconnected
        if watch is not None:
            watch.statuses.close()
        raise
    if watch is None:
        raise refusal
    return watch


async def _hurry(scope: trio.CancelScope) -> None:
    """Give the work in the scope LAST_SECONDS to finish when the connection ends."""
    try:
        await trio.sleep_forever()
    finally:
        scope.deadline = trio.current_time() + LAST_SECONDS


# transactionWatch


async def watch(node: Node, extrinsic: bytes) -> AsyncGenerator[Any, None]:
    """Submit a signed extrinsic to the pool and follow it; a refusal is its only event."""
    return _events(node, extrinsic)


async def _events(node: Node, extrinsic: bytes) -> AsyncGenerator[Any, None]:
    try:
        watched = await _submitted(node, decoded(extrinsic))
    except (PoolError, BadExtrinsic) as error:
        yield {"event": "invalid", "error": refusal_event(error)}
        return
    with watched.statuses as statuses:
        async for status in statuses:
            event = event_json(status)
            if event is not None:
                yield event


def event_json(status: TxStatus) -> dict[str, Any] | None:
    """Return a status as an event of the new interface; None for a status without event."""
    if status.kind in (StatusKind.FUTURE, StatusKind.READY):
        return {"event": "validated"}
    if status.kind is StatusKind.IN_BLOCK:
        return {"event": "bestChainBlockIncluded", "block": _place(status)}
    if status.kind is StatusKind.RETRACTED:
        return {"event": "bestChainBlockIncluded", "block": None}
    if status.kind is StatusKind.FINALIZED:
        return {"event": "finalized", "block": _place(status)}
    if status.kind in _ENDINGS:
        event, error = _ENDINGS[status.kind]
        return {"event": event, "error": error}
    return None


def _place(status: TxStatus) -> dict[str, Any]:
    return {"hash": to_hex(status.hash or b""), "index": status.index}


# transaction


def broadcast(node: Node, connection: ConnectionState | None, extrinsic: bytes) -> str | None:
    """Keep a signed extrinsic in the pool until it is settled or stopped; null if there are too many."""
    if connection is None:
        raise NEEDS_WEBSOCKET
    if len(connection.broadcasts) >= MAX_BROADCASTS:
        return None
    identity = secrets.token_hex(8)
    connection.broadcasts[identity] = Broadcast(_hash_of(extrinsic))
    connection.later.append(partial(_broadcast, node, connection, identity, extrinsic))
    return identity


def _hash_of(data: bytes) -> bytes:
    """Return the hash of the extrinsic at the start of the bytes."""
    try:
        return blake2_256(decoded(data))
    except BadExtrinsic:
        return blake2_256(data)


async def _broadcast(node: Node, connection: ConnectionState, identity: str, extrinsic: bytes) -> None:
    broadcast = connection.broadcasts[identity]
    try:
        with broadcast.scope:
            while not await _is_settled(node, extrinsic):
                await _next_best(node)
    finally:
        connection.broadcasts.pop(identity, None)
    if broadcast.scope.cancelled_caught:  # stopped, perhaps while it was being validated
        _remove(node, broadcast)


async def _is_settled(node: Node, extrinsic: bytes) -> bool:
    """Submit the extrinsic and wait until it leaves the pool.

    Return whether it need not be submitted again.
    """
    try:
        watched = await _submitted(node, decoded(extrinsic))
    except BadExtrinsic:
        return True
    except PoolError as error:
        return not isinstance(error, _MAY_PASS)
    with watched.statuses as statuses:
        async for status in statuses:
            if status.is_last:
                return status.kind in _SETTLED
    return False


async def _next_best(node: Node) -> None:
    with node.chain.subscribe(only=BestChanged) as events:
        await anext(events)


def stop(node: Node, connection: ConnectionState | None, identity: str) -> None:
    """Stop a broadcast, and remove the transaction from the pool."""
    broadcast = connection.broadcasts.pop(identity, None) if connection is not None else None
    if broadcast is None:
        raise INVALID_OPERATION
    broadcast.scope.cancel()
    _remove(node, broadcast)


def _remove(node: Node, stopped: Broadcast) -> None:
    """Remove a stopped transaction from the pool, if no block has it yet."""
    node.pool.remove_invalid([stopped.tx_hash])


EXTRINSIC: Final = Param("transaction", BYTES, also=("bytes", "extrinsic"))

METHODS: Final = (
    Subscription(
        "transactionWatch_v1_submitAndWatch",
        watch,
        notification="transactionWatch_v1_watchEvent",
        unsubscribe="transactionWatch_v1_unwatch",
        params=(EXTRINSIC,),
        submits=True,
    ),
    Method("transaction_v1_broadcast", broadcast, params=(EXTRINSIC,), submits=True, takes_connection=True),
    Method("transaction_v1_stop", stop, params=(Param("operation_id", TEXT),), takes_connection=True),
)
