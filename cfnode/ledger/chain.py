"""Reader of a node's finalized blocks: hashes, events, storage and metadata, in few exchanges.

Events of a block are encoded by the runtime that executed it: that of its parent's state. If two blocks have
the same version, all blocks between them have it too, since versions only rise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import trio

from cfnode.core.bounded import BoundedDict
from cfnode.core.foreign import ForeignError, block_number, hex_bytes
from cfnode.core.hashing import twox_128
from cfnode.core.scale import NotInMetadataError, ScaleError
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.core.state import TIMESTAMP_NOW
from cfnode.ledger.client import MethodCall, NodeClient
from cfnode.ledger.decoding import DecodedBlock, decoded
from cfnode.ledger.errors import CallError, Discarded, NodeError

__all__ = ["MAX_BATCH_CALLS", "ChainReader", "Head", "storage_call"]

MAX_BATCH_CALLS: Final = 90
"""Most calls of one exchange: nodes accept about a hundred."""
MAX_CACHED_METADATA: Final = 8
"""Most runtimes whose metadata is cached."""
_EVENTS: Final = twox_128(b"System") + twox_128(b"Events")
_HASH: Final = re.compile(r"0x[0-9a-f]{64}\Z")
_DISCARDED_TEXTS: Final = ("discarded", "was not found", "unknown block", "unknownblock", "pruned")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Head:
    """Number and hash (0x-hex) of a block."""

    number: int
    hash: str


class ChainReader:
    """Reader of one node's blocks and storage. Malformed answers raise NodeError."""

    def __init__(self, client: NodeClient) -> None:
        self.client = client
        self._metadata = BoundedDict[int, Metadata](MAX_CACHED_METADATA)

    async def genesis(self) -> str:
        """Return the hash of block 0 (0x-hex)."""
        return await self.hash(0)

    async def hash(self, number: int) -> str:
        """Return the hash of a block (0x-hex). Raises Discarded if the node has no block of that number."""
        (block_hash,) = await self.hashes([number])
        return block_hash

    async def hashes(self, numbers: Sequence[int]) -> list[str]:
        """Return the hashes of blocks of the canonical chain. Raises Discarded if the node lacks one."""
        answers = await self.client.batch([("chain_getBlockHash", [number]) for number in numbers])
        return [self._hash(number, answer) for number, answer in zip(numbers, answers, strict=True)]

    def _hash(self, number: int, answer: Any) -> str:
        if answer is None:
            raise Discarded(number)
        if isinstance(answer, CallError):
            raise NodeError(f"{self.client.origin}: {answer}")
        if not isinstance(answer, str) or not _HASH.match(answer):
            raise self._malformed("a hash")
        return answer

    async def finalized(self) -> Head:
        """Return the newest finalized block."""
        newest = await self._result("chain_getFinalizedHead")
        header = await self._result("chain_getHeader", self._hash(0, newest))
        return Head(self._header(header)[0], newest)

    async def has_state(self, number: int) -> bool:
        """Return whether the node still has the state of a block."""
        try:
            await self.storage(number, await self.hash(number), [TIMESTAMP_NOW])
        except Discarded:
            return False
        return True

    async def storage(self, number: int, block: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values under keys at a block, None for a missing one. Raises Discarded."""
        values: list[bytes | None] = []
        for start in range(0, len(keys), MAX_BATCH_CALLS):
            calls = [storage_call(key, block) for key in keys[start : start + MAX_BATCH_CALLS]]
            values += [self._stored(number, answer) for answer in await self.client.batch(calls)]
        return values

    async def keys(self, number: int, block: str, prefix: bytes, limit: int) -> list[bytes]:
        """Return all keys that begin with a prefix. Raises NodeError beyond `limit`, or Discarded."""
        keys: list[bytes] = []
        while True:
            start = f"0x{keys[-1].hex()}" if keys else None
            params = [f"0x{prefix.hex()}", 500, start, block]
            (answer,) = await self.client.batch([("state_getKeysPaged", params)])
            page = self._of_state(number, answer)
            if not isinstance(page, list) or len(page) > 500:
                raise self._malformed("keys")
            page_keys = [self._bytes(text) for text in page]
            if any(not key.startswith(prefix) for key in page_keys) or (
                page_keys and keys and page_keys[0] <= keys[-1]
            ):
                raise self._malformed("keys")
            keys += page_keys
            if len(keys) > limit:
                raise NodeError(f"{self.client.origin} has more than {limit} entries of one map")
            if len(page_keys) < 500:
                return keys

    async def entries(self, block: Head, pallet: str, item: str, accounts: Sequence[bytes] | None,
                      limit: int) -> list[tuple[Any, Any]]:  # fmt: skip
        """Return keys and values of a map whose key begins with an account; `accounts` None: of all.

        A map that the runtime does not have is empty. Raises NodeError beyond `limit` entries of an account,
        or Discarded.
        """
        metadata = await self.metadata_at(block.number, block.hash)
        try:
            storage_item = metadata.storage(pallet, item)
        except NotInMetadataError:
            return []
        prefixes = (
            [storage_item.key()] if accounts is None else [storage_item.key(account) for account in accounts]
        )
        keys: list[bytes] = []
        for prefix in prefixes:
            keys += await self.keys(block.number, block.hash, prefix, limit)
        values = await self.storage(block.number, block.hash, keys)
        try:
            return [
                (storage_item.decode_key(key), storage_item.decode(value))
                for key, value in zip(keys, values, strict=True)
                if value is not None
            ]
        except ScaleError as error:
            raise NodeError(f"{self.client.origin}: {pallet}.{item} cannot be decoded: {error}") from None

    async def blocks(self, first: int, last: int) -> list[DecodedBlock]:
        """Return the blocks from `first` (1 or higher) to `last`, with their events. Raises Discarded."""
        hashes = await self.hashes(range(first - 1, last + 1))
        versions = await self._versions(first, hashes)
        if len(set(versions)) > 1 and first < last:
            middle = (first + last) // 2
            return await self.blocks(first, middle) + await self.blocks(middle + 1, last)
        metadata = await self.metadata(versions[0], first, hashes)
        answers = await self.raw_blocks(hashes[1:])
        return await trio.to_thread.run_sync(self._blocks, first, hashes, versions[0], metadata, answers)

    async def raw_blocks(self, hashes: Sequence[str]) -> list[Any]:
        """Return header, events and time of each block, three answers of the node for one hash."""
        calls: list[MethodCall] = []
        for block in hashes:
            stored = (storage_call(key, block) for key in (_EVENTS, TIMESTAMP_NOW))
            calls += [("chain_getHeader", [block]), *stored]
        return await self.client.batch(calls)

    def _blocks(
        self, first: int, hashes: list[str], version: int, metadata: Metadata, answers: list[Any]
    ) -> list[DecodedBlock]:
        blocks = []
        for index, block in enumerate(hashes[1:]):
            header, events, now = answers[3 * index : 3 * index + 3]
            number, parent = self._header(header)
            if number != first + index or parent != hashes[index]:
                raise NodeError(
                    f"{self.client.origin} returned the header of another block for block {first + index}"
                )
            time = int.from_bytes((self._stored(number, now) or b"")[:8], "little")
            decoded_events = decoded(metadata, self._stored(number, events), number)
            blocks.append(DecodedBlock(number, block, parent, time, version, decoded_events, metadata))
        return blocks

    async def _versions(self, first: int, hashes: list[str]) -> list[int]:
        """Return the versions that executed the first and the last of the blocks after `hashes[0]`.

        If the node has discarded the state before the first block, the version of its own state is taken.
        """
        at_hashes = [hashes[0], hashes[-2], hashes[1]]
        answers = await self.client.batch(
            [("state_getRuntimeVersion", [block_hash]) for block_hash in at_hashes]
        )
        answer_before, answer_last, answer_of_first = answers
        if isinstance(answer_before, CallError):
            answer_before = answer_of_first
        if isinstance(answer_last, CallError):
            answer_last = answer_of_first
        return [self._version(first, answer_before), self._version(first, answer_last)]

    def _version(self, number: int, answer: Any) -> int:
        runtime_version = self._of_state(number, answer)
        version = runtime_version.get("specVersion") if isinstance(runtime_version, dict) else None
        if type(version) is not int or not 0 <= version < 2**32:
            raise self._malformed("a runtime version")
        return version

    async def metadata_at(self, number: int, block: str) -> Metadata:
        """Return the metadata of a block's own state. Raises Discarded."""
        (answer,) = await self.client.batch([("state_getRuntimeVersion", [block])])
        return await self.metadata(self._version(number, answer), number, [block])

    async def metadata(self, version: int, number: int, at: Sequence[str]) -> Metadata:
        """Return a runtime's metadata, from the state of the first block of `at` that still has one.

        At most two blocks are tried. Raises Discarded.
        """
        if version not in self._metadata:
            for place, block in enumerate(at[:2]):
                (answer,) = await self.client.batch([("state_getMetadata", [block])])
                if not isinstance(answer, CallError) or place + 1 == len(at[:2]):
                    break
            data = self._bytes(self._of_state(number, answer))
            try:
                self._metadata[version] = await trio.to_thread.run_sync(decode_metadata, data)
            except ScaleError as error:
                raise NodeError(f"{self.client.origin} sent malformed metadata: {error}") from None
        return self._metadata[version]

    async def _result(self, method: str, *params: Any) -> Any:
        try:
            return await self.client.call(method, *params)
        except CallError as error:
            raise NodeError(f"{self.client.origin}: {error}") from None

    def _header(self, answer: Any) -> tuple[int, str]:
        """Return a header's number and its parent's hash. Raises NodeError if it is malformed."""
        try:
            number, parent = block_number(answer), answer.get("parentHash")
        except ForeignError:
            raise self._malformed("a header") from None
        if not isinstance(parent, str) or not _HASH.match(parent):
            raise self._malformed("a header")
        return number, parent

    def _stored(self, number: int, answer: Any) -> bytes | None:
        value = self._of_state(number, answer)
        return None if value is None else self._bytes(value)

    def _of_state(self, number: int, answer: Any) -> Any:
        """Return an answer about a block's state. Raises Discarded if the node lacks it."""
        if not isinstance(answer, CallError):
            return answer
        if any(word in str(answer).lower() for word in _DISCARDED_TEXTS):
            raise Discarded(number)
        raise NodeError(f"{self.client.origin}: {answer}")

    def _bytes(self, value: Any) -> bytes:
        try:
            return hex_bytes(value)
        except ForeignError:
            raise self._malformed("bytes") from None

    def _malformed(self, expected: str) -> NodeError:
        return NodeError(
            f"{self.client.origin} sent a malformed answer: expected {expected}. Is it a State Chain node?"
        )


def storage_call(key: bytes, block: str) -> MethodCall:
    """Return the call that reads the value under a key in a block's state."""
    return "state_getStorage", [f"0x{key.hex()}", block]
