"""The `grandpa_*` methods: proofs of finality (Substrate, `sc-consensus-grandpa-rpc`)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, Final

import trio

from cfnode.core.block import BlockRef
from cfnode.core.engines import GRANDPA
from cfnode.core.grandpa import PRECOMMIT, PREVOTE, AuthoritySet, Justification, Round, threshold
from cfnode.core.jsonrpc import RpcError
from cfnode.core.scale import encode_compact
from cfnode.node.chain.events import BlocksFinalized
from cfnode.rpc.table.convert import U32, account, to_hex
from cfnode.rpc.table.rows import Method, Param, SlowReader, Subscription

if TYPE_CHECKING:
    from cfnode.node.node import Node

NOT_READY: Final = 1
NOT_PROVEN: Final = 4
MAX_PROOF_HEADERS: Final = 100_000
"""Headers between a block and the one whose justification covers it, as in Substrate.

One epoch has fewer.
"""
HEADERS_AT_ONCE: Final = 256
"""Headers read between two turns of the event loop."""


async def round_state(node: Node) -> dict[str, Any]:
    """Return the round of the authorities' votes, on a node that votes for them; refused on other nodes."""
    if not node.is_authority:
        raise RpcError(NOT_READY, "GRANDPA RPC endpoint not ready")
    voters = await node.chain.voters()
    total = sum(weight for _, weight in voters.authorities)
    rounds, number = node.sync.finality.rounds, _last_round(node) + 1
    now = None
    if rounds.set_id == voters.set_id:
        number = max(number, rounds.current)
        now = rounds.round(number)
    best = {
        "round": number,
        "totalWeight": total,
        "thresholdWeight": threshold(total),
        "prevotes": _votes(voters, now, PREVOTE),
        "precommits": _votes(voters, now, PRECOMMIT),
    }
    return {"setId": voters.set_id, "best": best, "background": []}


def _votes(voters: AuthoritySet, now: Round | None, stage: int) -> dict[str, Any]:
    """Return the weight that has voted in a stage of a round, and the authorities that have not."""
    missing = {key for key, _ in voters.authorities if now is None or not now.voted(key, stage)}
    weight = sum(weight for key, weight in voters.authorities if key not in missing)
    return {"currentWeight": weight, "missing": [account(key) for key in sorted(missing)]}


def _last_round(node: Node) -> int:
    """Return the round of the current set that finalized the last finalized block; 0 before the first."""
    final = node.chain.finalized
    votes = dict(node.chain.justifications(final.hash)).get(GRANDPA)
    if votes is None or node.store.set_changes(final.number - 1, 1):
        return 0
    return Justification.decode(votes).round


async def prove_finality(node: Node, number: int) -> str | None:
    """Return the proof that a block is final, in SCALE; null if no justification was kept.

    It is the justification of the last block of its authority set, or of the newest finalized block while the
    set still votes, and the headers between.
    """
    proven = _proven_by(node, number)
    votes = dict(node.chain.justifications(proven.hash)).get(GRANDPA)
    if votes is None:
        return None
    headers: list[bytes] = []
    for height in range(number + 1, min(proven.number, number + MAX_PROOF_HEADERS) + 1):
        block_hash = node.chain.hash_at(height)
        header = node.chain.header(block_hash) if block_hash else None
        if header is None:
            return None
        headers.append(header.encode())
        if height % HEADERS_AT_ONCE == 0:
            await trio.lowlevel.checkpoint()
    return to_hex(_finality_proof(proven.hash, votes, headers))


def _proven_by(node: Node, number: int) -> BlockRef:
    """Return the block whose justification proves `number`. Raises RpcError.

    Substrate looks the set up among the changes that it has recorded; it finds none before the first change,
    or if its first one is not the chain's first.
    """
    if number > node.chain.finalized.number:
        raise _not_proven("Block not yet finalized")
    change = next(iter(node.store.set_changes(number - 1, 1)), None)
    first_change = next(iter(node.store.set_changes(-1, 1)), None)
    if first_change is None or (change == first_change and node.store.oldest_header > 0):
        raise _not_proven("Block not covered by authority set changes")
    if change is not None:
        return change
    newest = node.store.chain_metadata.newest_justified
    return node.chain.block_ref(newest) or node.chain.finalized


def _not_proven(reason: str) -> RpcError:
    return RpcError(NOT_PROVEN, f"GRANDPA prove finality rpc failed: {reason}")


def _finality_proof(block_hash: bytes, justification: bytes, headers: list[bytes]) -> bytes:
    """Encode Substrate's `FinalityProof`."""
    encoded_headers = encode_compact(len(headers)) + b"".join(headers)
    return block_hash + encode_compact(len(justification)) + justification + encoded_headers


async def subscribe_justifications(node: Node) -> AsyncGenerator[Any, None]:
    """Send each new justification, SCALE."""
    return _justifications(node)


async def _justifications(node: Node) -> AsyncGenerator[Any, None]:
    with node.chain.subscribe(only=BlocksFinalized) as events:
        async for event in events:
            if isinstance(event, BlocksFinalized) and event.justification is not None:
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
