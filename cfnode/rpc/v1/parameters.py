"""Hex parameters of the new interface: texts, which the methods themselves decode.

A method refuses malformed hex with its own error, or with an event if its stream has already started.
"""

from __future__ import annotations

from typing import Any, Final

from cfnode.core.jsonrpc import ErrorCode, RpcError
from cfnode.rpc.table.convert import MAX_STORAGE_KEY_BYTES, read_whole_bytes
from cfnode.rpc.table.rows import Reader
from cfnode.rpc.table.serde import cut, invalid_type

__all__ = [
    "HEX",
    "KEY_READER",
    "InvalidParameter",
    "archive_error",
    "bytes_of",
    "head_error",
    "read_key_text",
]

ARCHIVE_INVALID: Final = 3001


class InvalidParameter(ValueError):
    """A malformed parameter; the message is the official node's."""


def bytes_of(text: str) -> bytes:
    """Read hex of whole bytes, `0x` optional. Raises InvalidParameter."""
    try:
        return read_whole_bytes(text)
    except ValueError:
        raise InvalidParameter(f"Invalid parameter: {cut(text)}") from None


def head_error(error: InvalidParameter) -> RpcError:
    """Return the error of chainHead's methods."""
    return RpcError(ErrorCode.INVALID_PARAMS, str(error))


def archive_error(error: InvalidParameter) -> RpcError:
    """Return the error of archive's methods."""
    return RpcError(ARCHIVE_INVALID, str(error))


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise invalid_type(value, "a string")
    return value


def read_key_text(value: Any) -> str:
    """Read the text of a storage key."""
    text = _read_text(value)
    if len(text) > 2 * MAX_STORAGE_KEY_BYTES + 2:
        raise ValueError(f"expected at most {MAX_STORAGE_KEY_BYTES} bytes of hex, got {len(text) // 2}")
    return text


HEX: Final = Reader("hex", _read_text)
KEY_READER: Final = Reader("hex", read_key_text)
