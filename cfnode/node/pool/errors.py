"""Errors of the transaction pool: the reasons why it refuses a transaction.

One class for each of Substrate's pool errors; `str()` is the form in which Rust prints the value, which
clients of the official node know (`InvalidTransaction(Payment)`, `TooLowPriority { old: 1, new: 1 }`).
"""

from __future__ import annotations

from cfnode.core.validity import Invalid, UnknownValidity


class PoolError(Exception):
    """The pool's refusal of a transaction."""


class BadFormat(PoolError):
    """A malformed extrinsic."""


class VerificationFailed(PoolError):
    """A transaction that the runtime could not validate: it trapped, or the state of the block is pruned."""


class NotJudged(VerificationFailed):
    """A transaction that may well be valid, but this node could not call the runtime."""


class InvalidTransaction(PoolError):
    """A transaction that the runtime calls invalid; `reason` is the runtime's."""

    def __init__(self, reason: Invalid) -> None:
        super().__init__(f"InvalidTransaction({reason})")
        self.reason = reason


class UnknownTransaction(PoolError):
    """A transaction whose validity the runtime cannot decide; `reason` is the runtime's."""

    def __init__(self, reason: UnknownValidity) -> None:
        super().__init__(f"UnknownTransaction({reason})")
        self.reason = reason


class TemporarilyBanned(PoolError):
    """A transaction that was found invalid, dropped or included within the last half hour."""

    def __init__(self) -> None:
        super().__init__("TemporarilyBanned")


class AlreadyImported(PoolError):
    """A transaction that is in the pool already."""

    def __init__(self, tx_hash: bytes) -> None:
        super().__init__(f"AlreadyImported(0x{tx_hash.hex()})")
        self.hash = tx_hash


class TooLowPriority(PoolError):
    """A transaction with too low a priority to replace others that provide the same tags.

    The priorities of those others together (`old`) are not below `new`.
    """

    def __init__(self, old: int, new: int) -> None:
        super().__init__(f"TooLowPriority {{ old: {old}, new: {new} }}")
        self.old = old
        self.new = new


class CycleDetected(PoolError):
    """A transaction that would replace one that it depends on."""

    def __init__(self) -> None:
        super().__init__("CycleDetected")


class ImmediatelyDropped(PoolError):
    """A transaction dropped since the pool is full of transactions with a higher priority."""

    def __init__(self) -> None:
        super().__init__("ImmediatelyDropped")


class Unactionable(PoolError):
    """A transaction that no block could include: it is not for peers, and this node makes no blocks."""

    def __init__(self) -> None:
        super().__init__("Unactionable")


class NoTagsProvided(PoolError):
    """A transaction without tags, so nothing would keep it from being included twice."""

    def __init__(self) -> None:
        super().__init__("NoTagsProvided")
