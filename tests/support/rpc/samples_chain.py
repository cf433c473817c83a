"""A chain of one block whose runtime answers with samples."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from cfnode.core.hashing import twox_128
from cfnode.core.header import Header
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.node.chain.runtime_info import RuntimeInfo, RuntimeVersion
from cfnode.rpc.cf.rows import CF, MONITORING
from cfnode.rpc.table.rows import Method
from tests.rpc.samples import Sampler

METHODS = [row for row in (*CF, *MONITORING) if isinstance(row, Method)]
ROWS = {name: row for row in METHODS for name in (row.name, *row.aliases)}
VERSION = RuntimeVersion("chainflip-node", "chainflip-node", 1, 20203, 1, (), 13, 1)
BLOCK = b"\x01" * 32
AFFILIATE = b"\x03" * 32


class Queries:
    """Answers every runtime API with a sample."""

    def __init__(self, metadata: Metadata, cases: Mapping[str, str]) -> None:
        self.metadata = metadata
        self.sampler = Sampler(metadata.registry, cases)

    async def call_all(self, at: bytes, calls: Sequence[tuple[str, bytes]]) -> list[bytes]:
        """Return the SCALE outputs; the arguments have to be those of the API."""
        return [self._output(*call) for call in calls]

    def _output(self, function: str, arguments: bytes) -> bytes:
        method = self.metadata.api_method(function)
        method.decode_args(arguments)
        return method.output.encode(self.sampler.value(method.method.output))


class Chain:
    """A chain of one block of the runtime."""

    def __init__(self, metadata: Metadata, cases: Mapping[str, str]) -> None:
        self.queries = Queries(metadata, cases)
        self.genesis_hash = json.dumps(dict(cases)).encode()
        self.best = self.finalized = SimpleNamespace(hash=BLOCK, number=1)
        self.states = SimpleNamespace(read=self.read, remote_for=lambda block_hash: None)
        self.info = RuntimeInfo(b"\x02" * 32, VERSION, metadata, b"")

    @contextmanager
    def state(self, block_hash: bytes) -> Iterator[Any]:
        """Yield storage in which every requested item is there: broadcasts, and accounts of Swapping."""
        broadcast = (7).to_bytes(4, "little") + (9).to_bytes(8, "little")
        held = {b"Swapping": AFFILIATE, b"AssethubBroadcaster": broadcast[:8]}
        values = {twox_128(pallet): value for pallet, value in held.items()}
        yield SimpleNamespace(get=lambda key: values.get(key[:16], broadcast))

    async def read(self, block_hash: bytes, walk: Any, *_: Any) -> Any:
        """Return the result of a walk over that storage."""
        with self.state(block_hash) as state:
            return walk(state)

    def header(self, block_hash: bytes) -> Any:
        """Return the header of genesis, before which nothing was."""
        return Header(bytes(32), 0, bytes(32), bytes(32), ())

    async def runtime_at(self, block_hash: bytes) -> RuntimeInfo:
        """Return the one runtime."""
        return self.info


@pytest.fixture(scope="session")
def metadata(metadata_v15: bytes) -> Metadata:
    """Return the decoded metadata."""
    return decode_metadata(metadata_v15)


async def ask(metadata: Metadata, name: str, *params: Any, **cases: str) -> Any:
    """Return the answer of a row as JSON has it."""
    node: Any = SimpleNamespace(chain=Chain(metadata, cases), spec=SimpleNamespace(chain_type="Live"))
    row = ROWS[name]
    answer = (
        await row.handler(node, *row.bind(list(params)))
        if row.is_async
        else row.handler(node, *row.bind(list(params)))
    )
    return json.loads(bytes(answer)) if isinstance(answer, msgspec.Raw) else answer
