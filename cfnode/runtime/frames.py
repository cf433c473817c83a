"""Messages between the node and its executor processes, and their frames on the socket.

They are sent over a socket pair, in frames: four bytes of length (big-endian), then one message in
MessagePack. A large message is split: changes are sent as slices of rows before the message that they belong
to, and outputs in pieces. So neither side decodes more than a slice at once, and the node's event loop is
never blocked for long.

Requests have an id, and answers the id of their request: an answer to an abandoned request is dropped, and
cannot be mistaken for that of another request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum, auto
from itertools import accumulate

import msgspec

from cfnode.core.state import Changes
from cfnode.runtime.calls import BlockSource, InherentData, ProofSource

__all__ = [
    "FRAME_SLICE_BYTES",
    "LENGTH_SIZE",
    "MAX_FRAME",
    "AddOverlay",
    "Assembly",
    "Build",
    "Built",
    "CallOrder",
    "Changed",
    "Execute",
    "ExecutorAnswer",
    "Failed",
    "FailureKind",
    "Order",
    "Output",
    "Piece",
    "Ready",
    "Result",
    "Rows",
    "changes_in_slices",
    "check_rows",
    "decode_answer",
    "decode_order",
    "encode_frame",
    "frame_length",
    "outputs_in_pieces",
]

LENGTH_SIZE = 4
MAX_FRAME = 64 << 20
"""Bytes of one message. A body is at most some 6 MB on the chain, a proof some 16 MB."""

FRAME_SLICE_BYTES = 256 << 10
"""Bytes of values after which a slice of changes, or a piece of output, ends."""

ROW_OVERHEAD = 12
"""Bytes that MessagePack adds to a row, at most; a slice has fewer rows than bytes."""


# --- to the executor


class CallOrder(msgspec.Struct, frozen=True, tag=True):
    """An order to call functions on one state, one after the other, and discard the writes of each.

    `prove`: discard the outputs too, and return the proofs of what the calls read.
    """

    id: int
    at: BlockSource | ProofSource
    calls: list[tuple[str, bytes]]
    prove: bool = False


class Execute(msgspec.Struct, frozen=True, tag=True):
    """An order to execute a block: `header` without seal."""

    id: int
    header: bytes
    body: list[bytes]


class Build(msgspec.Struct, frozen=True, tag=True):
    """An order to build a block on a parent; `digest` holds encoded items."""

    id: int
    parent: bytes
    number: int
    digest: list[bytes]
    inherents: InherentData
    candidates: list[bytes]
    seconds: float


class AddOverlay(msgspec.Struct, frozen=True, tag=True):
    """The end of an overlay: the rows sent before are the changes of this unfinalized block.

    It has no answer.
    """

    hash: bytes
    parent: bytes
    number: int
    root: bytes


# --- both ways


class Rows(msgspec.Struct, frozen=True, tag=True):
    """A slice of changes: some rows of one table of one trie."""

    nodes: bool
    child: bytes
    rows: dict[bytes, bytes | None]


# --- from the executor


class Ready(msgspec.Struct, frozen=True, tag=True):
    """The process has opened the store."""


class Piece(msgspec.Struct, frozen=True, tag=True):
    """A part of the outputs; more follows."""

    data: bytes


class Output(msgspec.Struct, frozen=True, tag=True):
    """The concatenated outputs of the calls, or (after pieces) the last piece of them."""

    id: int
    sizes: list[int]
    data: bytes


class Changed(msgspec.Struct, frozen=True, tag=True):
    """A block was executed; the rows sent before are its changes."""

    id: int
    root: bytes


class Built(msgspec.Struct, frozen=True, tag=True):
    """A block was built; the rows sent before are its changes."""

    id: int
    header: bytes
    body: list[bytes]
    refused: list[tuple[bytes, str]]
    root: bytes


class FailureKind(IntEnum):
    """The error of a request that failed."""

    TRAP = auto()
    DEADLINE = auto()
    UNKNOWN_FUNCTION = auto()
    UNSUPPORTED_CODE = auto()
    BLOCK_REFUSED = auto()
    MISSING_NODE = auto()
    PROOF_REFUSED = auto()
    UNKNOWN_BLOCK = auto()
    STATE_DISCARDED = auto()
    STORE_FAULT = auto()
    OUT_OF_MEMORY = auto()
    MESSAGE_TOO_LARGE = auto()
    HOST_FAULT = auto()


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The request failed. `text` and `key` are the contents of its error."""

    id: int
    kind: FailureKind
    text: str
    key: bytes = b""
    child: bytes = b""


Order = CallOrder | Execute | Build | AddOverlay | Rows
Result = Output | Changed | Built
"""The message that ends an answer."""
ExecutorAnswer = Ready | Piece | Rows | Result | Failed

