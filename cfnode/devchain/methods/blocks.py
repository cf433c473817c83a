"""`dev_*` methods that make and finalize blocks, read their events and move the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cfnode.core.jsonrpc import RpcError
from cfnode.devchain.methods.common import control_of, unsafe_methods
from cfnode.devchain.methods.values import DEV_REFUSAL_CODE
from cfnode.node.signing.outcome import read_events
from cfnode.rpc.table.convert import (
    BOOL,
    BYTES,
    HASH,
    U32,
    U64,
    excerpt,
    listed,
    to_hex,
)
from cfnode.rpc.table.rows import Param, Reader
from cfnode.rpc.table.serde_types import SerdeStruct

if TYPE_CHECKING:
    from cfnode.node.node import Node

MAX_BLOCK_TRANSACTIONS: Final = 4096
MAX_SILENCED_AUTHORITIES: Final = 10_000
MAX_EXACT: Final = 2**53
"""The largest integer that is exact in every JSON parser."""

TRANSACTIONS: Final = listed(BYTES, MAX_BLOCK_TRANSACTIONS)
_NEW_BLOCK: Final = SerdeStruct(
    "an object",
    {
        "parent": (HASH.read, True),
        "transactions": (TRANSACTIONS.read, True),
        "finalize": (BOOL.read, True),
    },
)


def _read_parent(value: Any) -> bytes | dict[str, Any]:
    """Read a block's hash, or all options of `dev_newBlock` in one object. Raises ValueError."""
    if not isinstance(value, dict):
        block: bytes = HASH.read(value)
        return block
    if unknown_members := sorted(set(value) - set(_NEW_BLOCK.members)):
        raise ValueError(
            f"unknown member {excerpt(unknown_members[0])}; there are {', '.join(_NEW_BLOCK.members)}"
        )
    return _NEW_BLOCK(value)


async def new_block(
    node: Node, place: bytes | dict[str, Any] | None, transactions: list[bytes] | None, final: bool | None
) -> str:
    """Make a block now; returns its hash.

    On `parent` (any block that is not behind the final one; default: the best), with exactly `transactions`
    (default: those of the pool), finalized at once with `finalize`; by name, by position, or as one object.
    If the runtime rejects a transaction, the error names it; the block is made nevertheless.
    """
    if isinstance(place, dict):
        parent, transactions, final = (place[name] for name in _NEW_BLOCK.members)
    else:
        parent = place
    built = await control_of(node).new_block(parent, transactions, bool(final))
    if built.refused and transactions is not None:
        reasons = {to_hex(tx_hash): reason for tx_hash, reason in built.refused}
        text = f"block {to_hex(built.block.hash)} was made without {len(reasons)} of its transactions"
        raise RpcError(DEV_REFUSAL_CODE, text, reasons)
    return to_hex(built.block.hash)


async def finalize(node: Node, block_hash: bytes | None) -> str:
    """Finalize a block (default: the best) and its ancestors; returns its hash."""
    return to_hex(await control_of(node).finalize(block_hash))


async def hold_finality(node: Node, hold: bool | None) -> None:
    """Hold automatic finality; with false, resume it and catch up."""
    await control_of(node).hold_finality(hold is not False)


def silence(node: Node, authorities: list[int]) -> None:
    """Silence exactly these authorities (indices): they sign no votes from now on."""
    control_of(node).silence(authorities)


async def events(node: Node, block_hash: bytes | None) -> list[dict[str, Any]]:
    """List all events of a block (default: the best), in their order: `pallet`, `name`, `fields`.

    Bytes, and integers beyond 2^53, are hex; an enum's variant with fields is `[name, fields]`.
    """
    block_events = await read_events(node.chain, block_hash or node.chain.best.hash)
    return [
        {"pallet": event.pallet, "name": event.name, "fields": _plain(event.fields)} for event in block_events
    ]


def _plain(value: Any) -> Any:
    """Convert a decoded SCALE value to JSON."""
    if isinstance(value, bytes):
        return to_hex(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAX_EXACT:
        return hex(value)
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def time_travel(node: Node, milliseconds: int) -> int:
    """Move the chain's clock forward; returns the time of the next block, Unix milliseconds."""
    return control_of(node).jump(milliseconds)


PARENT: Final = Reader("a hash, or {parent?, transactions?, finalize?}", _read_parent)
NEW_BLOCK: Final = (
    Param("parent", PARENT, optional=True),
    Param("transactions", TRANSACTIONS, optional=True),
    Param("finalize", BOOL, optional=True),
)

METHODS: Final = unsafe_methods(
    ("dev_newBlock", new_block, NEW_BLOCK),
    ("dev_finalize", finalize, (Param("hash", HASH, optional=True),)),
    ("dev_holdFinality", hold_finality, (Param("hold", BOOL, optional=True),)),
    ("dev_silence", silence, (Param("authorities", listed(U32, MAX_SILENCED_AUTHORITIES)),)),
    ("dev_events", events, (Param("at", HASH, optional=True),)),
    ("dev_timeTravel", time_travel, (Param("milliseconds", U64),)),
)
