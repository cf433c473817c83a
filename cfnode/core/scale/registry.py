"""Type table of a runtime, and the codecs of its types.

Both directions of a codec are compiled when they are first asked for (`compiler`).
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from cfnode.core.scale.compiler import Classes, Compiler, PythonForm
from cfnode.core.scale.errors import NotInMetadataError, ScaleError
from cfnode.core.scale.kind import Kind
from cfnode.core.scale.types import PortableType

__all__ = ["Codec", "PythonForm", "TypeRegistry"]


class Codec:
    """The encoder and decoder of one type. Cheap to keep; safe to use from several threads."""

    __slots__ = ("_decode", "_encode", "name", "type_id")

    def __init__(self, type_id: int, name: str, kind: Kind) -> None:
        self.type_id = type_id
        self.name = name
        self._encode = kind.encode
        self._decode = kind.decode

    def __repr__(self) -> str:
        """Return name and id of the type."""
        return f"Codec({self.name}, type {self.type_id})"

    def encode(self, value: Any) -> bytes:
        """Return the SCALE bytes of a value; raise ScaleError, which names the part that does not fit."""
        encoded = bytearray()
        try:
            self._encode(value, encoded, 0)
        except ScaleError as error:
            error.within(self.name)
            raise
        except RecursionError:
            raise ScaleError(f"{self.name}: nested too deeply") from None
        return bytes(encoded)

    def decode(self, data: bytes) -> Any:
        """Return the value of the whole input; raise ScaleError, also for bytes after the value."""
        try:
            value, end = self._decode(data if type(data) is bytes else bytes(data), 0, 0)
        except ScaleError as error:
            error.within(self.name)
            raise
        except RecursionError:
            raise ScaleError(f"{self.name}: nested too deeply") from None
        if end != len(data):
            raise ScaleError(
                f"{self.name}: {len(data) - end} bytes follow the value, which ends at offset {end}"
            )
        return value

    def decode_from(self, data: bytes, offset: int) -> tuple[Any, int]:
        """Return the value at `offset` and the offset after it; raise ScaleError."""
        if offset < 0:
            raise ScaleError(f"an offset of {offset} is before the input")
        try:
            return self._decode(data if type(data) is bytes else bytes(data), offset, 0)
        except ScaleError as error:
            error.within(self.name)
            raise
        except RecursionError:
            raise ScaleError(f"{self.name}: nested too deeply") from None


class TypeRegistry:
    """A type table and the codecs of its types. It equals another registry with the same types.

    `classes` are the Python forms, by type id, of types whose values are not to be dicts and tuples.
    """

    __slots__ = ("_by_id", "_classes", "_codecs", "_kinds", "types")

    def __init__(self, types: Sequence[PortableType], classes: Classes = MappingProxyType({})) -> None:
        self.types = tuple(types)
        self._classes = classes
        self._by_id = {row.id: row for row in self.types}
        if len(self._by_id) != len(self.types):
            raise ScaleError("the type table has two types with the same id")
        self._kinds: dict[int, Kind] = {}
        self._codecs: dict[int, Codec] = {}

    def __eq__(self, other: object) -> bool:
        """Compare the type tables; the Python forms do not count."""
        return self.types == other.types if isinstance(other, TypeRegistry) else NotImplemented

    def __hash__(self) -> int:
        """Hash the type table."""
        return hash(self.types)

    def __repr__(self) -> str:
        """Return the number of types instead of the whole table."""
        return f"Registry({len(self.types)} types)"

    def type(self, type_id: int) -> PortableType:
        """Return the row of a type id; raise ScaleError for an unknown one."""
        try:
            return self._by_id[type_id]
        except KeyError:
            raise ScaleError(f"the type table has no type {type_id}") from None

    def find(self, *path: str) -> PortableType:
        """Return the first type whose path ends with these names, as in `find("primitives", "Asset")`.

        Raises NotInMetadataError.
        """
        for row in self.types:
            if row.path[-len(path) :] == path:
                return row
        raise NotInMetadataError(f"the type table has no type {'::'.join(path)}")

    def codec(self, type_id: int) -> Codec:
        """Return the codec of a type, compiled at the first call."""
        codec = self._codecs.get(type_id)
        if codec is None:
            codec = self._codecs[type_id] = self._compile(self.type(type_id))
        return codec

    def _compile(self, row: PortableType) -> Codec:
        compiler = Compiler(self._by_id, self._kinds, self._classes)
        try:
            kind = compiler.kind(row.id)
        except RecursionError:
            raise ScaleError(f"type {row.id} is nested too deeply") from None
        self._kinds.update(compiler.fresh)
        return Codec(row.id, row.path[-1] if row.path else f"type {row.id}", kind)
