"""Requests for blocks and headers, and the checks of the answers.

A header must have its hash, a body the extrinsics root of its header, and consecutive blocks are connected by
parent hashes. The chain checks seals, slots and execution at import.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from cfnode.core.header import Header
from cfnode.core.trie import ordered_root
from cfnode.core.wire import WireError
from cfnode.core.wire.blocks import (
    MAX_BLOCKS_PER_ANSWER,
    SUFFIX,
    Attributes,
    BlockData,
    BlockRequest,
    BlockResponse,
)
from cfnode.network.interface import PeerRequestRefused
from cfnode.node.asking.question import Question
from cfnode.node.asking.reputation import PeerFailure

__all__ = [
    "FetchedBlock",
    "FetchedHeader",
    "header_at",
    "headers_above",
    "headers_up_to",
    "justifications_of",
    "justified_above",
    "read_blocks",
    "whole_above",
    "whole_up_to",
]

T = TypeVar("T")

MAX_BLOCK_HEADER_BYTES = 1 << 20
"""Bytes of an answer with headers only: most of 128 headers have some hundred each, a few name all
authorities."""

MAX_JUSTIFIED_BYTES = 4 << 20
"""Bytes of an answer with justifications: 128 of them by 150 authorities have 2 MiB, and servers keep few."""

EXTRINSICS_VERSION = 0
"""Trie version of the extrinsics root, on this chain."""


@dataclass(frozen=True, slots=True)
class FetchedHeader:
    """A header and its hash; justifications where they were requested."""

    header: Header
    hash: bytes
    justifications: tuple[tuple[bytes, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class FetchedBlock:
    """A block that is consistent in itself."""

    header: Header
    hash: bytes
    body: list[bytes]
    justifications: list[tuple[bytes, bytes]]


Row = TypeVar("Row", FetchedHeader, FetchedBlock)


def whole_up_to(block: bytes, most: int) -> Question[list[FetchedBlock]]:
    """Return a question for up to `most` whole blocks that end with `block`, oldest first.

    The answer has at least one block.
    """
    request = BlockRequest(block, Attributes.whole(), min(most, MAX_BLOCKS_PER_ANSWER), descending=True)

    def check(answer: bytes) -> list[FetchedBlock]:
        blocks = read_blocks(answer, request)
        _ends_with(block, blocks[-1].hash if blocks else None)
        return blocks

    return _question(request, check)


def whole_above(number: int, most: int) -> Question[list[FetchedBlock]]:
    """Return a question for up to `most` whole blocks of the peer's best chain from `number` on.

    The answer may have no blocks, or invented ones.
    """
    request = BlockRequest(number, Attributes.whole(), min(most, MAX_BLOCKS_PER_ANSWER))

    def check(answer: bytes) -> list[FetchedBlock]:
        blocks = read_blocks(answer, request)
        _begins_at(number, blocks[0].header.number if blocks else number)
        return blocks

    return _question(request, check, proves=False)


def headers_up_to(block: bytes, most: int, *, known: bool = False) -> Question[list[FetchedHeader]]:
    """Return a question for up to `most` headers that end with that of `block`, oldest first.

    The answer has at least one header. `known`: the hash does not come from the peer, so the check verifies
    the answer.
    """
    request = BlockRequest(block, Attributes.HEADER, min(most, MAX_BLOCKS_PER_ANSWER), descending=True)

    def check(answer: bytes) -> list[FetchedHeader]:
        headers = read_headers(answer, request)
        _ends_with(block, headers[-1].hash if headers else None)
        return headers

    return _question(request, check, proves=known)


def headers_above(number: int, most: int) -> Question[list[FetchedHeader]]:
    """Return a question for up to `most` headers of the peer's best chain from `number` on; perhaps none."""
    request = BlockRequest(number, Attributes.HEADER, min(most, MAX_BLOCKS_PER_ANSWER))

    def check(answer: bytes) -> list[FetchedHeader]:
        headers = read_headers(answer, request)
        _begins_at(number, headers[0].header.number if headers else number)
        return headers

    return _question(request, check, proves=False)


