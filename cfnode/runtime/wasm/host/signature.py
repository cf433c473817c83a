"""Signatures of host functions: how WebAssembly passes their arguments and results.

Polkadot's host functions pass numbers as they are, arrays of fixed size as a pointer (i32), and everything
else as a span (i64: pointer in the low half, length in the high half). The functions themselves take plain
`bytes` and `int`; their signature declares how these are passed. Names are those of the imports.

Arguments: `data` is a span of bytes; `buffer` a span to be written to, of which the function gets the length;
`b32`, `b33`, `b64`, `b65` a pointer to that many bytes; `u32` and `u64` numbers.

Results: `data` a span of new memory; `pointer` a pointer to new memory, whose size both sides know; `u32`,
`u64`; None. A function with a `buffer` also returns the bytes to be written: `(written, result)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

__all__ = [
    "Argument",
    "HostError",
    "HostSignature",
    "Result",
    "host_function",
    "host_functions",
    "state_version",
]

Argument = Literal["data", "buffer", "b32", "b33", "b64", "b65", "u32", "u64"]
Result = Literal["data", "pointer", "u32", "u64"] | None
ARRAY_SIZES: dict[Argument, int] = {"b32": 32, "b33": 33, "b64": 64, "b65": 65}
_WIDE = ("data", "buffer", "u64")


class HostError(Exception):
    """A host function was misused; the runtime traps with this text."""


@dataclass(frozen=True, slots=True)
class HostSignature:
    """The form in which arguments and result are passed."""

    arguments: tuple[Argument, ...]
    result: Result

    @property
    def parameter_types(self) -> list[str]:
        """The WebAssembly types of the parameters."""
        return ["i64" if kind in _WIDE else "i32" for kind in self.arguments]

    @property
    def result_types(self) -> list[str]:
        """The WebAssembly types of the results: one or none."""
        return [] if self.result is None else ["i64" if self.result in _WIDE else "i32"]


Function = TypeVar("Function", bound=Callable[..., Any])


def host_function(*arguments: Argument, result: Result = None) -> Callable[[Function], Function]:
    """Mark a method as the host function of its name."""

    def mark(function: Function) -> Function:
        function.__dict__["signature"] = HostSignature(arguments, result)
        return function

    return mark


def host_functions(host: type) -> dict[str, HostSignature]:
    """Return the host functions of a class, its bases' included, by name."""
    signatures = ((name, getattr(getattr(host, name), "signature", None)) for name in dir(host))
    return {name: signature for name, signature in signatures if isinstance(signature, HostSignature)}


def state_version(number: int) -> int:
    """Return the state version, checked to be 0 or 1. Raises HostError."""
    if number not in (0, 1):
        raise HostError(f"there is no state version {number}")
    return number
