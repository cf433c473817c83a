"""The `chain_*` methods: blocks and headers, and the streams of new ones (Substrate, `sc-rpc-api`, chain)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from cfnode.core.jsonrpc import RpcError
from cfnode.node.chain.events import BestChanged, BlocksFinalized, Imported
from cfnode.rpc.table.blocks import HASH_PARAM, Kind, at_or_best, blocks_of, header_json, header_text
from cfnode.rpc.table.convert import U32_MAX, no_variant, read_number_or_hex, to_hex
from cfnode.rpc.table.rows import FixedBy, Method, Param, Reader, Subscription
from cfnode.rpc.table.serde import Misread

if TYPE_CHECKING:
    from cfnode.node.node import Node

CHAIN_ERROR: Final = 3001
MAX_NUMBERS: Final = 1024
"""Block numbers in one chain_getBlockHash."""

Numbers = int | list[int]


class _FromText(int):
    """A number that was given as text; an error names it `Hex(…)`, as Rust's enum of both forms."""


def _read_number(value: Any) -> int:
    number = read_number_or_hex(value)
    return _FromText(number) if isinstance(value, str) else number


def _read_numbers(value: Any) -> Numbers:
    if isinstance(value, list) and len(value) > MAX_NUMBERS:
        raise ValueError(f"expected at most {MAX_NUMBERS} block numbers, got {len(value)}")
    try:
        if isinstance(value, list):
            return [_read_number(entry) for entry in value]
        return _read_number(value)
    except Misread:
        raise no_variant("ListOrValue") from None


NUMBERS: Final = Reader("number, hex or [number]", _read_numbers)


def block_hash(node: Node, numbers: Numbers | None) -> str | list[str | None] | None:
    """Return the hash of the best chain's block at a number or at each of several; by default the best."""
    if numbers is None:
        return to_hex(node.chain.best.hash)
    if isinstance(numbers, list):
        return [_hash_at(node, number) for number in numbers]
    return _hash_at(node, numbers)


def _hash_at(node: Node, number: int) -> str | None:
    if number > U32_MAX:
        form = "Hex" if isinstance(number, _FromText) else "Number"
        raise RpcError(CHAIN_ERROR, f"`{form}({int(number)})` > u32::MAX, the max block number is u32.")
    block_hash = node.chain.hash_at(number)
    return None if block_hash is None else to_hex(block_hash)


def header(node: Node, at: bytes | None) -> Any:
    """Return a block's header, null for an unknown block."""
    return header_text(node, at_or_best(node, at))


def block(node: Node, at: bytes | None) -> dict[str, Any] | None:
    """Return header, extrinsics and justifications of a block; null if it is unknown or its body is pruned.

    It has justifications if it is the first that became final in a period of 512 blocks, or changes the
    authorities.
    """
    block_hash = at_or_best(node, at)
    header, body = node.chain.header(block_hash), node.chain.body(block_hash)
    if header is None or body is None:
        return None
    justifications = [
        [list(engine), list(data)] for engine, data in node.chain.public_justifications(block_hash)
    ]
    return {
        "block": {"header": header_json(header), "extrinsics": [to_hex(extrinsic) for extrinsic in body]},
        "justifications": justifications or None,
    }


def finalized_head(node: Node) -> str:
    """Return the hash of the last finalized block."""
    return to_hex(node.chain.finalized.hash)


async def _headers(node: Node, kind: Kind) -> AsyncGenerator[Any, None]:
    async with aclosing(blocks_of(node, kind)) as blocks:
        async for ref in blocks:
            yield header_text(node, ref.hash)


async def new_heads(node: Node) -> AsyncGenerator[Any, None]:
    """Send the header of each new best block, starting with the current one."""
    return _headers(node, BestChanged)


async def finalized_heads(node: Node) -> AsyncGenerator[Any, None]:
    """Send the header of each finalized block in order, starting with the last one."""
    return _headers(node, BlocksFinalized)


async def all_heads(node: Node) -> AsyncGenerator[Any, None]:
    """Send the header of each imported block, on forks too, starting with the best block."""
    return _headers(node, Imported)


METHODS: Final = (
    Method(
        "chain_getBlockHash",
        block_hash,
        aliases=("chain_getHead",),
        params=(Param("number", NUMBERS, optional=True, also=("hash",)),),
    ),
    Method("chain_getHeader", header, params=(HASH_PARAM,), fixed_by=FixedBy.HEADER),
    Method("chain_getBlock", block, params=(HASH_PARAM,)),
    Method("chain_getFinalizedHead", finalized_head, aliases=("chain_getFinalisedHead",)),
    Subscription(
        "chain_subscribeNewHeads",
        new_heads,
        aliases=("chain_subscribeNewHead", "subscribe_newHead"),
        notification="chain_newHead",
        unsubscribe="chain_unsubscribeNewHeads",
        unsubscribe_aliases=("chain_unsubscribeNewHead", "unsubscribe_newHead"),
    ),
    Subscription(
        "chain_subscribeFinalizedHeads",
        finalized_heads,
        aliases=("chain_subscribeFinalisedHeads",),
        notification="chain_finalizedHead",
        unsubscribe="chain_unsubscribeFinalizedHeads",
        unsubscribe_aliases=("chain_unsubscribeFinalisedHeads",),
    ),
    Subscription(
        "chain_subscribeAllHeads",
        all_heads,
        notification="chain_allHead",
        unsubscribe="chain_unsubscribeAllHeads",
    ),
)
