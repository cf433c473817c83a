"""The WebAssembly module in a state's `:code`, and its version, which is read without running it.

The code is a module, or a prefix of eight bytes and a module compressed with Zstandard. It is untrusted, so
its size is limited while it expands, not afterwards.

A module has its RuntimeVersion in two custom sections, so that it can be read without compiling:
`runtime_version` holds the fields, with an empty list of APIs, and `runtime_apis` twelve bytes for each API.

Polkadot spec, "Runtime code" and "Runtime version custom section"; WebAssembly core specification, binary
format of modules.
"""

from __future__ import annotations

from collections.abc import Iterator

import zstandard

from cfnode.core.scale import ByteCursor, ScaleError, encode_compact
from cfnode.runtime.calls import UnsupportedCode

__all__ = [
    "COMPRESSED",
    "MAX_CODE_BYTES",
    "PREAMBLE",
    "custom_section",
    "embedded_version",
    "expand",
    "leb128",
    "sections",
]

COMPRESSED = bytes.fromhex("52bc537646db8e05")
"""The prefix of compressed code."""

MAX_CODE_BYTES = 50 << 20
"""Bytes of a module; Substrate's limit for expanded code."""

_SLICE = 1 << 10
"""Bytes given to the decompressor at once. A block of 128 KiB can take 4 bytes, so a slice expands to less
than 32 MiB."""

PREAMBLE = b"\0asm\x01\0\0\0"
_CUSTOM = 0
_MAX_SECTIONS = 1_000
_API_SIZE = 12


def expand(code: bytes) -> bytes:
    """Return the module in `:code`. Raises UnsupportedCode."""
    module = _decompress(code[len(COMPRESSED) :]) if code.startswith(COMPRESSED) else code
    if len(module) > MAX_CODE_BYTES:
        raise _too_large()
    if not module.startswith(PREAMBLE):
        raise UnsupportedCode(
            f"the state's code ({len(code)} bytes, 0x{code[:8].hex()}…) is not a WebAssembly module"
        )
    return module


def _decompress(frame: bytes) -> bytes:
    decompressor = zstandard.ZstdDecompressor().decompressobj()
    parts, size = [], 0
    try:
        for start in range(0, len(frame), _SLICE):
            parts.append(decompressor.decompress(frame[start : start + _SLICE]))
            size += len(parts[-1])
            if size > MAX_CODE_BYTES:
                raise _too_large()
    except zstandard.ZstdError as error:
        raise UnsupportedCode(f"the state's compressed code is damaged: {error}") from error
    if not decompressor.eof:
        raise UnsupportedCode("the state's compressed code ends too early")
    return b"".join(parts)


def _too_large() -> UnsupportedCode:
    return UnsupportedCode(f"the state's code expands to more than {MAX_CODE_BYTES} bytes")


def embedded_version(module: bytes) -> bytes | None:
    """Return the SCALE RuntimeVersion in a module, or None. Raises UnsupportedCode."""
    fields, apis = custom_section(module, "runtime_version"), custom_section(module, "runtime_apis")
    if fields is None or apis is None:
        return None
    if len(apis) % _API_SIZE:
        raise UnsupportedCode("the module's section runtime_apis ends in the middle of an API")
    try:
        cursor = ByteCursor(fields)
        cursor.text(), cursor.text()  # names of specification and implementation
        cursor.take(12)
        start = cursor.offset
        cursor.take(_API_SIZE * cursor.count(_API_SIZE))
    except ScaleError as error:
        raise UnsupportedCode(f"the module's section runtime_version does not decode: {error}") from error
    return fields[:start] + encode_compact(len(apis) // _API_SIZE) + apis + fields[cursor.offset :]


def custom_section(module: bytes, name: str) -> bytes | None:
    """Return the contents of the first custom section of this name, or None. Raises UnsupportedCode."""
    encoded_name = name.encode()
    for kind, start, end in sections(module):
        if kind != _CUSTOM:
            continue
        size, offset = leb128(module, start)
        if offset + size > end:
            raise UnsupportedCode("a custom section of the module is shorter than its name")
        if module[offset : offset + size] == encoded_name:
            return module[offset + size : end]
    return None


def sections(module: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield kind, start and end of the contents of each section. Raises UnsupportedCode."""
    offset = len(PREAMBLE)
    for _ in range(_MAX_SECTIONS):
        if offset == len(module):
            return
        kind = module[offset]
        size, start = leb128(module, offset + 1)
        offset = start + size
        if offset > len(module):
            raise UnsupportedCode("the module ends in the middle of a section")
        yield kind, start, offset
    raise UnsupportedCode(f"the module has more than {_MAX_SECTIONS} sections")


def leb128(data: bytes, offset: int) -> tuple[int, int]:
    """Read an unsigned 32-bit number in LEB128; return it and the offset after it. Raises UnsupportedCode."""
    number = 0
    for index in range(5):
        if offset + index >= len(data):
            raise UnsupportedCode("the module ends in the middle of a number")
        byte = data[offset + index]
        number |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return number, offset + index + 1
    raise UnsupportedCode("a number in the module takes more than five bytes")
