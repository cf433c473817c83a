"""Answers to block requests, protocol `sync/2`, by the rules of Substrate's block request handler.

A request goes upwards along the best chain, or downwards along the ancestors; an answer has at most 128
blocks and about 8 MiB of bodies, but at least one block, and ends at the first block that lacks a requested
part. Justifications are those that every node keeps: peers penalize others as unnecessary, and learn of
finality by gossip.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cfnode.core.wire.blocks import (
    MAX_BLOCKS_PER_ANSWER,
    MAX_BODIES_BYTES,
    Attributes,
    BlockData,
    BlockRequest,
    BlockResponse,
)
from cfnode.network.interface import PeerNetwork
from cfnode.node.asking import reputation
from cfnode.node.chain.view import ChainView
from cfnode.node.sync.serving.repeats import Repeats
from cfnode.node.sync.serving.serve_limits import RequestQueue

__all__ = ["BlockServer"]


class BlockServer:
    """The server of block requests from a chain."""

    def __init__(self, network: PeerNetwork, chain: ChainView, repeats: Repeats, queue: RequestQueue) -> None:
        self._network = network
        self._chain = chain
        self._repeats = repeats
        self._queue = queue

    async def answer(self, peer: str, data: bytes) -> bytes | None:
        """Return the answer to one request; None refuses. Raise WireError."""
        request = BlockRequest.decode(data)
        if self._repeats.exhausted(peer, data):
            if Attributes.BODY in request.attributes:
                self._network.report(peer, reputation.FATAL, "the same block request a third time")
                return None
            self._network.report(peer, reputation.REPEATED, "the same headers a third time")
        with self._repeats.answering(peer, data) as answering:
            async with self._queue.turn(peer):
                first = self._first(request)
                above = self._above(request, first)
                job = partial(self._answer, request, first, above)
                count, answer = await self._queue.threads.run(job)
            answering.useful = bool(count and request.attributes & (Attributes.HEADER | Attributes.BODY))
        return answer

    def _first(self, request: BlockRequest) -> bytes | None:
        return request.start if isinstance(request.start, bytes) else self._chain.hash_at(request.start)

    def _above(self, request: BlockRequest, first: bytes | None) -> list[bytes]:
        """Return the hashes of an upward request, read at once since the best chain may change later."""
        header = self._chain.header(first) if first is not None else None
        if request.descending or first is None or header is None:
            return []
        if self._chain.hash_at(header.number) != first:
            return [first]  # a block of a fork has nothing above it on the best chain
        hashes = (self._chain.hash_at(header.number + step) for step in range(_max_blocks(request)))
        return [block for block in hashes if block is not None]

    def _answer(self, request: BlockRequest, first: bytes | None, above: list[bytes]) -> tuple[int, bytes]:
        """Return the number of blocks, and the encoded answer. Reads much: call it in a thread."""
        hashes = list(self._below(first, _max_blocks(request))) if request.descending else above
        blocks = self._read(hashes, request.attributes)
        encoded = BlockResponse(tuple(blocks)).encode(multiple_justifications=request.multiple_justifications)
        return len(blocks), encoded

    def _below(self, block: bytes | None, limit: int) -> Iterator[bytes]:
        """Yield a block and its ancestors, downwards, as far as they are known."""
        for _ in range(limit):
            header = None if block is None else self._chain.header(block)
            if block is None or header is None:
                return
            yield block
            block = header.parent_hash

    def _read(self, hashes: list[bytes], attributes: Attributes) -> list[BlockData]:
        blocks: list[BlockData] = []
        size = 0
        for block_hash in hashes:
            data = self._block(block_hash, attributes)
            if data is None:
                break
            size += sum(map(len, data.body))
            if blocks and size > MAX_BODIES_BYTES:
                break
            blocks.append(data)
        return blocks

    def _block(self, block: bytes, attributes: Attributes) -> BlockData | None:
        chain = self._chain
        header = chain.header(block) if Attributes.HEADER in attributes else None
        body = chain.body(block) if Attributes.BODY in attributes else []
        if (header is None and Attributes.HEADER in attributes) or body is None:
            return None
        justified = chain.public_justifications(block) if Attributes.JUSTIFICATION in attributes else []
        return BlockData(block, header, tuple(body), tuple(justified))


def _max_blocks(request: BlockRequest) -> int:
    return min(request.max_blocks or MAX_BLOCKS_PER_ANSWER, MAX_BLOCKS_PER_ANSWER)
