"""Why can a failed transfer not be recovered just now? Each reason with what to do about it.

All are SdkErrors with a `code` that never changes; the command line's exit codes have the same names.
"""

from __future__ import annotations

from cfnode.sdk.errors import SdkError, ValidationError
from cfnode.sdk.recovery.transaction import PendingTransaction

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
    "WouldRevert",
    "WrongChain",
    "WrongPassword",
]


class RecoveryError(SdkError):
    """A recovery that cannot go on; `code` is stable, the text says what to do."""

    code = "RECOVERY"


class NoSuchCall(RecoveryError):
    """No failed call has that number, or nothing belongs to that swap: look at the number."""

    code = "NO_SUCH_CALL"


class IsBatch(NoSuchCall):
    """The number is that of a batch of transfers: one that failed has a call with a number of its own."""


class Expired(RecoveryError):
    """The call was offered in the epoch of the failure and in the next, and is gone for good."""

    code = "EXPIRED"


class BeingSigned(RecoveryError):
    """The call waits for its signature, after the failure or an epoch change: ask again in some blocks."""

    code = "BEING_SIGNED"


class AlreadySent(RecoveryError):
    """The signature's nonce is used: somebody has sent the call, and the receiver has the funds."""

    code = "ALREADY_SENT"


class WrongChain(RecoveryError):
    """The EVM node serves another chain than the signature is for, or other contracts: ask another one."""

    code = "WRONG_CHAIN"


class KeyRotated(RecoveryError):
    """Another key has signed than the contract holds now: fetch the payload again in some minutes."""

    code = "KEY_ROTATED"


class Pending(RecoveryError):
    """A transaction waits for its block, and another one could pay the gas twice; `transactions` waits."""

    code = "PENDING"

    def __init__(self, message: str, transactions: tuple[PendingTransaction, ...]) -> None:
        super().__init__(message)
        self.transactions = transactions


class NeedsArchive(RecoveryError):
    """The blocks that would tell are older than the states that the node keeps: ask an archive node."""

    code = "NEEDS_ARCHIVE"


class NoFundsForGas(RecoveryError):
    """The sending account has less than the gas may cost: send it some of the chain's own coin."""

    code = "NO_GAS_FUNDS"


class WouldRevert(RecoveryError):
    """The call would fail on the chain; `reason` is the contract's own text, or "" without one."""

    code = "WOULD_REVERT"

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class BadPayload(RecoveryError):
    """The node's answer is no call of the vault, or signed by no key of the State Chain: ask another node."""

    code = "BAD_PAYLOAD"


class MissingExtra(RecoveryError):
    """The libraries for signing are not installed: cfnode's extra `evm` has them."""

    code = "MISSING_EXTRA"


class KeyFileError(ValidationError):
    """The file with the sender's key cannot be used."""

    code = "KEY_FILE"

    def __init__(self, message: str) -> None:
        super().__init__("key", message)


class WrongPassword(KeyFileError):
    """The keystore does not open with this password."""
