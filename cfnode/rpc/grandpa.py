"""The `grandpa_*` methods: proofs of finality (Substrate, `sc-consensus-grandpa-rpc`)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, Final

import trio

from cfnode.core.engines import GRANDPA
from cfnode.core.jsonrpc import RpcError
from cfnode.core.scale import encode_compact
from cfnode.node.events import Finalized
from cfnode.rpc.convert import U32, to_hex
from cfnode.rpc.table import Method, Param, SlowReader, Subscription

if TYPE_CHECKING:
    from cfnode.node.node import Node

NOT_READY: Final = 1
NOT_FINAL: Final = 3
MAX_HEADERS: Final = 4096
"""Headers between a block and the justification that covers it; one of 512 blocks keeps its own."""


def round_state(node: Node) -> None:
    """Refused: this node watches the votes of others and takes part in no round."""
    raise RpcError(NOT_READY, "GRANDPA RPC endpoint not ready")


async def prove_finality(node: Node, number: int) -> str | None:
    """A justification at or above a final block and the headers between: SCALE; null if none was kept."""
    chain = node.chain
    if number > chain.finalized.number:
        raise RpcError(NOT_FINAL, "Prove finality rpc failed: Block not yet finalized")
    headers: list[bytes] = []
    for height in range(number, min(chain.finalized.number, number + MAX_HEADERS) + 1):
        block_hash = chain.hash_at(height)
        header = chain.header(block_hash) if block_hash else None
        if block_hash is None or header is None:
            return None
        if height > number:
            headers.append(header.encode())
        for engine, justification in chain.justifications(block_hash):
            if engine == GRANDPA:
                return to_hex(_finality_proof(block_hash, justification, headers))
        await trio.lowlevel.checkpoint()
    return None


def _finality_proof(block_hash: bytes, justification: bytes, headers: list[bytes]) -> bytes:
    """Substrate's `FinalityProof`."""
    counted = encode_compact(len(headers)) + b"".join(headers)
    return block_hash + encode_compact(len(justification)) + justification + counted


async def subscribe_justifications(node: Node) -> AsyncGenerator[Any, None]:
    """Each new justification, SCALE."""
    return _justifications(node)


async def _justifications(node: Node) -> AsyncGenerator[Any, None]:
    with node.chain.subscribe(only=Finalized) as events:
        async for event in events:
            if isinstance(event, Finalized) and event.justification is not None:
                yield to_hex(event.justification)
        raise SlowReader


METHODS: Final = (
    Method("grandpa_roundState", round_state),
    Method("grandpa_proveFinality", prove_finality, params=(Param("block", U32),)),
    Subscription(
        "grandpa_subscribeJustifications",
        subscribe_justifications,
        notification="grandpa_justifications",
        unsubscribe="grandpa_unsubscribeJustifications",
    ),
)
