"""Decoding of extrinsics as the official node accepts them, and its errors for the others.

The official node reads an `OpaqueExtrinsic`: a compact length and that many bytes. It ignores bytes that
follow, accepts a length of zero, and leaves further checks to the runtime. The error texts are those of
parity-scale-codec.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cfnode.core.jsonrpc import RpcError
from cfnode.core.scale import decode_compact
from cfnode.runtime.calls import RuntimeTrap

__all__ = [
    "DECODE_ERROR",
    "BadExtrinsic",
    "decoded",
    "execution_failed",
    "read_extrinsic",
]

DECODE_ERROR: Final = 2
"""The code with which FRAME's methods refuse malformed extrinsics."""

_OUTER: Final = "Could not decode `OpaqueExtrinsic.0`"
_SHORT: Final = "Not enough data to fill buffer"
_SHORTER: Final = "Not enough data to decode vector"
_OUT_OF_RANGE: Final = "out of range decoding Compact<u32>"
_TRAP: Final = (
    "Execution aborted due to trap: wasm trap: wasm `unreachable` instruction executed\nWASM backtrace:\n"
)
_COMPACT_BYTES: Final = (1, 2, 4, 5)


@dataclass
class BadExtrinsic(Exception):
    """A malformed extrinsic; `reason` names the fault."""

    reason: str

    def __str__(self) -> str:
        """Return the message in the official node's layout, with the reason on a line of its own."""
        return f"{_OUTER}:\n\t{self.reason}\n"

    @property
    def debug(self) -> str:
        """The error as Rust's Debug writes it."""
        return f'Error {{ cause: Some(Error {{ cause: None, desc: "{self.reason}" }}), desc: "{_OUTER}" }}'


def decoded(data: bytes) -> bytes:
    """Return the extrinsic at the start of the bytes, with its length prefix. Raises BadExtrinsic."""
    if not data or len(data) < _COMPACT_BYTES[data[0] & 3]:
        raise BadExtrinsic(_OUT_OF_RANGE if data and data[0] & 3 == 3 and data[0] > 3 else _SHORT)
    try:
        length, start = decode_compact(data, 0)
    except ValueError:
        raise BadExtrinsic(_OUT_OF_RANGE) from None
    if length >> 32:
        raise BadExtrinsic(_OUT_OF_RANGE)
    if len(data) - start < length:
        raise BadExtrinsic(_SHORTER)
    return data[: start + length]


def read_extrinsic(data: bytes, unable: str, *, is_debug: bool = True) -> bytes:
    """Return the extrinsic at the start of the bytes.

    Raises RpcError with the method's message, and the reason as Rust's Debug or Display writes it.
    """
    try:
        return decoded(data)
    except BadExtrinsic as error:
        raise RpcError(DECODE_ERROR, unable, error.debug if is_debug else str(error)) from None


def execution_failed(error: Exception) -> str:
    """Return the official node's text of a failed execution.

    The runtime's own message stands in place of the backtrace.
    """
    trap = _TRAP if isinstance(error, RuntimeTrap) else ""
    return f"Execution failed: {trap}{error}"
