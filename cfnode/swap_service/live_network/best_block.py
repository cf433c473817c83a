"""Best block of any node, read by its runtime's APIs (`state_call`), encoded by the runtime's metadata.

So its figures are those that a development node's own service has, whatever the node's release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import trio

from cfnode.core.bounded import BoundedDict
from cfnode.core.foreign import ForeignError, hex_bytes
from cfnode.core.runtime_api import api_function, encode_arguments, opened
from cfnode.core.runtime_names import RuntimeNames, names_of
from cfnode.core.scale import ByteCursor, ScaleError
from cfnode.core.scale.metadata import ApiFunction, Metadata, decode_metadata
from cfnode.core.state import TIMESTAMP_NOW
from cfnode.flow.shared_work import SharedWork
from cfnode.ledger.chain import storage_call
from cfnode.ledger.client import MethodCall
from cfnode.ledger.errors import CallError, NodeError
from cfnode.swap_service.live_network.link import NodeLink
from cfnode.swap_service.source import ApiCall

__all__ = ["LiveBlock", "NodeReader"]

MAX_METADATA: Final = 4
"""Most runtimes whose metadata is cached."""
_BEST: Final[MethodCall] = ("chain_getBlockHash", [])
_V15: Final = (15).to_bytes(4, "little")


class NodeReader:
    """Reader of a node's best block."""

    def __init__(self, link: NodeLink) -> None:
        self.link = link
        self._metadata = BoundedDict[int, Metadata](MAX_METADATA)
        self._loading = SharedWork[int, Metadata]()

    async def best(self) -> LiveBlock:
        """Return the best block. Raises NodeError."""
        best, version, best_after = await self._answers(_BEST, ("state_getRuntimeVersion", []), _BEST)
        if not isinstance(best, str):
            raise NodeError(
                f"{self.link.origin} sent a malformed answer: expected a hash; check that it is a node"
            )
        if best_after != best:  # the version may be that of a block between
            (version,) = await self._answers(("state_getRuntimeVersion", [best]))
        number = version.get("specVersion") if isinstance(version, dict) else None
        if type(number) is not int:
            raise NodeError(
                f"{self.link.origin} sent a malformed answer: expected a runtime version; check that it is a "
                "node"
            )
        metadata = self._metadata.get(number)
        if metadata is None:
            metadata = await self._loading.once(number, partial(self._load, best))
            self._metadata[number] = metadata
        return LiveBlock(self, best, number, metadata)

    async def time(self, number: int) -> int:
        """Return the time of a block by its number, Unix ms. Raises NodeError."""
        (block,) = await self._answers(("chain_getBlockHash", [number]))
        (now,) = await self._answers(storage_call(TIMESTAMP_NOW, block))
        return int.from_bytes(_bytes(now, self.link.origin)[:8], "little")

    async def state_calls(self, calls: Sequence[tuple[str, bytes]], block: str) -> list[bytes]:
        """Return the SCALE bytes of runtime APIs' answers, by function and arguments. Raises NodeError."""
        state_calls: list[MethodCall] = [
            ("state_call", [function, f"0x{data.hex()}", block]) for function, data in calls
        ]
        return [_bytes(answer, self.link.origin) for answer in await self._answers(*state_calls)]

    async def _load(self, block: str) -> Metadata:
        (answer,) = await self.state_calls([("Metadata_metadata_at_version", _V15)], block)
        try:
            cursor = ByteCursor(answer)
            if cursor.boolean():
                return await trio.to_thread.run_sync(decode_metadata, cursor.bytes())
        except ScaleError as error:
            raise NodeError(f"{self.link.origin} sent malformed metadata: {error}") from None
        raise NodeError(f"the runtime of {self.link.origin} does not describe its APIs (metadata V15)")

    async def _answers(self, *calls: MethodCall) -> list[Any]:
        answers = await self.link.batch(calls)
        for answer in answers:
            if isinstance(answer, CallError):
                raise NodeError(f"{self.link.origin}: {answer}")
        return answers


@dataclass(frozen=True, slots=True)
class LiveBlock:
    """Best block of a node; implements `cfnode.swap_service.source.BestBlock`."""

    reader: NodeReader
    block: str
    spec_version: int
    metadata: Metadata

    @property
    def names(self) -> RuntimeNames:
        """Assets and chains of the block's runtime."""
        return names_of(self.metadata.registry)

    async def value(self, function: str, /, **arguments: Any) -> Any:
        """Return the decoded answer of a method of the CustomRuntimeApi.

        Raises ApiMissing, ApiRefused, NodeError.
        """
        (answer,) = await self.values((function, arguments))
        return answer

    async def values(self, *calls: ApiCall) -> list[Any]:
        """Return the decoded answers of several methods of the CustomRuntimeApi, in one exchange.

        Raises ApiMissing, ApiRefused, NodeError.
        """
        methods = [
            api_function(self.metadata, self.spec_version, f"CustomRuntimeApi_{name}") for name, _ in calls
        ]
        state_calls = [
            (method.function, encode_arguments(method, arguments))
            for method, (_, arguments) in zip(methods, calls, strict=True)
        ]
        answers = await self.reader.state_calls(state_calls, self.block)
        return [self._opened(method, answer) for method, answer in zip(methods, answers, strict=True)]

    def _opened(self, method: ApiFunction, answer: bytes) -> Any:
        try:
            value = method.decode(answer)
        except ScaleError as error:
            origin = self.reader.link.origin
            raise NodeError(f"{origin}: malformed answer of {method.function}: {error}") from None
        return opened(self.metadata, method.function, method.method.output, value)[0]


def _bytes(value: Any, origin: str) -> bytes:
    try:
        return hex_bytes(value)
    except ForeignError:
        raise NodeError(
            f"{origin} sent a malformed answer: expected bytes; is it a State Chain node?"
        ) from None
