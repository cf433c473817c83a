"""Fields of a JSON document with their paths, and readers whose errors name the path.

A `JsonValue` is a value and the path to it. Each reader checks the type and a bound; its error names the
path: `genesis.raw.top["0x3a636f6465"]: odd number of hex digits`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from cfnode.core.chainspec.errors import ChainSpecError
from cfnode.core.foreign import ForeignError, JsonLimits, require_light

__all__ = ["JsonValue"]

MAX_SPEC_BYTES = 256 << 20
CHAIN_SPEC_JSON_LIMITS = JsonLimits(
    size=MAX_SPEC_BYTES, values=10_000_000, filling=MAX_SPEC_BYTES, wide=MAX_SPEC_BYTES
)
"""A raw specification has two values for each entry of the genesis state, millions in all."""
MAX_SPEC_TEXT = 4096
MAX_PRINTED_KEY = 90
HEX = re.compile(r"0x[0-9a-fA-F]*", re.ASCII)
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
KINDS = {
    dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number",
    float: "a fraction",
}  # fmt: skip


class _Object(dict[str, Any]):
    """A JSON object that records a repeated name."""

    repeated: str | None = None

    @classmethod
    def of(cls, pairs: list[tuple[str, Any]]) -> _Object:
        json_object = cls(pairs)
        if len(json_object) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            json_object.repeated = counts.most_common(1)[0][0]
        return json_object


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A JSON value at `path` of the document named `source`."""

    raw: Any
    path: str
    source: str

    @classmethod
    def parse(cls, text: str | bytes, source: str) -> JsonValue:
        """Return the value of a whole document; raise ChainSpecError."""
        try:
            data = text.encode() if isinstance(text, str) else text
            require_light(data, CHAIN_SPEC_JSON_LIMITS)
            text = data.decode()
            return cls(json.loads(text, object_pairs_hook=_Object.of, parse_constant=_refuse), "", source)
        except UnicodeDecodeError as error:
            raise ChainSpecError(source, "", f"not UTF-8 text (byte {error.start})") from None
        except json.JSONDecodeError as error:
            location = f"line {error.lineno}, column {error.colno}"
            raise ChainSpecError(source, "", f"not JSON: {error.msg} ({location})") from None
        except ForeignError as error:
            raise ChainSpecError(source, "", str(error)) from None
        except ValueError as error:
            raise ChainSpecError(source, "", f"not JSON: {error}") from None

    def fail(self, problem: str) -> NoReturn:
        """Raise ChainSpecError for this value."""
        raise ChainSpecError(self.source, self.path, problem)

    @property
    def is_null(self) -> bool:
        """Whether the field is absent or null."""
        return self.raw is None

    def get(self, name: str) -> JsonValue:
        """Return a field of this object; an absent one reads as null."""
        self._want(dict)
        return JsonValue(self.raw.get(name), _join(self.path, name), self.source)

    def items(self, limit: int) -> Iterator[tuple[str, JsonValue]]:
        """Return the fields of this object, at most `limit` of them."""
        self._want(dict)
        if len(self.raw) > limit:
            self.fail(f"has {len(self.raw)} entries; at most {limit} are read")
        return ((name, self.get(name)) for name in self.raw)

    def elements(self, limit: int, length: int | None = None) -> list[JsonValue]:
        """Return the elements of this list: at most `limit`, and exactly `length` if that is given."""
        self._want(list)
        if length is not None and len(self.raw) != length:
            self.fail(f"must have {length} elements, not {len(self.raw)}")
        if len(self.raw) > limit:
            self.fail(f"has {len(self.raw)} elements; at most {limit} are read")
        return [JsonValue(raw, f"{self.path}[{i}]", self.source) for i, raw in enumerate(self.raw)]

    def text(self) -> str:
        """Return a text that is not empty."""
        self._want(str)
        if not self.raw or len(self.raw) > MAX_SPEC_TEXT:
            self.fail("is empty" if not self.raw else f"is longer than {MAX_SPEC_TEXT} characters")
        return str(self.raw)

    def integer(self, limit: int) -> int:
        """Return a whole number from 0 to `limit`."""
        if isinstance(self.raw, bool) or not isinstance(self.raw, int):
            self.fail(f"must be a whole number, not {_kind(self.raw)}")
        if not 0 <= self.raw <= limit:
            self.fail(f"must lie in 0..{limit}")
        return self.raw

    def hex(self, limit: int, length: int | None = None) -> bytes:
        """Return bytes in hexadecimal with 0x, at most `limit` of them or exactly `length`."""
        self._want(str)
        return self._bytes(self.raw, limit, length)

    def key(self, name: str, limit: int) -> bytes:
        """Return the bytes that a field's name encodes, at most `limit` of them; this value is the field."""
        return self._bytes(name, limit, None)

    def _bytes(self, text: str, limit: int, length: int | None) -> bytes:
        if not HEX.fullmatch(text):
            self.fail("must be hexadecimal and begin with 0x")
        if len(text) % 2:
            self.fail("odd number of hex digits")
        count = len(text) // 2 - 1
        if length is not None and count != length:
            self.fail(f"must be {length} bytes, not {count}")
        if count > limit:
            self.fail(f"is {count} bytes; at most {limit} are read")
        return bytes.fromhex(text[2:])

    def _want(self, kind: type) -> None:
        if not isinstance(self.raw, kind):
            self.fail(
                f"must be {KINDS[kind]}, not {_kind(self.raw)}" if self.raw is not None else "is missing"
            )
        if isinstance(self.raw, _Object) and self.raw.repeated is not None:
            JsonValue(None, _join(self.path, self.raw.repeated), self.source).fail("occurs twice")


def _kind(raw: Any) -> str:
    return next((words for kind, words in KINDS.items() if isinstance(raw, kind)), "null")


def _join(path: str, name: str) -> str:
    if PLAIN_NAME.fullmatch(name):
        return f"{path}.{name}" if path else name
    printed = name if len(name) <= MAX_PRINTED_KEY else f"{name[:MAX_PRINTED_KEY]}…"
    return f"{path}[{json.dumps(printed, ensure_ascii=False)}]"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")
