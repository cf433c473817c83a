"""The `chainHead_v1_*` methods: the head of the chain, and the blocks near it.

A client follows the head, and may then query each reported block until it unpins the block. An operation
for a follow that has ended, or that belongs to another connection, is answered with `limitReached`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, Final

from cfnode.core.jsonrpc import RpcError
from cfnode.rpc.table.connection_state import ConnectionState
from cfnode.rpc.table.convert import BOOL, HASH, TEXT, listed, to_hex
from cfnode.rpc.table.rows import Method, Param, Reader, Subscription
from cfnode.rpc.table.serde_types import untagged
from cfnode.rpc.v1 import operations
from cfnode.rpc.v1.follow import Follow
from cfnode.rpc.v1.operations import RunningOperation, Work
from cfnode.rpc.v1.parameters import HEX, KEY_READER, InvalidParameter, bytes_of, head_error
from cfnode.rpc.v1.queries import QUERIES, QueryItems, head_queries

if TYPE_CHECKING:
    from cfnode.node.node import Node

MAX_FOLLOWS: Final = 4
"""Follows of one connection; the specification asks for two."""
MAX_UNPINNED: Final = 1024

TOO_MANY_FOLLOWS: Final = RpcError(-32800, "Maximum number of chainHead_follow has been reached")
NO_RUNTIME: Final = RpcError(
    -32802, "The `chainHead_follow` subscription was started with `withRuntime` set to `false`"
)
INVALID_CONTINUE: Final = RpcError(-32803, "Wait for continue event was not generated for the subscription")
LIMIT_REACHED: Final = {"result": "limitReached"}


async def follow(
    node: Node, connection: ConnectionState, identity: str, with_runtime: bool
) -> AsyncGenerator[dict[str, Any], None]:
    """Send the blocks near the head: the present ones, then each new, best and finalized block."""
    subscription = connection.follows[identity] = Follow(node, connection.pins, with_runtime=with_runtime)
    connection.later.append(subscription.run)
    return _events(connection, identity, subscription)


async def _events(
    connection: ConnectionState, identity: str, followed: Follow
) -> AsyncGenerator[dict[str, Any], None]:
    try:
        async for event in followed.to_client:
            yield event
    finally:
        del connection.follows[identity]
        followed.leave()


def _followed(connection: ConnectionState | None, identity: str) -> Follow | None:
    """Return a follow of this connection that has not ended, or None."""
    subscription = connection.follows.get(identity) if connection is not None else None
    return subscription if isinstance(subscription, Follow) and not subscription.is_over else None


def _begin(
    connection: ConnectionState | None, identity: str, block: bytes, work: Work, wanted: int = 1
) -> dict[str, Any]:
    """Start an operation of `wanted` items on a pinned block, if the limits allow at least one."""
    subscription = _followed(connection, identity)
    if connection is None or subscription is None:
        return LIMIT_REACHED
    subscription.check(block)
    if not (weight := min(wanted, subscription.operations.room)):
        return LIMIT_REACHED
    operation = subscription.operations.begin(work, weight)
    connection.later.append(operation.run)
    return {"result": "started", "operationId": operation.identity}


def body(node: Node, connection: ConnectionState | None, identity: str, block: bytes) -> dict[str, Any]:
    """Start reading a block's extrinsics: event operationBodyDone."""
    return _begin(connection, identity, block, operations.body(node, block))


def call(
    node: Node,
    connection: ConnectionState | None,
    identity: str,
    block: bytes,
    function: str,
    parameters: str,
) -> dict[str, Any]:
    """Start a runtime call: event operationCallDone."""
    data = _bytes_of(parameters)
    subscription = _followed(connection, identity)
    if subscription is not None and not subscription.with_runtime:
        subscription.check(block)
        raise NO_RUNTIME
    return _begin(connection, identity, block, operations.call(node, block, function, data))


