"""The `state_*` methods: storage, runtime calls, metadata and streams (Substrate, `sc-rpc-api`, state)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Any, Final

from cfnode.core.hashing import blake2_256
from cfnode.core.jsonrpc import RpcError
from cfnode.core.state import BlockState
from cfnode.node.chain.events import BestChanged
from cfnode.node.chain.runtime_info import RuntimeVersion
from cfnode.rpc.substrate.storage import (
    MAX_PAGE,
    SLICE_KEYS,
    Later,
    all_keys,
    all_pairs,
    in_state,
    page,
    proof_of,
    read_key,
    size_below,
    values_in,
    within,
)
from cfnode.rpc.substrate.storage_changes import all_changes, changes_json, changes_of
from cfnode.rpc.table.blocks import AT, JsonCache, ask_runtime, at_or_best
from cfnode.rpc.table.convert import BYTES, HASH, STORAGE_KEY, TEXT, U32, listed, to_hex
from cfnode.rpc.table.per_node import PerNode
from cfnode.rpc.table.rows import Access, FixedBy, Method, Param, SlowReader, Subscription

if TYPE_CHECKING:
    from cfnode.node.node import Node

MAX_QUERY_KEYS: Final = 4096
"""Keys in one query or subscription."""
MAX_RANGE: Final = 4096
"""Blocks in one state_queryStorage."""
BAD_RANGE: Final = 4001
BAD_COUNT: Final = 4002

_METADATA: Final = PerNode(lambda: JsonCache[bytes](4))
_VERSIONS: Final = PerNode(lambda: JsonCache[bytes](16))


def _hex_or_none(value: bytes | None) -> str | None:
    return None if value is None else to_hex(value)


async def call(node: Node, name: str, data: bytes, at: bytes | None) -> str:
    """Return the SCALE output of a runtime API function."""
    return to_hex(await ask_runtime(node, at, name, data))


async def metadata(node: Node, at: bytes | None) -> Any:
    """Return the runtime's metadata in version 14."""
    info = await node.chain.runtime_at(at_or_best(node, at))
    return _METADATA.of(node).get(info.code_hash, lambda: to_hex(info.metadata_v14))


async def runtime_version(node: Node, at: bytes | None) -> Any:
    """Return the runtime's name, versions and APIs."""
    info = await node.chain.runtime_at(at_or_best(node, at))
    return _VERSIONS.of(node).get(info.code_hash, lambda: version_json(info.version))


def version_json(version: RuntimeVersion) -> dict[str, Any]:
    """Return a runtime version as Substrate writes it, in its key order; the state version appears twice."""
    return {
        "specName": version.spec_name,
        "implName": version.impl_name,
        "authoringVersion": version.authoring_version,
        "specVersion": version.spec_version,
        "implVersion": version.impl_version,
        "apis": [[to_hex(name), number] for name, number in version.apis],
        "transactionVersion": version.transaction_version,
        "systemVersion": version.system_version,
        "stateVersion": version.system_version,
    }


def storage(node: Node, key: bytes, at: bytes | None) -> str | Later[str | None] | None:
    """Return the value under a key, or null."""
    return read_key(node, at_or_best(node, at), key, _hex_or_none)


def storage_hash(node: Node, key: bytes, at: bytes | None) -> str | Later[str | None] | None:
    """Return the blake2-256 of the value under a key, or null."""
    return read_key(node, at_or_best(node, at), key, lambda v: None if v is None else to_hex(blake2_256(v)))


async def storage_size(node: Node, key: bytes, at: bytes | None) -> int | None:
    """Return the size of the value under a key, else of all values whose keys begin with it, or null."""
    return await in_state(node, at_or_best(node, at), lambda state: size_below(state, key), [key])


async def keys(node: Node, prefix: bytes, at: bytes | None) -> list[str]:
    """Return all keys with a prefix."""

    def walk(state: BlockState) -> list[str]:
        return [to_hex(key) for key in all_keys(state, prefix)]

    return await in_state(node, at_or_best(node, at), walk)


