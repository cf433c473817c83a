"""Validity of a transaction as the runtime reports it: valid, invalid or unknown.

It is the result of `TaggedTransactionQueue_validate_transaction` (Substrate,
`sp_runtime::transaction_validity`): `Result<ValidTransaction, TransactionValidityError>`. The names of the
reasons are Substrate's; clients read them.
"""

from __future__ import annotations

from dataclasses import dataclass

from cfnode.core.scale import ByteCursor, ScaleError

INVALID = (
    "Call",
    "Payment",
    "Future",
    "Stale",
    "BadProof",
    "AncientBirthBlock",
    "ExhaustsResources",
    "Custom",
    "BadMandatory",
    "MandatoryValidation",
    "BadSigner",
    "IndeterminateImplicit",
    "UnknownOrigin",
)
UNKNOWN = ("CannotLookup", "NoUnsignedValidator", "Custom")

SOURCE_IN_BLOCK, SOURCE_LOCAL, SOURCE_EXTERNAL = 0, 1, 2
"""Sources of a transaction, an argument of the runtime call."""


@dataclass(frozen=True, slots=True)
class ValidTransaction:
    """Order and lifetime of a valid transaction.

    It may enter a block after transactions that provided all `requires`; of two that provide the same tag
    only one may be in the pool; `longevity` counts blocks from validation; `propagate`: it may be sent to
    peers.
    """

    priority: int
    requires: tuple[bytes, ...]
    provides: tuple[bytes, ...]
    longevity: int
    propagate: bool


@dataclass(frozen=True, slots=True)
class Invalid:
    """The transaction can never (or not now) enter a block. `code` belongs to the reason `Custom`."""

    reason: str
    code: int | None = None

    def __str__(self) -> str:
        """Return the reason, with the code of a custom one in parentheses."""
        return self.reason if self.code is None else f"{self.reason}({self.code})"


@dataclass(frozen=True, slots=True)
class UnknownValidity:
    """The runtime cannot determine the validity. `code` belongs to the reason `Custom`."""

    reason: str
    code: int | None = None

    def __str__(self) -> str:
        """Return the reason, with the code of a custom one in parentheses."""
        return self.reason if self.code is None else f"{self.reason}({self.code})"


Validity = ValidTransaction | Invalid | UnknownValidity


def decode_validity(data: bytes) -> Validity:
    """Return the answer of `TaggedTransactionQueue_validate_transaction`; raise ScaleError."""
    cursor = ByteCursor(data)
    answer = decode_validity_error(cursor) if cursor.boolean() else _valid(cursor)
    cursor.finish()
    return answer


def decode_validity_error(cursor: ByteCursor) -> Invalid | UnknownValidity:
    """Return the `TransactionValidityError` at the cursor; raise ScaleError."""
    unknown = cursor.boolean()
    names = UNKNOWN if unknown else INVALID
    index = cursor.u8()
    if index >= len(names):
        raise ScaleError(f"unknown transaction validity reason {index}")
    code = cursor.u8() if names[index] == "Custom" else None
    return UnknownValidity(names[index], code) if unknown else Invalid(names[index], code)


def _valid(cursor: ByteCursor) -> ValidTransaction:
    priority = cursor.u64()
    requires, provides = _tags(cursor), _tags(cursor)
    return ValidTransaction(priority, requires, provides, cursor.u64(), cursor.boolean())


def _tags(cursor: ByteCursor) -> tuple[bytes, ...]:
    return tuple(cursor.bytes() for _ in range(cursor.count()))
