"""A change of modules: a runtime that imports its memory gets a memory of its own.

A module's own memory is mapped from its initial image, copy on write: an instance costs what it changes. An
imported one is filled at each instantiation: 1.3 MB for the main net's runtime, two thirds of a small call.
So the import becomes a definition, with the same index and size, and is exported; the code stays as it is.
Substrate does the same.

WebAssembly core specification, binary format of modules.
"""

from __future__ import annotations

from collections.abc import Iterator

from cfnode.runtime.calls import UnsupportedCode
from cfnode.runtime.wasm.code import PREAMBLE, leb128, sections

__all__ = ["MEMORY", "with_own_memory"]

MEMORY = "memory"
"""The name by which runtimes import their memory, from `env`, or export it."""
_IMPORTED, _EXPORTED = b"\x03env\x06memory", b"\x06memory\x02\x00"
_IMPORTS, _MEMORIES, _EXPORTS = 2, 5, 7
_MEMORY = 2
_HAS_MAX = 1
_CUSTOM = 0
_ORDER = (1, 2, 3, 4, 5, 13, 6, 7, 8, 9, 12, 10, 11)
"""The order of the kinds of sections; custom ones may be anywhere."""


def with_own_memory(module: bytes) -> bytes:
    """Return a module without the import `env.memory`; any other module as it is.

    Raises UnsupportedCode.
    """
    bodies = [(kind, module[start:end]) for kind, start, end in sections(module)]
    contents = {kind: body for kind, body in bodies if kind != _CUSTOM}
    imports = _Imports(contents.get(_IMPORTS, b"\0"))
    if imports.memory is None:
        return module
    changed_sections = {
        _IMPORTS: imports.without_memory,
        _MEMORIES: _first(imports.memory, contents.get(_MEMORIES)),
    }
    exports = contents.get(_EXPORTS, b"\0")
    if MEMORY.encode() not in _exported(exports):
        changed_sections[_EXPORTS] = _first(_EXPORTED, exports)
    parts = [PREAMBLE]
    for kind, body in bodies:
        if kind != _CUSTOM:
            missing = [section for section in changed_sections if _comes_before(section, kind)]
            parts.extend(_section(section, changed_sections.pop(section)) for section in missing)
            body = changed_sections.pop(kind, body)
        parts.append(_section(kind, body))
    return b"".join(parts) + b"".join(_section(kind, body) for kind, body in changed_sections.items())


class _Imports:
    """The imports of a module: the limits of its memory, if it is among them, and all others."""

    def __init__(self, body: bytes) -> None:
        self.memory: bytes | None = None
        other_imports = []
        for start, end, kind in _entries(body):
            if kind == _MEMORY and body[start:end].startswith(_IMPORTED) and self.memory is None:
                self.memory = body[start + len(_IMPORTED) + 1 : end]
            else:
                other_imports.append(body[start:end])
        self.without_memory = _number(len(other_imports)) + b"".join(other_imports)


def _entries(body: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and kind of each import."""
    count, offset = leb128(body, 0)
    for _ in range(count):
        start = offset
        for _ in range(2):  # the names of module and item
            size, offset = leb128(body, offset)
            offset += size
        kind = _byte(body, offset)
        offset = _after_type(body, offset + 1, kind)
        yield start, offset, kind


def _after_type(body: bytes, offset: int, kind: int) -> int:
    """Return the offset after the type of an import. Raises UnsupportedCode."""
    match kind:
        case 0:  # a function
            return leb128(body, offset)[1]
        case 1:  # a table
            return _after_limits(body, offset + 1)
        case 2:  # a memory
            return _after_limits(body, offset)
        case 3:  # a global
            return offset + 2
        case _:
            raise UnsupportedCode(f"the state's code imports something of the unknown kind {kind}")


def _after_limits(body: bytes, offset: int) -> int:
    flags = _byte(body, offset)
    _, offset = leb128(body, offset + 1)
    return leb128(body, offset)[1] if flags & _HAS_MAX else offset


def _exported(body: bytes) -> set[bytes]:
    """Return the names of all exports."""
    names = set()
    count, offset = leb128(body, 0)
    for _ in range(count):
        size, offset = leb128(body, offset)
        names.add(body[offset : offset + size])
        _, offset = leb128(body, offset + size + 1)
    return names


def _first(entry: bytes, body: bytes | None) -> bytes:
    """Return a section with one more entry before all others."""
    if body is None:
        return b"\x01" + entry
    count, offset = leb128(body, 0)
    return _number(count + 1) + entry + body[offset:]


def _comes_before(kind: int, other: int) -> bool:
    return other in _ORDER and _ORDER.index(kind) < _ORDER.index(other)


def _section(kind: int, body: bytes) -> bytes:
    return bytes((kind,)) + _number(len(body)) + body


def _number(number: int) -> bytes:
    """Encode a number in LEB128."""
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*written, number))


def _byte(body: bytes, offset: int) -> int:
    if offset >= len(body):
        raise UnsupportedCode("the module ends in the middle of an import")
    return body[offset]
