"""Errors of a recovery, one for each reason, with what to do about it.

All are SdkErrors with a stable `code`; the command line's exit codes have the same names.
"""

from __future__ import annotations

from typing import ClassVar

from cfnode.sdk.errors import ErrorCode, SdkError, ValidationError
from cfnode.sdk.recovery.transaction import PendingTransaction, UnsignedTransaction

__all__ = [
    "AlreadySent",
    "BadPayload",
    "BeingSigned",
    "Expired",
    "IsBatch",
    "KeyFileError",
    "KeyRotated",
    "MissingExtra",
    "NeedsArchive",
    "NoFundsForGas",
    "NoSuchCall",
    "Pending",
    "RecoveryError",
    "TooExpensive",
    "WouldRevert",
    "WrongChain",
    "WrongPassword",
]


class RecoveryError(SdkError):
    """A recovery cannot continue; `code` is stable, the text states what to do."""

    code: ClassVar[ErrorCode] = "RECOVERY"


class NoSuchCall(RecoveryError):
    """No failed call has that number, or nothing of that swap failed: check the number."""

    code: ClassVar[ErrorCode] = "NO_SUCH_CALL"


class IsBatch(NoSuchCall):
    """The number is that of a batch of transfers: a failed transfer has a call with its own number."""


class Expired(RecoveryError):
    """The call was on offer in the epoch of the failure and in the next, and has expired for good."""

    code: ClassVar[ErrorCode] = "EXPIRED"


class BeingSigned(RecoveryError):
    """The call waits for its signature, after the failure or an epoch change: try again in some blocks."""

    code: ClassVar[ErrorCode] = "BEING_SIGNED"


class AlreadySent(RecoveryError):
    """The signature's nonce is used: the call has been sent, and the receiver has the funds.

    A receiver that rejected its transfer of a batch gets a call of its own.
    """

    code: ClassVar[ErrorCode] = "ALREADY_SENT"


class WrongChain(RecoveryError):
    """The EVM node serves another chain than that of the signature, or other contracts: use another node."""

    code: ClassVar[ErrorCode] = "WRONG_CHAIN"


class KeyRotated(RecoveryError):
    """The contract now holds another key than the signer's: fetch the payload again in some minutes."""

    code: ClassVar[ErrorCode] = "KEY_ROTATED"


class Pending(RecoveryError):
    """Another transaction is pending, and a second one could pay the gas twice.

    `transactions` has the pending ones.
    """

    code: ClassVar[ErrorCode] = "PENDING"

    def __init__(self, message: str, transactions: tuple[PendingTransaction, ...]) -> None:
        super().__init__(message)
        self.transactions = transactions


class NeedsArchive(RecoveryError):
    """The needed blocks are older than the states that the node keeps: use an archive node."""

    code: ClassVar[ErrorCode] = "NEEDS_ARCHIVE"


class NoFundsForGas(RecoveryError):
    """The sending account has less than the gas may cost: send it some of the chain's own coin."""

    code: ClassVar[ErrorCode] = "NO_GAS_FUNDS"


class TooExpensive(RecoveryError):
    """The gas may cost more than the maximum fee; `transaction` is the one that was not accepted."""

    code: ClassVar[ErrorCode] = "TOO_EXPENSIVE"

    def __init__(self, message: str, transaction: UnsignedTransaction) -> None:
        super().__init__(message)
        self.transaction = transaction


class WouldRevert(RecoveryError):
    """The call would fail on the chain; `reason` is the contract's own text, or "" without one."""

    code: ClassVar[ErrorCode] = "WOULD_REVERT"

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class BadPayload(RecoveryError):
    """The payload is not a call of the vault, or not signed by a key of the State Chain: use another node."""

    code: ClassVar[ErrorCode] = "BAD_PAYLOAD"


class MissingExtra(RecoveryError):
    """The libraries for signing are not installed: cfnode's extra `evm` has them."""

    code: ClassVar[ErrorCode] = "MISSING_EXTRA"


class KeyFileError(ValidationError):
    """The file with the sender's key cannot be used."""

    code: ClassVar[ErrorCode] = "KEY_FILE"

    def __init__(self, message: str) -> None:
        super().__init__("key", message)


class WrongPassword(KeyFileError):
    """The password of the keystore is wrong."""
