"""The `author_*` methods: transactions for the pool, keys for the keystore (Substrate, `sc-rpc-api`)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import trio

from cfnode.core.hashing import blake2_256
from cfnode.core.jsonrpc import RpcError
from cfnode.core.suri import SuriError
from cfnode.node.watchers import StatusKind, TxStatus, Watch
from cfnode.rpc.convert import BYTES, LOOSE_BYTES, TEXT, listed, read_hex, read_text, shown, to_hex
from cfnode.rpc.table import Access, Method, Param, Reader, Subscription
from cfnode.store.keystore import KeystoreError

if TYPE_CHECKING:
    from cfnode.node.node import Node

NO_SESSION_KEYS: Final = RpcError(
    1030,
    "Session keys are for validators; this node does not author blocks of a network. "
    "Insert single keys with author_insertKey or `cfnode key insert`",
)
BAD_KEY: Final = 1040
MAX_REMOVED: Final = 1024
_BARE: Final = frozenset({StatusKind.FUTURE, StatusKind.READY, StatusKind.DROPPED, StatusKind.INVALID})


async def submit(node: Node, extrinsic: bytes) -> str:
    """Put a signed extrinsic into the pool; its hash."""
    return to_hex(await node.pool.submit(extrinsic))


async def submit_and_watch(node: Node, extrinsic: bytes) -> AsyncGenerator[Any, None]:
    """Put a signed extrinsic into the pool and follow it until it is final, or will never be."""
    return _statuses(await node.pool.submit_and_watch(extrinsic))


async def _statuses(watch: Watch) -> AsyncGenerator[Any, None]:
    with watch.statuses as statuses:
        async for status in statuses:
            yield status_json(status)


def status_json(status: TxStatus) -> Any:
    """A status as Substrate writes it: a bare word, or an object of one member."""
    if status.kind in _BARE:
        return status.kind.value
    if status.kind is StatusKind.BROADCAST:
        return {status.kind.value: list(status.peers)}
    return {status.kind.value: to_hex(status.hash or b"")}


def pending(node: Node) -> list[str]:
    """The extrinsics that are ready for the next block."""
    return [to_hex(transaction.data) for transaction in node.pool.ready()]


def _read_target(value: Any) -> bytes:
    if isinstance(value, dict) and len(value) == 1:
        if "hash" in value and len(wanted := read_hex(value["hash"])) == 32:
            return wanted
        if "extrinsic" in value:
            return blake2_256(read_hex(value["extrinsic"]))
    raise ValueError(f'expected {{"hash": "0x…"}} or {{"extrinsic": "0x…"}}, got {shown(value)}')


def remove(node: Node, hashes: list[bytes]) -> list[str]:
    """Throw extrinsics out of the pool, with those that depend on them; the hashes of all that went."""
    return [to_hex(removed) for removed in node.pool.remove_invalid(hashes)]


def _read_key_type(value: Any) -> str:
    text = read_text(value)
    if len(text.encode()) != 4:
        raise ValueError(f"a key type has four characters, like brok; {shown(text)} has not")
    return text


async def insert_key(node: Node, key_type: str, suri: str, public: bytes) -> None:
    """Write a key into the keystore. Broker keys are read at start: restart the node to use it."""
    insert = partial(node.keystore.insert, key_type, suri, public=public)
    try:
        await trio.to_thread.run_sync(insert)
    except (KeystoreError, SuriError) as error:
        raise RpcError(BAD_KEY, str(error)) from None


async def has_key(node: Node, public: bytes, key_type: str) -> bool:
    """Whether the keystore holds the key of a type."""
    return await trio.to_thread.run_sync(node.keystore.has, key_type, public)


def no_session_keys(node: Node) -> None:
    """Refused: session keys belong to validators, and this node is none."""
    raise NO_SESSION_KEYS


EXTRINSIC: Final = Param("extrinsic", BYTES, also=("bytes",))
KEY_TYPE: Final = Param("key_type", Reader("four characters", _read_key_type))
PUBLIC: Final = Param("public_key", LOOSE_BYTES, also=("public",))

METHODS: Final = (
    Method("author_submitExtrinsic", submit, params=(EXTRINSIC,), submits=True),
    Subscription(
        "author_submitAndWatchExtrinsic",
        submit_and_watch,
        notification="author_extrinsicUpdate",
        unsubscribe="author_unwatchExtrinsic",
        params=(EXTRINSIC,),
        submits=True,
    ),
    Method("author_pendingExtrinsics", pending),
    Method(
        "author_removeExtrinsic",
        remove,
        params=(Param("bytes_or_hash", listed(Reader("{hash} or {extrinsic}", _read_target), MAX_REMOVED)),),
        access=Access.UNSAFE,
    ),
    Method(
        "author_insertKey",
        insert_key,
        params=(KEY_TYPE, Param("suri", TEXT), PUBLIC),
        access=Access.UNSAFE,
    ),
    Method("author_hasKey", has_key, params=(PUBLIC, KEY_TYPE), access=Access.UNSAFE),
    Method("author_rotateKeys", no_session_keys, access=Access.UNSAFE),
    Method("author_hasSessionKeys", no_session_keys, access=Access.UNSAFE),
)
