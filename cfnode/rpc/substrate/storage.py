"""Reads of keys and values of a state within limits: the walks behind state_* and childstate_*.

Every walk is limited by the size of its answer, since a prefix of one byte can cover a whole chain's state. A
walk opens its own view of the state, so that it can run in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

from cfnode.core.jsonrpc import ErrorCode, RpcError
from cfnode.core.state import TOP, BlockState
from cfnode.core.trie import TrieError, prove_keys
from cfnode.flow.fairness import FairLimiter
from cfnode.rpc.table.per_node import PerNode

if TYPE_CHECKING:
    from cfnode.node.node import Node

T = TypeVar("T")
Later = Coroutine[Any, Any, T]

MAX_PAGE: Final = 1000
MAX_STORAGE_ANSWER_BYTES: Final = 7 * 1024 * 1024
"""Bytes of keys and values in one answer; hex doubles them."""
SLICE_KEYS: Final = 256
"""Keys that one slice of a read covers."""
MAX_ADDED: Final = 250_000
"""Keys whose sizes one state_getStorageSize may add up."""

CLIENT_READS: Final = PerNode(lambda: FairLimiter(1))
"""Concurrent walks of all clients of a node, besides short ones.

More are no faster, since one walk holds the interpreter; the event loop waits for each, and the threads in
which the node writes blocks have to stay free.
"""
SHORT_READS: Final = PerNode(lambda: FairLimiter(1))
"""Concurrent walks that end after a page, so that they never wait for a walk over a whole state."""
REMOTE_READS: Final = PerNode(lambda: FairLimiter(8))
"""Concurrent reads of all clients of a node from states that peers prove; each read occupies some peers."""


async def in_state(
    node: Node,
    block_hash: bytes,
    walk: Callable[[BlockState], T],
    keys: Sequence[bytes] = (),
    child: bytes = TOP,
    *,
    is_short: bool = False,
) -> T:
    """Run `walk` on a state in a thread.

    `keys`: the keys that it reads. Raises UnknownBlock or StateDiscarded.
    """
    states = node.chain.states
    if states.remote_for(block_hash) is not None:  # it waits for peers, and needs no thread
        async with REMOTE_READS.of(node):
            return await states.read(block_hash, walk, keys, child)
    async with (SHORT_READS if is_short else CLIENT_READS).of(node):
        return await states.read(block_hash, walk, keys, child)


async def values_in(node: Node, block_hash: bytes, keys: Sequence[bytes]) -> list[bytes | None]:
    """Return the values under keys, read slice by slice so that others get their turn.

    Raises UnknownBlock or StateDiscarded, and RpcError if the values are too large for an answer.
    """
    values: list[bytes | None] = []
    if node.chain.states.remote_for(block_hash) is not None:  # one proof for all of them
        return await in_state(node, block_hash, lambda state: values_of(state, keys), keys)
    for start in range(0, len(keys), SLICE_KEYS):
        slice_keys = keys[start : start + SLICE_KEYS]
        values += await in_state(node, block_hash, partial(values_of, keys=slice_keys), is_short=True)
        within(None, sum(len(value or b"") for value in values))
    return values


def read_key(node: Node, block_hash: bytes, key: bytes, encode: Callable[[bytes | None], T]) -> T | Later[T]:
    """Return one value, encoded.

    A coroutine if the state is not stored here and peers have to prove it.
    """
    if node.chain.states.remote_for(block_hash) is not None:
        return in_state(node, block_hash, lambda state: encode(state.get(key)), [key])
    with node.chain.state(block_hash) as state:
        return encode(state.get(key))


def proof_of(state: BlockState, keys: Sequence[bytes], child: bytes = TOP) -> list[bytes]:
    """Return the trie nodes that prove the values of keys or their absence.

    Each node is there once, in the order of their bytes, as in Substrate's proofs. Raises RpcError if they
    are too large.
    """
    try:
        return sorted(set(prove_keys(state, keys, child, max_bytes=MAX_STORAGE_ANSWER_BYTES)))
    except TrieError:
        raise _too_big(f"more than {MAX_STORAGE_ANSWER_BYTES} bytes of nodes; ask for fewer keys") from None


def keys_after(state: BlockState, prefix: bytes, start: bytes | None, child: bytes = TOP) -> Iterator[bytes]:
    """Yield the keys with a prefix in order, after `start` if it is given."""
    if start is None or start < prefix:
        if state.get(prefix, child) is not None:
            yield prefix
        start = prefix
    key = state.next_key(start, child)
    while key is not None and key.startswith(prefix):
        yield key
        key = state.next_key(key, child)


def page(
    state: BlockState, prefix: bytes, count: int, start: bytes | None, child: bytes = TOP
) -> list[bytes]:
    """Return the first `count` keys after `start`. Raises RpcError if they are too large for an answer."""
    return _weighed(islice(keys_after(state, prefix, start, child), count))


def all_keys(state: BlockState, prefix: bytes, child: bytes = TOP) -> list[bytes]:
    """Return every key with the prefix. Raises RpcError if they are too large for an answer."""
    return _weighed(keys_after(state, prefix, None, child))


def _weighed(walked_keys: Iterable[bytes]) -> list[bytes]:
    keys, weight = [], 0
    for key in walked_keys:
        weight += len(key)
        keys.append(within(key, weight))
    return keys


def all_pairs(state: BlockState, prefix: bytes, child: bytes = TOP) -> list[tuple[bytes, bytes]]:
    """Return every key with the prefix, and its value.

    Raises RpcError if they are too large for an answer.
    """
    pairs, weight = [], 0
    for key in keys_after(state, prefix, None, child):
        value = state.get(key, child) or b""
        weight += len(key) + len(value)
        pairs.append(within((key, value), weight))
    return pairs


def values_of(state: BlockState, keys: Sequence[bytes], child: bytes = TOP) -> list[bytes | None]:
    """Return the values under keys. Raises RpcError if they are too large for an answer."""
    values, weight = [], 0
    for key in keys:
        value = state.get(key, child)
        weight += len(value or b"")
        values.append(within(value, weight))
    return values


def size_below(state: BlockState, key: bytes) -> int | None:
    """Return the size of the value at a key, otherwise of all values whose keys begin with it.

    None if there are none. Raises RpcError if they are too many.
    """
    value = state.get(key)
    if value is not None:
        return len(value)
    total = 0
    for number, child_key in enumerate(keys_after(state, key, None)):
        if number >= MAX_ADDED:
            raise _too_big(f"more than {MAX_ADDED} keys begin so; use state_getKeysPaged")
        total += len(state.get(child_key) or b"")
    return total or None


def within(entry: T, weight: int) -> T:
    """Return `entry`, if an answer of `weight` bytes may still hold it. Raises RpcError otherwise."""
    if weight > MAX_STORAGE_ANSWER_BYTES:
        raise _too_big(
            f"more than {MAX_STORAGE_ANSWER_BYTES} bytes; ask for fewer keys, or use state_getKeysPaged"
        )
    return entry


def _too_big(reason: str) -> RpcError:
    return RpcError(ErrorCode.RESPONSE_TOO_BIG, "Response is too big", reason)
