"""Verification of justifications, and the headers that a justification has to contain."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

from cfnode.core.block import BlockRef
from cfnode.core.grandpa import (
    AuthoritySet,
    CommitMessage,
    EncodedJustification,
    FinalityError,
    forced_change,
    scheduled_change,
    verify_justification,
)
from cfnode.core.grandpa.plausible import MAX_SPREAD
from cfnode.core.header import Header
from cfnode.core.scale import ScaleError
from cfnode.node.chain.errors import BadJustification

__all__ = ["Tree", "UnknownVote", "blocks_between", "verified", "verify_path"]


class Tree(Protocol):
    """The part of the chain that votes refer to: the finalized block and those above it."""

    @property
    def finalized(self) -> BlockRef:
        """The last final block."""

    def descends_from_finalized(self, block_hash: bytes) -> bool:
        """Return whether a block is a known descendant of the last final one."""

    def block_ref(self, block_hash: bytes) -> BlockRef | None:
        """Return number and hash of a known block, or None."""

    def parent(self, block_hash: bytes) -> bytes | None:
        """Return the parent's hash of an unfinalized block, or None."""


class UnknownVote(Exception):
    """A vote for a block that is not imported yet."""

    def __init__(self, block: bytes) -> None:
        super().__init__(f"block 0x{block.hex()} is unknown")
        self.block = block


def verified(
    justification: bytes | EncodedJustification, voters: AuthoritySet, block: BlockRef
) -> EncodedJustification:
    """Return the justification after verifying that it makes the block final.

    Raise BadJustification. Call it in a thread.
    """
    try:
        proof = justification
        if isinstance(proof, bytes):
            proof = EncodedJustification.decode(proof)
        verify_justification(proof.value, voters, (block.hash, block.number))
    except (ScaleError, FinalityError) as error:
        raise BadJustification(f"block #{block.number}: {error}") from error
    return proof


def verify_path(path: Sequence[Header], justification: bytes, voters: AuthoritySet) -> None:
    """Check that consecutive headers lead to a block that the justification makes final.

    No header before the last may replace the voters. Raise BadJustification. Call it in a thread.
    """
    target = path[-1]
    try:
        for parent, child in pairwise(path):
            if child.parent_hash != parent.hash:
                raise BadJustification(f"block #{child.number} does not follow the block before it")
            if scheduled_change(parent) is not None or forced_change(parent) is not None:
                raise BadJustification(f"block #{parent.number} changes the authorities")
    except ScaleError as error:
        raise BadJustification(f"blocks up to #{target.number}: {error}") from error
    verified(justification, voters, BlockRef(target.hash, target.number))


def blocks_between(message: CommitMessage, chain: Tree) -> list[bytes]:
    """Return the blocks above the lowest voted block up to each other voted one.

    A justification lists their headers. The function reads the tree only, and visits each block once. Raise
    UnknownVote, and FinalityError for votes on different forks. The commit must be plausible, which bounds
    the walk.
    """
    votes = {vote.target_hash: vote.target_number for vote in message.commit.precommits}
    for block, number in {message.commit.target_hash: message.commit.target_number, **votes}.items():
        _require_known(chain, block, number)
    base = min(votes, key=lambda block: votes[block])
    hashes: dict[bytes, None] = {}
    for block in votes:
        while block != base and block not in hashes:
            parent = chain.parent(block)
            if parent is None or len(hashes) > MAX_SPREAD:
                raise FinalityError(f"votes for #{message.commit.target_number} on different forks")
            hashes[block] = None
            block = parent
    return list(hashes)


def _require_known(chain: Tree, block: bytes, number: int) -> None:
    ref = chain.block_ref(block)
    if ref is not None and ref.number != number:
        raise FinalityError(f"a vote for 0x{block.hex()} as #{number}, which is not its number")
    if chain.descends_from_finalized(block):
        return
    if ref is None or number > chain.finalized.number:  # a block is in the store before it is in the tree
        raise UnknownVote(block)
    raise FinalityError(f"a vote for #{number} on a fork that conflicts with finality")
