"""The subscriptions of `cf_*`, `broker_*` and `lp_*`: one message for each new block.

A message has the block (hash, number, time) and the requested members; it is built once for all subscriptions
with the same parameters. The first message is sent at once, for the current best or final block; then one for
each block of the stream. If the runtime refuses the first request, the subscription gets that error; a later
refusal ends the stream silently, as in the official node.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

import msgspec

from cfnode.core.block import BlockRef
from cfnode.core.jsonrpc import RpcError
from cfnode.node.chain.events import BestChanged, BlocksFinalized, Imported
from cfnode.node.chain.local_faults import retry_after_fault
from cfnode.node.chain.runtime_api import ApiRefused
from cfnode.rpc.cf import legacy_shapes
from cfnode.rpc.cf.method import query, value
from cfnode.rpc.cf.order_fills import fills_of
from cfnode.rpc.cf.params import BASE, CHAIN_PARAM, FROM, QUOTE_ASSET_PARAM, TO, one_of
from cfnode.rpc.cf.pools import price_v2, scheduled
from cfnode.rpc.cf.updates import block_update
from cfnode.rpc.table.blocks import JsonCache, Kind, blocks_of
from cfnode.rpc.table.broker_params import OTHER_ERROR
from cfnode.rpc.table.per_node import PerNode
from cfnode.rpc.table.rows import Param, Subscription
from cfnode.store import StateDiscarded, UnknownBlock

if TYPE_CHECKING:
    from cfnode.node.node import Node

UNASKED: Final = b"false"
"""The price, as JSON, in a block that cannot be asked."""

Read = Callable[..., Awaitable[dict[str, Any]]]
"""`await read(node, block, *params)`: the members of a message besides those of the block."""

_MESSAGES: Final = PerNode(lambda: JsonCache[Any](256))


async def _message(
    node: Node, block: BlockRef, name: str, read_message: Read, params: tuple[Any, ...]
) -> Any:
    async def make() -> dict[str, Any]:
        header = node.chain.header(block.hash)
        if header is None:
            raise UnknownBlock(block.hash)
        members = await retry_after_fault(lambda: read_message(node, block.hash, *params))
        return {**block_update(header, block.hash), **members}

    return await _MESSAGES.of(node).wait((block.hash, name, params), make)


async def _stream(
    node: Node, kind: Kind, name: str, read_message: Read, params: tuple[Any, ...]
) -> AsyncGenerator[Any, None]:
    async with aclosing(blocks_of(node, kind)) as blocks:
        async for block in blocks:
            try:
                message = await _message(node, block, name, read_message, params)
            except (UnknownBlock, StateDiscarded):  # its fork has been discarded
                continue
            yield message


async def _begun(stream: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
    """Return the stream, once its first message is built.

    An error of that message is the subscription's error.
    """
    try:
        first = await anext(stream)
    except BaseException:
        await stream.aclose()
        raise

    async def all_of_it() -> AsyncGenerator[Any, None]:
        async with aclosing(stream):
            yield first
            async for message in stream:
                yield message

    return all_of_it()


def subscription(
    name: str,
    doc: str,
    read_message: Read,
    *,
    params: tuple[Param, ...] = (),
    kind: Kind = BestChanged,
    check: Callable[..., Awaitable[None]] | None = None,
) -> Subscription:
    """Return a subscription row.

    `check(node, *params)` raises RpcError to refuse it.
    """

    async def handler(node: Node, *values: Any) -> AsyncGenerator[Any, None]:
        if check is not None:
            await check(node, *values)
        return await _begun(_stream(node, kind, name, read_message, values))

    return _row(name, doc, handler, params)


def _row(name: str, doc: str, handler: Callable[..., Any], params: tuple[Param, ...]) -> Subscription:
    handler.__doc__ = doc
    return Subscription(
        name,
        handler,
        params=params,
        notification=name,
        unsubscribe=name.replace("_subscribe_", "_unsubscribe_", 1),
    )


# Readers of a block


async def _swaps(node: Node, block: bytes, base: str, quote: str) -> dict[str, Any]:
    answer = await query(node, block, "cf_scheduled_swaps", base_asset=base, quote_asset=quote)
    return {"swaps": scheduled(answer, {})}


async def _pool_must_exist(node: Node, base: str, quote: str) -> None:
    pools = await value(node, node.chain.best.hash, "cf_pools")
    if not any((pool["base"], pool["quote"]) == (base, quote) for pool in pools):
        raise RpcError(OTHER_ERROR, "requested pool does not exist")


async def _price_v2(node: Node, block: bytes, base: str, quote: str) -> dict[str, Any]:
    answer = await query(node, block, "cf_pool_price_v2", base_asset=base, quote_asset=quote)
    return price_v2(answer, {"base_asset": base, "quote_asset": quote})


async def _screening(node: Node, block: bytes) -> dict[str, Any]:
    answer: dict[str, Any] = await query(node, block, "cf_transaction_screening_events")
    return answer


async def _ingress(node: Node, block: bytes, chain: str) -> dict[str, Any]:
    answer: dict[str, Any] = await query(node, block, "cf_ingress_events", chain=chain)
    return answer


async def price(node: Node, source: str, target: str) -> AsyncGenerator[Any, None]:
    """Send the price of one asset in another, each time it changes."""
    return _prices(node, source, target)


async def _price(node: Node, block: bytes, source: str, target: str) -> msgspec.Raw:
    """Return the price in a block as JSON.

    Null without a pool, false for a block that cannot be asked. It is requested once for all subscribers.
    """
    pair: dict[str, Any] = {"from": source, "to": target}

    async def ask() -> Any:
        try:
            return legacy_shapes.price(await query(node, block, "cf_pool_price", **pair), pair)
        except (ApiRefused, UnknownBlock, StateDiscarded):
            return False

    return await _MESSAGES.of(node).wait((block, "price", (source, target)), ask)


async def _prices(node: Node, source: str, target: str) -> AsyncGenerator[Any, None]:
    last_sent = UNASKED
    async with aclosing(blocks_of(node, BestChanged)) as blocks:
        async for block in blocks:
            price = bytes(await _price(node, block.hash, source, target))
            header = node.chain.header(block.hash) if price not in (last_sent, UNASKED) else None
            if header is not None:
                last_sent = price
                yield {**block_update(header, block.hash), **(msgspec.json.decode(price) or {})}


_SCREENING: Final = "The outcomes of deposits that brokers marked for rejection, in each final block."
_INGRESS: Final = "The witnessed deposits in each best block."
PAIR: Final = (BASE, QUOTE_ASSET_PARAM)

_KINDS: Final[dict[str, type[BestChanged] | type[BlocksFinalized] | type[Imported]]] = {
    "Finalized": BlocksFinalized,
    "Best": BestChanged,
    "New": Imported,
}
BEHAVIOUR: Final = Param("notification_behaviour", one_of(*_KINDS), optional=True)


async def order_fills(node: Node, behaviour: str | None) -> AsyncGenerator[Any, None]:
    """Send the orders that each block has filled, and how far."""
    return await _begun(_stream(node, _KINDS[behaviour or "Finalized"], "order_fills", fills_of, ()))


CF_STREAMS: Final = (
    _row("cf_subscribe_lp_order_fills", order_fills.__doc__ or "", order_fills, (BEHAVIOUR,)),
    _row(
        "cf_subscribe_pool_price",
        "The price of one asset in another, each time it changes.",
        price,
        (FROM, TO),
    ),
    subscription("cf_subscribe_pool_price_v2", "A pool's prices in each best block.", _price_v2, params=PAIR),
    subscription(
        "cf_subscribe_scheduled_swaps",
        "The scheduled swaps of a pool, in each best block.",
        _swaps,
        params=PAIR,
        check=_pool_must_exist,
    ),
    subscription("cf_subscribe_transaction_screening_events", _SCREENING, _screening, kind=BlocksFinalized),
    subscription("cf_subscribe_ingress_events", _INGRESS, _ingress, params=(CHAIN_PARAM,)),
)
BROKER_STREAMS: Final = (
    subscription(
        "broker_subscribe_transaction_screening_events", _SCREENING, _screening, kind=BlocksFinalized
    ),
    subscription("broker_subscribe_ingress_events", _INGRESS, _ingress, params=(CHAIN_PARAM,)),
)
LP_STREAMS: Final = (_row("lp_subscribe_order_fills", order_fills.__doc__ or "", order_fills, (BEHAVIOUR,)),)