async def pairs(node: Node, prefix: bytes, at: bytes | None) -> list[tuple[str, str]]:
    """Return all keys with a prefix, each with its value."""

    def walk(state: BlockState) -> list[tuple[str, str]]:
        return [(to_hex(key), to_hex(value)) for key, value in all_pairs(state, prefix)]

    return await in_state(node, at_or_best(node, at), walk)


async def keys_paged(
    node: Node, prefix: bytes | None, count: int, start: bytes | None, at: bytes | None
) -> list[str]:
    """Return up to `count` keys with a prefix, after `start_key`."""
    if count > MAX_PAGE:
        raise RpcError(BAD_COUNT, f"count exceeds maximum value. value: {count}, max: {MAX_PAGE}")
    keys = await in_state(
        node, at_or_best(node, at), lambda s: page(s, prefix or b"", count, start), is_short=True
    )
    return [to_hex(key) for key in keys]


async def read_proof(node: Node, wanted: list[bytes], at: bytes | None) -> dict[str, Any]:
    """Return the trie nodes that prove the values of keys, or their absence."""
    block_hash = at_or_best(node, at)
    is_short = len(wanted) <= SLICE_KEYS
    proof = await in_state(node, block_hash, lambda s: proof_of(s, wanted), wanted, is_short=is_short)
    return {"at": to_hex(block_hash), "proof": [to_hex(entry) for entry in proof]}


async def query_storage_at(node: Node, wanted: list[bytes], at: bytes | None) -> list[dict[str, Any]]:
    """Return the values of several keys at one block."""
    if not wanted:
        return []
    wanted = list(dict.fromkeys(wanted))
    block_hash = at_or_best(node, at)
    if node.chain.block_ref(block_hash) is None:
        raise _unknown_in_range(block_hash, block_hash, block_hash)
    values = await values_in(node, block_hash, wanted)
    return [changes_json(block_hash, list(zip(wanted, values, strict=True)))]


async def query_storage(
    node: Node, wanted: list[bytes], start: bytes, end: bytes | None
) -> list[dict[str, Any]]:
    """Return the values of keys in a range of blocks: all at the first block, then each block's changes."""
    wanted = list(dict.fromkeys(wanted))
    before: list[bytes | None] | None = None
    change_sets, weight = [], 0
    for block_hash in _range(node, start, at_or_best(node, end)):
        values = await values_in(node, block_hash, wanted)
        changes = [
            (key, value)
            for index, (key, value) in enumerate(zip(wanted, values, strict=True))
            if before is None or before[index] != value
        ]
        if changes:
            weight += sum(len(key) + len(value or b"") for key, value in changes)
            change_sets.append(within(changes_json(block_hash, changes), weight))
        before = values
    return change_sets


def _range(node: Node, start: bytes, end: bytes) -> list[bytes]:
    """Return the blocks of the best chain from start to end. Raises RpcError."""
    first, last = node.chain.block_ref(start), node.chain.block_ref(end)
    if first is None or last is None:
        raise _unknown_in_range(start, end, start if first is None else end)
    reason = "from and to are on different forks"
    if first.number > last.number:
        reason = "from number > to number"
    elif last.number - first.number >= MAX_RANGE:
        reason = f"it spans more than {MAX_RANGE} blocks"
    elif node.chain.is_canonical(first) and node.chain.is_canonical(last):
        hashes = [node.chain.hash_at(number) for number in range(first.number, last.number + 1)]
        return [block_hash for block_hash in hashes if block_hash is not None]
    start_name, end_name = (f"{block.number} ({to_hex(block.hash)})" for block in (first, last))
    raise _bad_range(start_name, end_name, reason)


def _unknown_in_range(start: bytes, end: bytes, unknown: bytes) -> RpcError:
    reason = f"UnknownBlock: Header was not found in the database: {to_hex(unknown)}"
    return _bad_range(to_hex(start), f"Some({to_hex(end)})", reason)


def _bad_range(start: str, end: str, reason: str) -> RpcError:
    """Return the error with the official text, whose quotes are as uneven there."""
    return RpcError(BAD_RANGE, f'Cannot resolve a block range [\'"{start}"\' ... \'"{end}"]. {reason}')


def trace_block(node: Node, block: bytes, targets: str | None, keys: str | None, methods: str | None) -> None:
    """Refuse to trace: the node's runtimes lack tracing, and a trace without spans would look complete."""
    raise _bad_range(to_hex(block), "None", "This node traces no blocks")