_ENCODER = msgspec.msgpack.Encoder()
_ORDERS: msgspec.msgpack.Decoder[Order] = msgspec.msgpack.Decoder(Order)
_ANSWERS: msgspec.msgpack.Decoder[ExecutorAnswer] = msgspec.msgpack.Decoder(ExecutorAnswer)


def encode_frame(message: Order | ExecutorAnswer) -> bytes:
    """Return the frame of a message. Raises ValueError where it is too large."""
    body = _ENCODER.encode(message)
    if len(body) > MAX_FRAME:
        raise ValueError(
            f"a message of {len(body)} bytes to or from the executor process; {MAX_FRAME} at most"
        )
    return len(body).to_bytes(LENGTH_SIZE, "big") + body


def frame_length(prefix: bytes) -> int:
    """Return the number of bytes after the prefix. Raises ValueError if it is too large."""
    length = int.from_bytes(prefix, "big")
    if len(prefix) != LENGTH_SIZE or length > MAX_FRAME:
        raise ValueError(f"a frame of {length} bytes between node and executor process; {MAX_FRAME} at most")
    return length


def decode_order(body: bytes | bytearray | memoryview) -> Order:
    """Decode a message to the executor. Raises msgspec.MsgspecError."""
    return _ORDERS.decode(body)


def decode_answer(body: bytes | bytearray | memoryview) -> ExecutorAnswer:
    """Decode a message from the executor. Raises msgspec.MsgspecError."""
    return _ANSWERS.decode(body)


# --- large things


def check_rows(changes: Changes) -> None:
    """Check that each slice of the changes fits into a frame. Raises ValueError. A row is never split."""
    limit = MAX_FRAME - FRAME_SLICE_BYTES - FRAME_SLICE_BYTES * ROW_OVERHEAD
    for tables in (changes.storage, changes.nodes):
        for table in tables.values():
            for key, value in table.items():
                if len(key) + len(value or b"") > limit:
                    raise ValueError(
                        f"a value of {len(value or b'')} bytes for the executor process; {limit} at most"
                    )


def changes_in_slices(changes: Changes) -> Iterator[Rows]:
    """Yield the rows of the changes, split into messages."""
    for nodes, tables in ((False, changes.storage), (True, changes.nodes)):
        for child, table in tables.items():
            for rows in _slices(table.items()):
                yield Rows(nodes, child, rows)


def _slices(items: Iterable[tuple[bytes, bytes | None]]) -> Iterator[dict[bytes, bytes | None]]:
    rows: dict[bytes, bytes | None] = {}
    size = 0
    for key, value in items:
        rows[key] = value
        size += len(key) + len(value or b"")
        if size >= FRAME_SLICE_BYTES:
            yield rows
            rows, size = {}, 0
    if rows:
        yield rows


def joined(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the bytes of the parts in fewer pieces.

    Waking the other process for each small message costs more than the message.
    """
    pending: list[bytes] = []
    size = 0
    for part in parts:
        pending.append(part)
        size += len(part)
        if size >= FRAME_SLICE_BYTES:
            yield b"".join(pending)
            pending, size = [], 0
    if pending:
        yield b"".join(pending)


def outputs_in_pieces(request: int, outputs: Sequence[bytes]) -> Iterator[Piece | Output]:
    """Yield the outputs of the calls, split into messages."""
    data = outputs[0] if len(outputs) == 1 else b"".join(outputs)
    last_start = max(0, len(data) - 1) // FRAME_SLICE_BYTES * FRAME_SLICE_BYTES
    for start in range(0, last_start, FRAME_SLICE_BYTES):
        yield Piece(data[start : start + FRAME_SLICE_BYTES])
    yield Output(request, [len(output) for output in outputs], data[last_start:])


class Assembly:
    """The slices and pieces that have been received of a message."""

    def __init__(self) -> None:
        self._storage: dict[bytes, dict[bytes, bytes | None]] = {}
        self._nodes: dict[bytes, dict[bytes, bytes | None]] = {}
        self._pieces: list[bytes] = []

    def add(self, part: Rows | Piece) -> None:
        """Keep a part."""
        if isinstance(part, Piece):
            self._pieces.append(part.data)
        else:
            tables = self._nodes if part.nodes else self._storage
            tables.setdefault(part.child, {}).update(part.rows)

    def take_changes(self, root: bytes) -> Changes:
        """Return the changes of the collected rows, and clear these."""
        changes = Changes(storage=self._storage, nodes=self._nodes, root=root)
        self._storage, self._nodes = {}, {}
        return changes

    def take_outputs(self, last: Output) -> list[bytes]:
        """Return the outputs of the collected pieces, and clear these."""
        data = b"".join((*self._pieces, last.data)) if self._pieces else last.data
        self._pieces = []
        if len(last.sizes) == 1:
            return [data]
        ends = list(accumulate(last.sizes))
        return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def clear(self) -> None:
        """Drop the parts of a message that failed in the middle."""
        self._storage, self._nodes, self._pieces = {}, {}, []
