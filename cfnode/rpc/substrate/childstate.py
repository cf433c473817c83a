"""The `childstate_*` methods: reads of a child trie (Substrate, `sc-rpc-api`, child_state).

A child trie is named by its whole key in the top trie, `:child_storage:default:` and its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cfnode.core.hashing import blake2_256
from cfnode.core.jsonrpc import RpcError
from cfnode.core.state import CHILD_STORAGE_PREFIX, BlockState
from cfnode.rpc.substrate.state import KEYS, MAX_QUERY_KEYS, PREFIX_PARAM
from cfnode.rpc.substrate.storage import MAX_PAGE, all_keys, in_state, page, proof_of, values_of
from cfnode.rpc.table.blocks import AT, at_or_best
from cfnode.rpc.table.convert import STORAGE_KEY, U32, listed, read_key, to_hex
from cfnode.rpc.table.errors import STATE_CLIENT
from cfnode.rpc.table.rows import Method, Param, Reader

if TYPE_CHECKING:
    from cfnode.node.node import Node


def _read_child(value: Any) -> bytes:
    key = read_key(value)
    if not key.startswith(CHILD_STORAGE_PREFIX) or key == CHILD_STORAGE_PREFIX:
        raise RpcError(STATE_CLIENT, "Client error: Invalid child storage key")
    return key[len(CHILD_STORAGE_PREFIX) :]


CHILD: Final = Param("child_storage_key", Reader("0x child trie key", _read_child))


async def keys(node: Node, child: bytes, prefix: bytes, at: bytes | None) -> list[str]:
    """Return all keys with a prefix in a child trie."""

    def walk(state: BlockState) -> list[str]:
        return [to_hex(key) for key in all_keys(state, prefix, child)]

    return await in_state(node, at_or_best(node, at), walk)


async def keys_paged(
    node: Node, child: bytes, prefix: bytes | None, count: int, start: bytes | None, at: bytes | None
) -> list[str]:
    """Return up to `count` keys with a prefix in a child trie, after `start_key`; `count` has no maximum."""

    def walk(state: BlockState) -> list[str]:
        return [to_hex(key) for key in page(state, prefix or b"", count, start, child)]

    return await in_state(node, at_or_best(node, at), walk, is_short=count <= MAX_PAGE)


async def _values(node: Node, child: bytes, wanted: list[bytes], at: bytes | None) -> list[bytes | None]:
    def walk(state: BlockState) -> list[bytes | None]:
        return values_of(state, wanted, child)

    return await in_state(node, at_or_best(node, at), walk, wanted, child)


async def entries(node: Node, child: bytes, wanted: list[bytes], at: bytes | None) -> list[str | None]:
    """Return the values under several keys of a child trie, null for a missing one."""
    values = await _values(node, child, wanted, at)
    return [None if value is None else to_hex(value) for value in values]


async def storage(node: Node, child: bytes, key: bytes, at: bytes | None) -> str | None:
    """Return the value under a key of a child trie, or null."""
    return (await entries(node, child, [key], at))[0]


async def storage_hash(node: Node, child: bytes, key: bytes, at: bytes | None) -> str | None:
    """Return the blake2-256 of the value under a key of a child trie, or null."""
    (value,) = await _values(node, child, [key], at)
    return None if value is None else to_hex(blake2_256(value))


async def storage_size(node: Node, child: bytes, key: bytes, at: bytes | None) -> int | None:
    """Return the length in bytes of the value under a key of a child trie, or null."""
    (value,) = await _values(node, child, [key], at)
    return None if value is None else len(value)


async def read_proof(node: Node, child: bytes, wanted: list[bytes], at: bytes | None) -> dict[str, Any]:
    """Return the trie nodes that prove the values of keys of a child trie, and its root in the top trie."""
    block_hash = at_or_best(node, at)

    def walk(state: BlockState) -> list[bytes]:
        return proof_of(state, wanted, child)

    proof = await in_state(node, block_hash, walk, wanted, child)
    return {"at": to_hex(block_hash), "proof": [to_hex(entry) for entry in proof]}


CHILD_KEY_PARAM: Final = Param("key", STORAGE_KEY)

METHODS: Final = (
    Method("childstate_getKeys", keys, params=(CHILD, PREFIX_PARAM, AT)),
    Method(
        "childstate_getKeysPaged",
        keys_paged,
        aliases=("childstate_getKeysPagedAt",),
        params=(
            CHILD,
            Param("prefix", STORAGE_KEY, optional=True),
            Param("count", U32),
            Param("start_key", STORAGE_KEY, optional=True),
            AT,
        ),
    ),
    Method("childstate_getStorage", storage, params=(CHILD, CHILD_KEY_PARAM, AT)),
    Method(
        "childstate_getStorageEntries",
        entries,
        params=(CHILD, Param("keys", listed(STORAGE_KEY, MAX_QUERY_KEYS)), AT),
    ),
    Method("childstate_getStorageHash", storage_hash, params=(CHILD, CHILD_KEY_PARAM, AT)),
    Method("childstate_getStorageSize", storage_size, params=(CHILD, CHILD_KEY_PARAM, AT)),
    Method("state_getChildReadProof", read_proof, params=(CHILD, KEYS, AT)),
)
