"""The failures of a call and of a transaction: dispatch errors and validity errors.

`DispatchError` ends a call: the extrinsic stays in the block, its writes are undone, its fee is paid.
`TransactionValidityError` keeps a transaction out of the block altogether. Where a runtime in WebAssembly
would trap (a bad block, malformed arguments) the executor's `RuntimeTrap` is raised: there is no result at
all. (Polkadot spec, "Transaction validity"; the enums of sp_runtime as the metadata names them.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from cfnode.runtime.calls import RuntimeTrap

__all__ = [
    "DispatchError",
    "DispatchErrorValue",
    "DispatchResult",
    "RuntimeTrap",
    "TransactionValidityError",
    "ValidityErrorValue",
    "bad_origin",
    "invalid",
    "unknown",
]


ModuleError = Mapping[str, int | bytes]
"""`index` of the pallet and `error`, four bytes."""
DispatchErrorValue = str | tuple[Literal["Token", "Arithmetic"], str] | tuple[Literal["Module"], ModuleError]
DispatchResult = tuple[Literal["Ok"], tuple[()]] | tuple[Literal["Err"], DispatchErrorValue]
ValidityErrorValue = tuple[Literal["Invalid", "Unknown"], str | tuple[str, int]]


class DispatchError(Exception):
    """A failed call: `value` is sp_runtime's `DispatchError` in the value mapping of core.scale.

    `name` is that of a pallet's own error, which runtime APIs return; it is not part of the value.
    """

    def __init__(self, value: DispatchErrorValue, text: str = "", name: str | None = None) -> None:
        super().__init__(text or (value if isinstance(value, str) else repr(value)))
        self.value = value
        self.name = name

    @classmethod
    def module(cls, pallet: int, error: int, text: str, name: str | None = None) -> DispatchError:
        """Create an error that a pallet declares; `text` is for people, the wire has the two indices."""
        value: ModuleError = {"index": pallet, "error": bytes([error, 0, 0, 0])}
        return cls(("Module", value), text, name)


def bad_origin() -> DispatchError:
    """Create the error of a call whose origin may not make it."""
    return DispatchError("BadOrigin")


class TransactionValidityError(Exception):
    """A transaction that may not enter this block: `value` is the enum of sp_runtime."""

    def __init__(self, value: ValidityErrorValue) -> None:
        super().__init__(repr(value))
        self.value = value


def invalid(kind: str, custom: int | None = None) -> TransactionValidityError:
    """Create an `Invalid` error: wrong at this state on every node.

    Kinds: Call, Payment, Future, Stale, BadProof, ….
    """
    return TransactionValidityError(("Invalid", kind if custom is None else (kind, custom)))


def unknown(kind: str) -> TransactionValidityError:
    """Create an `Unknown` error: this runtime cannot decide. Kinds: CannotLookup, NoUnsignedValidator."""
    return TransactionValidityError(("Unknown", kind))
