"""Runtime version and metadata of each block, cached by code.

Metadata is large (hundreds of kilobytes) and changes only with the code, so it is decoded once for each code,
in a thread, and shared by all blocks that have that code.

A block that does not announce new code (digest item RuntimeEnvironmentUpdated) has its parent's.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import trio

from cfnode.core.bounded import BoundedDict
from cfnode.core.hashing import blake2_256
from cfnode.core.header import DigestKind, Header
from cfnode.core.scale import ByteCursor
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.core.state import CODE
from cfnode.flow.shared_work import SharedWork
from cfnode.node.chain.local_faults import retry_after_fault
from cfnode.node.chain.queries import RuntimeQueries
from cfnode.node.chain.states import States
from cfnode.runtime.calls import Unanswerable
from cfnode.store import StateDiscarded, UnknownBlock

MAX_CACHED_CODE_HASHES = 4096
MAX_CACHED_RUNTIMES = 4


@dataclass(frozen=True, slots=True)
class RuntimeVersion:
    """Substrate's `RuntimeVersion`; `apis` are (8-byte id, version)."""

    spec_name: str
    impl_name: str
    authoring_version: int
    spec_version: int
    impl_version: int
    apis: tuple[tuple[bytes, int], ...]
    transaction_version: int
    system_version: int

    @classmethod
    def decode(cls, data: bytes) -> RuntimeVersion:
        """Decode the answer of `Core_version`; old runtimes omit the last fields."""
        cursor = ByteCursor(data)
        names = cursor.text(), cursor.text()
        numbers = cursor.u32(), cursor.u32(), cursor.u32()
        apis = tuple((cursor.take(8), cursor.u32()) for _ in range(cursor.count(12)))
        transaction_version = cursor.u32() if cursor.remaining else 1
        system_version = cursor.u8() if cursor.remaining else 0
        return cls(*names, *numbers, apis, transaction_version, system_version)


@dataclass(frozen=True, slots=True)
class RuntimeInfo:
    """A runtime. `metadata`: V15 if the runtime has it; `metadata_v14`: the encoded V14 (`meta…`)."""

    code_hash: bytes
    version: RuntimeVersion
    metadata: Metadata
    metadata_v14: bytes

    @property
    def state_version(self) -> int:
        """The trie version of the state: 0 or 1."""
        return min(self.version.system_version, 1)


class RuntimeCache:
    """Runtime information by block, shared by code."""

    def __init__(self, states: States, queries: RuntimeQueries) -> None:
        self._states = states
        self._queries = queries
        self._code_of = BoundedDict[bytes, bytes](MAX_CACHED_CODE_HASHES)
        self._infos = BoundedDict[bytes, RuntimeInfo](MAX_CACHED_RUNTIMES)
        self._loading = SharedWork[bytes, RuntimeInfo]()

    def inherit(self, header: Header, block_hash: bytes) -> None:
        """Record that an added block has its parent's runtime, unless it announces new code."""
        code_hash = self._code_of.get(header.parent_hash)
        if code_hash is not None and not _announces_code(header):
            self._code_of[block_hash] = code_hash

    async def at(self, block_hash: bytes) -> RuntimeInfo:
        """Return the runtime of a block's state. Raise UnknownBlock, StateDiscarded or RuntimeCallError."""
        code_hash = self._code_of.get(block_hash) or await self._read_code_hash(block_hash)
        while (info := self._infos.get(code_hash)) is None:
            try:
                await self._loading.once(
                    code_hash, lambda: retry_after_fault(lambda: self._load(block_hash, code_hash))
                )
            except (UnknownBlock, StateDiscarded) as error:
                if error.block == block_hash:  # else another task loads it at another block: try at ours
                    raise
        self._infos.move_to_end(code_hash)
        return info

    async def executing(self, block_hash: bytes, header: Header | None) -> RuntimeInfo:
        """Return the runtime that executed a block: that of its parent, if the block sets new code.

        It encodes the events and errors of the block. If the parent's state is discarded, the block's own
        runtime is returned. Raise UnknownBlock, StateDiscarded or RuntimeCallError.
        """
        if header is not None and _announces_code(header):
            with suppress(UnknownBlock, StateDiscarded):
                return await self.at(header.parent_hash)
        return await self.at(block_hash)

    async def _read_code_hash(self, block_hash: bytes) -> bytes:
        code_hash = await self._states.read(
            block_hash, lambda state: blake2_256(state.get(CODE) or b""), [CODE]
        )
        self._code_of[block_hash] = code_hash
        return code_hash

    async def _load(self, block_hash: bytes, code_hash: bytes) -> RuntimeInfo:
        try:
            info = await self._read(block_hash, code_hash)
        except ValueError as error:  # ScaleError too
            raise Unanswerable(f"version or metadata in a form unknown to this build: {error}") from error
        self._infos[code_hash] = info
        return info

    async def _read(self, block_hash: bytes, code_hash: bytes) -> RuntimeInfo:
        version = RuntimeVersion.decode(await self._queries.call(block_hash, "Core_version"))
        v14 = ByteCursor(await self._queries.call(block_hash, "Metadata_metadata")).bytes()
        v15 = await self._metadata_v15(block_hash)
        metadata = await trio.to_thread.run_sync(_decode_and_compile, v15 or v14)
        return RuntimeInfo(code_hash, version, metadata, v14)

    async def _metadata_v15(self, block_hash: bytes) -> bytes | None:
        answer = await self._queries.call(
            block_hash, "Metadata_metadata_at_version", (15).to_bytes(4, "little")
        )
        cursor = ByteCursor(answer)
        return cursor.bytes() if cursor.boolean() else None


def _announces_code(header: Header) -> bool:
    return any(item.kind is DigestKind.RUNTIME_ENVIRONMENT_UPDATED for item in header.digest)


def _decode_and_compile(data: bytes) -> Metadata:
    """Return the metadata, with its two large codecs (calls and events) compiled before their first use."""
    metadata = decode_metadata(data)
    _ = metadata.call_codec, metadata.event_codec
    return metadata
