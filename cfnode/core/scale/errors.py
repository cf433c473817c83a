"""Errors of SCALE, with the path to the fault."""

from __future__ import annotations

__all__ = ["NotInMetadataError", "ScaleError", "describe"]

_SHOWN_BITS = 512
_SHOWN_CHARACTERS = 40


class ScaleError(ValueError):
    """Malformed bytes, a value that does not fit its type, or a malformed type table.

    `path` locates the fault, as in `SwapRequest.state.fees[2]`; it is empty for the whole input.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self._steps: list[str] = []

    @property
    def path(self) -> str:
        """The path of the fault, from the outermost type inwards."""
        return "".join(reversed(self._steps)).removeprefix(".")

    def within(self, step: str) -> ScaleError:
        """Add one step outwards (`.name` or `[2]`) to the path, while the error propagates."""
        self._steps.append(step)
        return self

    def __str__(self) -> str:
        """Return the message, after the path of the fault if it has one."""
        return f"{self.path}: {self.message}" if self._steps else self.message


class NotInMetadataError(ScaleError):
    """The metadata has no pallet, storage item, call, error or runtime API of this name."""


def describe(value: object) -> str:
    """Return a short description of a wrong value, without the content of bytes. Never raises."""
    type_name = type(value).__name__
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int):
        return str(value) if value.bit_length() <= _SHOWN_BITS else f"an int of {value.bit_length()} bits"
    if isinstance(value, str):
        short = value if len(value) <= _SHOWN_CHARACTERS else value[:_SHOWN_CHARACTERS] + "…"
        return repr(short)
    if isinstance(value, (bytes, bytearray, list, tuple, dict)):
        return f"{type_name} of length {len(value)}"
    return type_name