def justified_above(number: int, most: int) -> Question[list[FetchedHeader]]:
    """Return a question for headers from `number` on, with the justifications that the peer has."""
    request = BlockRequest(
        number, Attributes.HEADER | Attributes.JUSTIFICATION, min(most, MAX_BLOCKS_PER_ANSWER)
    )

    def check(answer: bytes) -> list[FetchedHeader]:
        headers = read_headers(answer, request, MAX_JUSTIFIED_BYTES)
        _begins_at(number, headers[0].header.number if headers else number)
        return headers

    return _question(request, check, proves=False)


def header_at(block: bytes | int) -> Question[Header | None]:
    """Return a question for the header with that hash, or at that number of the peer's best chain.

    The answer is None where the peer lacks it.
    """
    request = BlockRequest(block, Attributes.HEADER, 1)

    def check(answer: bytes) -> Header | None:
        fetched = next(iter(read_headers(answer, request)), None)
        if fetched is not None and block not in (fetched.hash, fetched.header.number):
            raise WireError(
                f"block answer: #{fetched.header.number} 0x{fetched.hash.hex()} was not requested"
            )
        return None if fetched is None else fetched.header

    return _question(request, check, proves=False)


def justifications_of(block: bytes) -> Question[list[tuple[bytes, bytes]]]:
    """Return a question for the justifications of one block, unverified."""
    request = BlockRequest(block, Attributes.JUSTIFICATION, 1)

    def check(answer: bytes) -> list[tuple[bytes, bytes]]:
        blocks = BlockResponse.decode(answer, 1).blocks
        return [pair for fetched in blocks if fetched.hash == block for pair in fetched.justifications]

    return _question(request, check, proves=False)


def _question(request: BlockRequest, check: Callable[[bytes], T], *, proves: bool = True) -> Question[T]:
    return Question(SUFFIX, request.encode(), check, failure=PeerFailure.BAD_BLOCK, proves=proves)


def _ends_with(block: bytes, last: bytes | None) -> None:
    if last is None:
        raise PeerRequestRefused(f"it does not have the block 0x{block.hex()}")
    if last != block:
        raise WireError(f"block answer: it ends with 0x{last.hex()}, not with 0x{block.hex()}")


def _begins_at(number: int, first: int) -> None:
    if first != number:
        raise WireError(f"block answer: it begins with #{first}, not with #{number}")


def read_headers(
    answer: bytes, request: BlockRequest, most_bytes: int = MAX_BLOCK_HEADER_BYTES
) -> list[FetchedHeader]:
    """Return the headers of an answer, oldest first, each with its hash and connected to the one before it.

    Raise WireError.
    """
    if len(answer) > most_bytes:
        raise WireError(f"block answer: {len(answer)} bytes of headers, more than {most_bytes}")
    headers = [_header(data) for data in BlockResponse.decode(answer, request.max_blocks).blocks]
    return _in_a_row(headers, request)


def read_blocks(answer: bytes, request: BlockRequest) -> list[FetchedBlock]:
    """Return the blocks of an answer, oldest first, each consistent in itself. Raise WireError."""
    blocks = [_consistent(data) for data in BlockResponse.decode(answer, request.max_blocks).blocks]
    return _in_a_row(blocks, request)


def _in_a_row(rows: list[Row], request: BlockRequest) -> list[Row]:
    if request.descending:
        rows.reverse()
    for parent, child in pairwise(rows):
        if child.header.parent_hash != parent.hash or child.header.number != parent.header.number + 1:
            raise WireError(f"block answer: #{child.header.number} does not follow the block before it")
    return rows


def _header(data: BlockData) -> FetchedHeader:
    header = data.header
    if header is None:
        raise WireError(f"block answer: block 0x{data.hash.hex()} has no header")
    if header.hash != data.hash:
        raise WireError(f"block answer: the header of #{header.number} does not have its hash")
    return FetchedHeader(header, data.hash, tuple(data.justifications))


def _consistent(data: BlockData) -> FetchedBlock:
    header, body = _header(data).header, list(data.body)
    if ordered_root(body, EXTRINSICS_VERSION) != header.extrinsics_root:
        raise WireError(f"block answer: the body of #{header.number} does not have its extrinsics root")
    return FetchedBlock(header, data.hash, body, list(data.justifications))
