"""Which blocks do we give to those who ask? Protocol `sync/2`, as Substrate's block request handler does it.

Upwards along the best chain, downwards along the ancestors; at most 128 blocks and about 8 MiB of bodies, but
at least one; the list ends at the first block of which something that was asked for is not here.
"""

from __future__ import annotations

from collections.abc import Iterator

import trio

from cfnode.core.header import Header
from cfnode.core.wire.blocks import (
    MOST_BLOCKS,
    MOST_BODY_BYTES,
    Attributes,
    BlockData,
    BlockRequest,
    BlockResponse,
)
from cfnode.network.model import Network
from cfnode.node.chain import Chain
from cfnode.node.sync import repute
from cfnode.node.sync.repeats import Repeats

__all__ = ["BlockServer"]


class BlockServer:
    """Answers block requests from a chain."""

    def __init__(self, network: Network, chain: Chain, repeats: Repeats) -> None:
        self._network = network
        self._chain = chain
        self._repeats = repeats

    async def answer(self, peer: str, data: bytes) -> bytes | None:
        """The answer to one request; None refuses. Raises WireError."""
        request = BlockRequest.decode(data)
        if self._repeats.exhausted(peer, request):
            if Attributes.BODY in request.attributes:
                self._network.report(peer, repute.FATAL, "the same block request a third time")
                return None
            self._network.report(peer, repute.REPEATED, "the same headers a third time")
        hashes = self._hashes(request)
        found = await trio.to_thread.run_sync(self._read, hashes, request.attributes)
        if found and request.attributes & (Attributes.HEADER | Attributes.BODY):
            self._repeats.answered(peer, request)
        response = BlockResponse(tuple(found))
        return response.encode(several_justifications=request.several_justifications)

    def _hashes(self, request: BlockRequest) -> list[bytes]:
        """The blocks that are meant, as far as they are known."""
        most = min(request.most or MOST_BLOCKS, MOST_BLOCKS)
        first = request.start if isinstance(request.start, bytes) else self._chain.hash_at(request.start)
        header = self._chain.header(first) if first is not None else None
        if first is None or header is None:
            return []
        if request.descending:
            return list(self._ancestors(first, header, most))
        if self._chain.hash_at(header.number) != first:
            return [first]  # a block of a fork has nothing above it on the best chain
        above = (self._chain.hash_at(header.number + step) for step in range(most))
        return [block for block in above if block is not None]

    def _ancestors(self, block: bytes, header: Header, most: int) -> Iterator[bytes]:
        for _ in range(most):
            yield block
            above = self._chain.header(header.parent_hash)
            if above is None:
                return
            block, header = header.parent_hash, above

    def _read(self, hashes: list[bytes], attributes: Attributes) -> list[BlockData]:
        found: list[BlockData] = []
        size = 0
        for block_hash in hashes:
            data = self._block(block_hash, attributes)
            if data is None:
                break
            size += sum(map(len, data.body))
            if found and size > MOST_BODY_BYTES:
                break
            found.append(data)
        return found

    def _block(self, block: bytes, attributes: Attributes) -> BlockData | None:
        chain = self._chain
        header = chain.header(block) if Attributes.HEADER in attributes else None
        body = chain.body(block) if Attributes.BODY in attributes else []
        if (header is None and Attributes.HEADER in attributes) or body is None:
            return None
        justified = chain.justifications(block) if Attributes.JUSTIFICATION in attributes else []
        return BlockData(block, header, tuple(body), tuple(justified))
