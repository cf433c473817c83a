"""The `author_*` methods: transactions for the pool, keys for the keystore (Substrate, `sc-rpc-api`)."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import trio

from cfnode.core.bip39 import ENTROPY_LENGTHS, phrase_of
from cfnode.core.hashing import blake2_256
from cfnode.core.jsonrpc import RpcError
from cfnode.core.scale import ByteCursor, encode_compact
from cfnode.core.suri import SuriError
from cfnode.node.pool.watchers import StatusKind, TxStatus, Watch
from cfnode.node.threads import read_in_thread
from cfnode.rpc.table.blocks import ask_runtime
from cfnode.rpc.table.convert import BYTES, HASH, TEXT, listed, to_hex
from cfnode.rpc.table.extrinsics import decoded
from cfnode.rpc.table.rows import Access, Method, Param, Reader, Subscription
from cfnode.rpc.table.serde_types import enum
from cfnode.store.keystore import KEY_TYPE_LENGTH, KeystoreError

if TYPE_CHECKING:
    from cfnode.node.node import Node

NO_SESSION_KEYS: Final = RpcError(
    1030,
    "Session keys are for validators; this node does not author blocks of a network. "
    "Insert single keys with author_insertKey or `cfnode key insert`",
)
OTHER_ERROR: Final = 1040
SESSION_KEYS: Final = ("aura", "gran")
"""The types of a validator's keys, in the order in which the runtime encodes them."""
SESSION_WORDS: Final = 12
MAX_REMOVED: Final = 1024
_BARE: Final = frozenset({StatusKind.FUTURE, StatusKind.READY, StatusKind.DROPPED, StatusKind.INVALID})


async def submit(node: Node, extrinsic: bytes) -> str:
    """Submit a signed extrinsic to the pool; return its hash."""
    return to_hex(await node.pool.submit(decoded(extrinsic)))


async def submit_and_watch(node: Node, extrinsic: bytes) -> AsyncGenerator[Any, None]:
    """Submit a signed extrinsic to the pool; follow it until it is final, or can no longer become final."""
    return _statuses(await node.pool.submit_and_watch(decoded(extrinsic)))


async def _statuses(watch: Watch) -> AsyncGenerator[Any, None]:
    with watch.statuses as statuses:
        async for status in statuses:
            yield status_json(status)


def status_json(status: TxStatus) -> Any:
    """Return a status as Substrate writes it: a string, or an object of one member."""
    if status.kind in _BARE:
        return status.kind.value
    if status.kind is StatusKind.BROADCAST:
        return {status.kind.value: list(status.peers)}
    return {status.kind.value: to_hex(status.hash or b"")}


def pending(node: Node) -> list[str]:
    """Return the extrinsics that are ready for the next block."""
    return [to_hex(transaction.data) for transaction in node.pool.ready()]


_read_removed: Final = enum(
    "ExtrinsicOrHash", {"hash": HASH.read, "extrinsic": lambda value: blake2_256(decoded(BYTES.read(value)))}
)


def _read_target(value: Any) -> bytes:
    """Read the hash of an extrinsic to remove."""
    _, tx_hash = _read_removed(value)
    return bytes(tx_hash)


def remove(node: Node, hashes: list[bytes]) -> list[str]:
    """Remove extrinsics and their dependents from the pool; return the hashes of all removed ones."""
    return [to_hex(tx_hash) for tx_hash in node.pool.remove_invalid(hashes)]


def _check_key_type(key_type: str) -> None:
    if len(key_type.encode()) != KEY_TYPE_LENGTH:
        raise RpcError(OTHER_ERROR, "Invalid key type ID format (should be of length four)")


async def insert_key(node: Node, key_type: str, suri: str, public: bytes) -> None:
    """Write a key into the keystore. The node reads broker keys at start: restart it to use a new one."""
    _check_key_type(key_type)
    insert = partial(node.keystore.insert, key_type, suri, public=public)
    try:
        await trio.to_thread.run_sync(insert)
    except (KeystoreError, SuriError) as error:
        raise RpcError(OTHER_ERROR, "The key store is unavailable", str(error)) from None


async def has_key(node: Node, public: bytes, key_type: str) -> bool:
    """Return whether the keystore holds a key under a key type."""
    _check_key_type(key_type)
    return await read_in_thread(node.keystore.has, key_type, public)


async def rotate_keys(node: Node) -> str:
    """Generate AURA and GRANDPA keys in the keystore of a node that authors blocks; return the public keys.

    Refused on other nodes: keys that are registered with the chain need a node that uses them.
    """
    if not node.is_authority:
        raise NO_SESSION_KEYS
    publics = [await _new_key(node, key_type) for key_type in SESSION_KEYS]
    return to_hex(b"".join(publics))


async def _new_key(node: Node, key_type: str) -> bytes:
    phrase = phrase_of(secrets.token_bytes(ENTROPY_LENGTHS[SESSION_WORDS]))
    try:
        return await trio.to_thread.run_sync(node.keystore.insert, key_type, phrase)
    except KeystoreError as error:
        raise RpcError(OTHER_ERROR, "The key store is unavailable", str(error)) from None


async def has_session_keys(node: Node, session_keys: bytes) -> bool:
    """Return whether the keystore holds all keys of encoded session keys."""
    encoded = encode_compact(len(session_keys)) + session_keys
    cursor = ByteCursor(await ask_runtime(node, None, "SessionKeys_decode_session_keys", encoded))
    if not cursor.boolean():
        raise RpcError(OTHER_ERROR, "Session keys are not encoded correctly")
    keys = [(cursor.take(cursor.compact()), cursor.take(KEY_TYPE_LENGTH)) for _ in range(cursor.compact())]
    for public, key_type in keys:
        if not await has_key(node, public, key_type.decode("latin-1")):
            return False
    return True


EXTRINSIC: Final = Param("extrinsic", BYTES, also=("bytes",))
KEY_TYPE: Final = Param("key_type", TEXT)
PUBLIC: Final = Param("public_key", BYTES, also=("public",))

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
    Method("author_rotateKeys", rotate_keys, access=Access.UNSAFE),
    Method(
        "author_hasSessionKeys",
        has_session_keys,
        params=(Param("session_keys", BYTES),),
        access=Access.UNSAFE,
    ),
)