def storage(
    node: Node,
    connection: ConnectionState | None,
    identity: str,
    block: bytes,
    asked: QueryItems,
    child: str | None,
) -> dict[str, Any]:
    """Start reading the state: events operationStorageItems, then operationStorageDone."""
    subscription = _followed(connection, identity)
    if subscription is None:
        return LIMIT_REACHED
    try:
        queries = head_queries(asked)
    except InvalidParameter as error:
        raise head_error(error) from None
    accepted = queries[: subscription.operations.room]
    work = operations.storage(node, block, accepted, _bytes_of(child or ""))
    started = _begin(connection, identity, block, work, len(queries))
    return (
        started if started is LIMIT_REACHED else {**started, "discardedItems": len(queries) - len(accepted)}
    )


def _bytes_of(text: str) -> bytes:
    try:
        return bytes_of(text)
    except InvalidParameter as error:
        raise head_error(error) from None


def header(node: Node, connection: ConnectionState | None, identity: str, block: bytes) -> str | None:
    """Return the SCALE header of a pinned block; null if the follow has ended."""
    subscription = _followed(connection, identity)
    if subscription is None:
        return None
    subscription.check(block)
    block_header = node.chain.header(block)
    return None if block_header is None else to_hex(block_header.encode())


def unpin(node: Node, connection: ConnectionState | None, identity: str, blocks: list[bytes]) -> None:
    """Unpin one or several blocks."""
    subscription = _followed(connection, identity)
    if subscription is not None:
        subscription.unpin(blocks)


def resume(node: Node, connection: ConnectionState | None, identity: str, operation: str) -> None:
    """Resume an operation that waits for chainHead_v1_continue."""
    pending = _operation(connection, identity, operation)
    if pending is not None:
        if not pending.is_waiting:
            raise INVALID_CONTINUE
        pending.resume()


def stop_operation(node: Node, connection: ConnectionState | None, identity: str, operation: str) -> None:
    """Stop an operation; an ended or unknown one is ignored."""
    pending = _operation(connection, identity, operation)
    if pending is not None:
        pending.stop()


def _operation(connection: ConnectionState | None, identity: str, operation: str) -> RunningOperation | None:
    subscription = _followed(connection, identity)
    return None if subscription is None else subscription.operations.under_way.get(operation)


HASHES: Final = Reader(
    "0x hash or [0x hash]",
    untagged(
        "data did not match any variant of untagged enum ListOrValue",
        listed(HASH, MAX_UNPINNED).read,
        lambda value: [HASH.read(value)],
    ),
)
FOLLOWED: Final = Param("follow_subscription", TEXT)
BLOCK: Final = Param("hash", HASH)
OPERATION: Final = Param("operation_id", TEXT)

METHODS: Final = (
    Subscription(
        "chainHead_v1_follow",
        follow,
        notification="chainHead_v1_followEvent",
        unsubscribe="chainHead_v1_unfollow",
        params=(Param("with_runtime", BOOL),),
        takes_connection=True,
        patient=True,
        max_per_connection=MAX_FOLLOWS,
        too_many=TOO_MANY_FOLLOWS,
    ),
    Method("chainHead_v1_body", body, params=(FOLLOWED, BLOCK), takes_connection=True),
    Method(
        "chainHead_v1_call",
        call,
        params=(FOLLOWED, BLOCK, Param("function", TEXT), Param("call_parameters", HEX)),
        takes_connection=True,
    ),
    Method("chainHead_v1_header", header, params=(FOLLOWED, BLOCK), takes_connection=True),
    Method(
        "chainHead_v1_storage",
        storage,
        params=(
            FOLLOWED,
            BLOCK,
            Param("items", QUERIES),
            Param("child_trie", KEY_READER, optional=True),
        ),
        takes_connection=True,
    ),
    Method(
        "chainHead_v1_unpin",
        unpin,
        params=(FOLLOWED, Param("hash_or_hashes", HASHES)),
        takes_connection=True,
    ),
    Method("chainHead_v1_continue", resume, params=(FOLLOWED, OPERATION), takes_connection=True),
    Method("chainHead_v1_stopOperation", stop_operation, params=(FOLLOWED, OPERATION), takes_connection=True),
)
