"""How are keys and values read out of a state within bounds? The walks behind state_* and childstate_*.

Every walk is bounded by what its answer may weigh, since a prefix of one byte can hold a whole chain's
state. A walk opens its own view of the state, so that it can run in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from cfnode.core.jsonrpc import ErrorCode, RpcError
from cfnode.core.state import TOP, State
from cfnode.core.trie import TrieError, prove_keys
from cfnode.rpc.fairness import FairLimiter

if TYPE_CHECKING:
    from cfnode.node.node import Node

T = TypeVar("T")
Later = Coroutine[Any, Any, T]

MAX_PAGE: Final = 1000
MAX_WEIGHT: Final = 7 * 1024 * 1024
"""Bytes of keys and values in one answer; hex doubles them."""
SLICE: Final = 256
"""Keys that are read in one turn."""
MAX_ADDED: Final = 250_000
"""Keys whose values are added up for one state_getStorageSize."""

CLIENT_READS: Final = FairLimiter(1)
"""Walks of all clients at a time, besides short ones. More are no faster, since one holds the interpreter;
but the loop waits for each, and the threads that the node writes blocks with have to stay free. """
SHORT_READS: Final = FairLimiter(1)
"""The same for walks that end after a page, so that they never wait for one over a whole state."""
REMOTE_READS: Final = FairLimiter(8)
"""Reads of all clients from a state that peers prove, each of which keeps some of them busy."""


async def in_state(
    node: Node,
    block_hash: bytes,
    walk: Callable[[State], T],
    keys: Sequence[bytes] = (),
    child: bytes = TOP,
    *,
    is_short: bool = False,
) -> T:
    """`walk` of a state, off the loop; `keys`: what it reads. Raises UnknownBlock or StateDiscarded."""
    states = node.chain.states
    if states.remote_for(block_hash) is not None:  # it waits for peers, and needs no thread meanwhile
        async with REMOTE_READS:
            return await states.read(block_hash, walk, keys, child)
    async with SHORT_READS if is_short else CLIENT_READS:
        return await states.read(block_hash, walk, keys, child)


async def values_in(node: Node, block_hash: bytes, keys: Sequence[bytes]) -> list[bytes | None]:
    """The values under keys, read a slice at a time, between which others have their turn. Raises as
    `in_state`, and RpcError if they are too much for an answer."""
    values: list[bytes | None] = []
    if node.chain.states.remote_for(block_hash) is not None:  # one proof for all of them
        return await in_state(node, block_hash, lambda state: values_of(state, keys), keys)
    for start in range(0, len(keys), SLICE):
        some = keys[start : start + SLICE]
        values += await in_state(node, block_hash, partial(values_of, keys=some), is_short=True)
        within(None, sum(len(value or b"") for value in values))
    return values


def read_key(node: Node, block_hash: bytes, key: bytes, show: Callable[[bytes | None], T]) -> T | Later[T]:
    """One value, shown; at once where the state is here, else as soon as peers have proven it."""
    if node.chain.states.remote_for(block_hash) is not None:
        return in_state(node, block_hash, lambda state: show(state.get(key)), [key])
    with node.chain.state(block_hash) as state:
        return show(state.get(key))


def proof_of(state: State, keys: Sequence[bytes], child: bytes = TOP) -> list[bytes]:
    """The nodes that prove the values, or the absence, of keys, each once and in the order of their bytes, as
    Substrate's proofs have them. Raises RpcError if they are too many.
    """
    try:
        return sorted(set(prove_keys(state, keys, child, max_bytes=MAX_WEIGHT)))
    except TrieError:
        raise _too_big(f"more than {MAX_WEIGHT} bytes of nodes; ask for fewer keys") from None


def keys_after(state: State, prefix: bytes, start: bytes | None, child: bytes = TOP) -> Iterator[bytes]:
    """The keys with a prefix in order; those after `start` if one is given, else all."""
    if start is None or start < prefix:
        if state.get(prefix, child) is not None:
            yield prefix
        start = prefix
    key = state.next_key(start, child)
    while key is not None and key.startswith(prefix):
        yield key
        key = state.next_key(key, child)


def page(state: State, prefix: bytes, count: int, start: bytes | None, child: bytes = TOP) -> list[bytes]:
    """The first `count` keys after `start`."""
    found = keys_after(state, prefix, start, child)
    return [key for _, key in zip(range(count), found, strict=False)]


def all_keys(state: State, prefix: bytes, child: bytes = TOP) -> list[bytes]:
    """Every key with the prefix. Raises RpcError if they are too many for an answer."""
    keys, weight = [], 0
    for key in keys_after(state, prefix, None, child):
        weight += len(key)
        keys.append(within(key, weight))
    return keys


def all_pairs(state: State, prefix: bytes, child: bytes = TOP) -> list[tuple[bytes, bytes]]:
    """Every key with the prefix, and its value. Raises RpcError if they are too many for an answer."""
    pairs, weight = [], 0
    for key in keys_after(state, prefix, None, child):
        value = state.get(key, child) or b""
        weight += len(key) + len(value)
        pairs.append(within((key, value), weight))
    return pairs


def values_of(state: State, keys: Sequence[bytes], child: bytes = TOP) -> list[bytes | None]:
    """The values under keys. Raises RpcError if they are too much for an answer."""
    values, weight = [], 0
    for key in keys:
        value = state.get(key, child)
        weight += len(value or b"")
        values.append(within(value, weight))
    return values


def size_below(state: State, key: bytes) -> int | None:
    """The size of the value at a key, else of all values whose keys begin with it; None if there are none.
    Raises RpcError if they are too many.
    """
    value = state.get(key)
    if value is not None:
        return len(value)
    total = 0
    for number, below in enumerate(keys_after(state, key, None)):
        if number >= MAX_ADDED:
            raise _too_big(f"more than {MAX_ADDED} keys begin so; use state_getKeysPaged")
        total += len(state.get(below) or b"")
    return total or None


def within(entry: T, weight: int) -> T:
    """The next entry of an answer of so many bytes. Raises RpcError if that is too much."""
    if weight > MAX_WEIGHT:
        raise _too_big(f"more than {MAX_WEIGHT} bytes; ask for fewer keys, or use state_getKeysPaged")
    return entry


def _too_big(reason: str) -> RpcError:
    return RpcError(ErrorCode.RESPONSE_TOO_BIG, "Response is too big", reason)
