"""How are figures asked of any node? By its runtime's APIs (`state_call`), encoded by the runtime's metadata.

So the figures are those that a development node's own service has, whatever the node's release.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import trio

from cfnode.core.bounded import BoundedDict
from cfnode.core.foreign import ForeignError, hex_bytes
from cfnode.core.runtime_api import api_function, encode_arguments, opened
from cfnode.core.runtime_names import RuntimeNames, names_of
from cfnode.core.scale import Cursor, ScaleError
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.flow.shared_work import SharedWork
from cfnode.ledger.errors import CallError, NodeError
from cfnode.swap_service.live.link import NodeLink

__all__ = ["LiveBlock", "NodeReader"]

MAX_METADATA: Final = 4
"""Runtimes whose metadata is kept."""
_V15: Final = (15).to_bytes(4, "little")


class NodeReader:
    """Reads the best block of a node."""

    def __init__(self, link: NodeLink) -> None:
        self.link = link
        self._metadata = BoundedDict[int, Metadata](MAX_METADATA)
        self._loading = SharedWork[int, Metadata]()

    async def best(self) -> LiveBlock:
        """The best block. Raises NodeError."""
        (block,) = await self._answers(("chain_getBlockHash", []))
        if not isinstance(block, str):
            raise NodeError(f"{self.link.origin} sent something else than a hash: is it a node?")
        (version,) = await self._answers(("state_getRuntimeVersion", [block]))
        number = version.get("specVersion") if isinstance(version, dict) else None
        if type(number) is not int:
            raise NodeError(f"{self.link.origin} sent something else than a runtime version: is it a node?")
        metadata = self._metadata.get(number)
        if metadata is None:
            metadata = await self._loading.once(number, partial(self._load, block))
            self._metadata[number] = metadata
        return LiveBlock(self, block, number, metadata)

    async def time(self, number: int) -> int:
        """The time of a block by its number, Unix ms. Raises NodeError."""
        (block,) = await self._answers(("chain_getBlockHash", [number]))
        metadata = (await self.best()).metadata
        key = metadata.storage_key("Timestamp", "Now").hex()
        (now,) = await self._answers(("state_getStorage", [f"0x{key}", block]))
        return int.from_bytes(_bytes(now, self.link.origin)[:8], "little")

    async def state_call(self, function: str, data: bytes, block: str) -> bytes:
        """The encoded answer of a runtime API. Raises NodeError."""
        (found,) = await self._answers(("state_call", [function, f"0x{data.hex()}", block]))
        return _bytes(found, self.link.origin)

    async def _load(self, block: str) -> Metadata:
        answer = await self.state_call("Metadata_metadata_at_version", _V15, block)
        try:
            cursor = Cursor(answer)
            if cursor.boolean():
                return await trio.to_thread.run_sync(decode_metadata, cursor.bytes())
        except ScaleError as error:
            raise NodeError(f"{self.link.origin} sent malformed metadata: {error}") from None
        raise NodeError(f"the runtime of {self.link.origin} does not describe its APIs (metadata V15)")

    async def _answers(self, *calls: tuple[str, list[Any]]) -> list[Any]:
        answers = await self.link.batch(calls)
        for each in answers:
            if isinstance(each, CallError):
                raise NodeError(f"{self.link.origin}: {each}")
        return answers


@dataclass(frozen=True, slots=True)
class LiveBlock:
    """A node's best block; `cfnode.swap_service.source.BestBlock`."""

    reader: NodeReader
    block: str
    spec_version: int
    metadata: Metadata

    @property
    def names(self) -> RuntimeNames:
        """Assets and chains of its runtime."""
        return names_of(self.metadata.registry)

    async def value(self, function: str, /, **arguments: Any) -> Any:
        """The decoded answer of a method of the CustomRuntimeApi.

        Raises ApiMissing, ApiRefused, NodeError.
        """
        method = api_function(self.metadata, self.spec_version, f"CustomRuntimeApi_{function}")
        data = encode_arguments(method, arguments)
        answer = await self.reader.state_call(method.function, data, self.block)
        try:
            value = method.decode(answer)
        except ScaleError as error:
            raise NodeError(f"{self.reader.link.origin}: malformed answer of {function}: {error}") from None
        return opened(self.metadata, method.function, method.method.output, value)[0]


def _bytes(value: Any, origin: str) -> bytes:
    try:
        return hex_bytes(value)
    except ForeignError:
        raise NodeError(f"{origin} sent something else than bytes: is it a State Chain node?") from None
