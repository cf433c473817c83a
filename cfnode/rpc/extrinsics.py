"""Are these bytes an extrinsic, to the official node? What it does with those that are none.

A node takes extrinsics as `OpaqueExtrinsic`: a compact length and so many bytes. It leaves out what follows,
takes a length of zero too, and lets the runtime find fault with the rest. The words are those of
parity-scale-codec.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cfnode.core.jsonrpc import RpcError
from cfnode.core.scale import decode_compact
from cfnode.runtime.calls import RuntimeTrap

__all__ = ["DECODE_ERROR", "EMPTY", "BadExtrinsic", "decoded", "execution_failed", "read_extrinsic"]

DECODE_ERROR: Final = 2
"""The code of the methods that FRAME adds for bytes that are no extrinsic."""
EMPTY: Final = b"\0"
"""An extrinsic of no bytes, which no runtime can read."""

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
    """Bytes that are no extrinsic; `reason` says what is wrong with them."""

    reason: str

    def __str__(self) -> str:
        return f"{_OUTER}:\n\t{self.reason}\n"

    @property
    def debug(self) -> str:
        """The same as Rust's Debug writes it."""
        return f'Error {{ cause: Some(Error {{ cause: None, desc: "{self.reason}" }}), desc: "{_OUTER}" }}'


def decoded(data: bytes) -> bytes:
    """The extrinsic that the bytes begin with, its length included. Raises BadExtrinsic."""
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
    """The same; raises RpcError with the message of the method, and the reason as Rust's Debug or Display."""
    try:
        return decoded(data)
    except BadExtrinsic as error:
        raise RpcError(DECODE_ERROR, unable, error.debug if is_debug else str(error)) from None


def execution_failed(error: Exception) -> str:
    """A failed execution in the official node's words; what the runtime itself says stands where that has a
    backtrace.
    """
    trap = _TRAP if isinstance(error, RuntimeTrap) else ""
    return f"Execution failed: {trap}{error}"