async def subscribe_storage(node: Node, wanted: list[bytes] | None) -> AsyncGenerator[Any, None]:
    """Send values of keys, then each new best block's changes; without keys, all changes of all blocks."""
    return all_changes(node) if wanted is None else changes_of(node, wanted)


async def subscribe_runtime_version(node: Node) -> AsyncGenerator[Any, None]:
    """Send the best block's runtime version, then each new version."""
    return _runtime_versions(node)


async def _runtime_versions(node: Node) -> AsyncGenerator[Any, None]:
    with node.chain.subscribe(only=BestChanged) as events:
        last_version = (await node.chain.runtime_at(node.chain.best.hash)).version
        yield version_json(last_version)
        async for event in events:
            if isinstance(event, BestChanged):
                version = (await node.chain.runtime_at(event.new.hash)).version
                if version != last_version:
                    last_version = version
                    yield version_json(version)
        raise SlowReader


KEY_PARAM: Final = Param("key", STORAGE_KEY)
PREFIX_PARAM: Final = Param("prefix", STORAGE_KEY)
KEYS: Final = Param("keys", listed(STORAGE_KEY, MAX_QUERY_KEYS))


def _of_key(name: str, handler: Callable[..., Any]) -> Method:
    """Return the row of a method about one key of a state."""
    return Method(name, handler, aliases=(f"{name}At",), params=(KEY_PARAM, AT), fixed_by=FixedBy.STATE)


METHODS: Final = (
    Method(
        "state_call",
        call,
        aliases=("state_callAt",),
        params=(Param("name", TEXT), Param("bytes", BYTES, also=("data",)), AT),
        fixed_by=FixedBy.STATE,
    ),
    Method("state_getMetadata", metadata, params=(AT,)),
    Method(
        "state_getRuntimeVersion",
        runtime_version,
        aliases=("chain_getRuntimeVersion",),
        params=(AT,),
        fixed_by=FixedBy.STATE,
    ),
    _of_key("state_getStorage", storage),
    _of_key("state_getStorageHash", storage_hash),
    _of_key("state_getStorageSize", storage_size),
    Method("state_getKeys", keys, params=(PREFIX_PARAM, AT)),
    Method("state_getPairs", pairs, params=(PREFIX_PARAM, AT), access=Access.UNSAFE),
    Method(
        "state_getKeysPaged",
        keys_paged,
        aliases=("state_getKeysPagedAt",),
        params=(
            Param("prefix", STORAGE_KEY, optional=True),
            Param("count", U32),
            Param("start_key", STORAGE_KEY, optional=True),
            AT,
        ),
        fixed_by=FixedBy.STATE,
    ),
    Method("state_getReadProof", read_proof, params=(KEYS, AT), fixed_by=FixedBy.STATE),
    Method("state_queryStorageAt", query_storage_at, params=(KEYS, AT), fixed_by=FixedBy.STATE),
    Method(
        "state_queryStorage",
        query_storage,
        params=(KEYS, Param("block", HASH), Param("to", HASH, optional=True)),
        access=Access.UNSAFE,
    ),
    Method(
        "state_traceBlock",
        trace_block,
        params=(
            Param("block", HASH),
            Param("targets", TEXT, optional=True),
            Param("storage_keys", TEXT, optional=True),
            Param("methods", TEXT, optional=True),
        ),
        access=Access.UNSAFE,
    ),
    Subscription(
        "state_subscribeStorage",
        subscribe_storage,
        notification="state_storage",
        unsubscribe="state_unsubscribeStorage",
        params=(Param("keys", listed(STORAGE_KEY, MAX_QUERY_KEYS), optional=True),),
        unsafe_if=lambda arguments: arguments[0] is None,
    ),
    Subscription(
        "state_subscribeRuntimeVersion",
        subscribe_runtime_version,
        aliases=("chain_subscribeRuntimeVersion",),
        notification="state_runtimeVersion",
        unsubscribe="state_unsubscribeRuntimeVersion",
        unsubscribe_aliases=("chain_unsubscribeRuntimeVersion",),
    ),
)
