"""How are blocks fetched from one peer, so that what comes is what was asked for?

A block is what its hash says, its body what the header's extrinsics root says, and a row of blocks hangs
together by parent hashes. Seals, slots and execution are the chain's to check, at import.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import trio

from cfnode.core.header import Header
from cfnode.core.trie import ordered_root
from cfnode.core.wire import WireError
from cfnode.core.wire.blocks import MOST_BLOCKS, SUFFIX, Attributes, BlockData, BlockRequest, BlockResponse
from cfnode.network.model import Network, RequestFailed

__all__ = [
    "FetchedBlock",
    "fetch_above",
    "fetch_header",
    "fetch_justification",
    "fetch_up_to",
    "read_blocks",
]

EXTRINSICS_VERSION = 0
"""Trie version of the extrinsics root, on this chain."""


@dataclass(frozen=True, slots=True)
class FetchedBlock:
    """A block that is consistent in itself."""

    header: Header
    hash: bytes
    body: list[bytes]
    justifications: list[tuple[bytes, bytes]]


async def fetch_up_to(network: Network, peer: str, block: bytes, most: int) -> list[FetchedBlock]:
    """At most so many blocks that end with `block`, oldest first. Raises RequestFailed, WireError."""
    request = BlockRequest(block, Attributes.whole(), min(most, MOST_BLOCKS), descending=True)
    answer = await network.request(peer, SUFFIX, request.encode())
    found = await trio.to_thread.run_sync(read_blocks, answer, request)
    if not found:
        raise RequestFailed(f"it does not have the block 0x{block.hex()}")
    if found[-1].hash != block:
        raise WireError(f"block answer: it ends with 0x{found[-1].hash.hex()}, not with 0x{block.hex()}")
    return found


async def fetch_above(network: Network, peer: str, number: int, most: int) -> list[FetchedBlock]:
    """At most so many blocks of the peer's best chain from `number` on. Raises RequestFailed, WireError."""
    request = BlockRequest(number, Attributes.whole(), min(most, MOST_BLOCKS))
    answer = await network.request(peer, SUFFIX, request.encode())
    found = await trio.to_thread.run_sync(read_blocks, answer, request)
    if found and found[0].header.number != number:
        raise WireError(f"block answer: it begins with #{found[0].header.number}, not with #{number}")
    return found


async def fetch_header(network: Network, peer: str, block: bytes | int) -> Header | None:
    """The header of that hash, or at that number of the peer's best chain; None where it does not have it.

    Raises RequestFailed, WireError.
    """
    request = BlockRequest(block, Attributes.HEADER, 1)
    answer = BlockResponse.decode(await network.request(peer, SUFFIX, request.encode()), 1)
    header = answer.blocks[0].header if answer.blocks else None
    if header is not None and block not in (header.hash, header.number):
        raise WireError(f"block answer: #{header.number} 0x{header.hash.hex()} was not asked for")
    return header


async def fetch_justification(network: Network, peer: str, block: bytes) -> list[tuple[bytes, bytes]]:
    """The justifications of one block, unverified. Raises RequestFailed, WireError."""
    request = BlockRequest(block, Attributes.JUSTIFICATION, 1)
    answer = BlockResponse.decode(await network.request(peer, SUFFIX, request.encode()), 1)
    return [pair for found in answer.blocks if found.hash == block for pair in found.justifications]


def read_blocks(answer: bytes, request: BlockRequest) -> list[FetchedBlock]:
    """The blocks of an answer, oldest first, each consistent in itself. Raises WireError."""
    blocks = [_consistent(data) for data in BlockResponse.decode(answer, request.most).blocks]
    if request.descending:
        blocks.reverse()
    for below, above in pairwise(blocks):
        if above.header.parent_hash != below.hash or above.header.number != below.header.number + 1:
            raise WireError(f"block answer: #{above.header.number} does not follow the block before it")
    return blocks


def _consistent(data: BlockData) -> FetchedBlock:
    header, body = data.header, list(data.body)
    if header is None:
        raise WireError(f"block answer: block 0x{data.hash.hex()} has no header")
    if header.hash != data.hash:
        raise WireError(f"block answer: the header of #{header.number} does not have its hash")
    if ordered_root(body, EXTRINSICS_VERSION) != header.extrinsics_root:
        raise WireError(f"block answer: the body of #{header.number} does not have its extrinsics root")
    return FetchedBlock(header, data.hash, body, list(data.justifications))
