"""Why did the pool refuse a transaction?

One class for each of Substrate's pool errors; `str()` is the form in which Rust prints the value, which
clients of the official node know (`InvalidTransaction(Payment)`, `TooLowPriority { old: 1, new: 1 }`).
"""

from __future__ import annotations

from cfnode.core.validity import Invalid, Unknown


class PoolError(Exception):
    """The pool refused the transaction."""


class BadFormat(PoolError):
    """The extrinsic is malformed."""


class VerificationFailed(PoolError):
    """The runtime could not validate it: it trapped, or the state of the block is pruned."""


class NotJudged(VerificationFailed):
    """This node could not call the runtime: the transaction may well be valid."""


class InvalidTransaction(PoolError):
    """The runtime calls it invalid; `reason` says why."""

    def __init__(self, reason: Invalid) -> None:
        super().__init__(f"InvalidTransaction({reason})")
        self.reason = reason


class UnknownTransaction(PoolError):
    """The runtime cannot decide whether it is valid."""

    def __init__(self, reason: Unknown) -> None:
        super().__init__(f"UnknownTransaction({reason})")
        self.reason = reason


class TemporarilyBanned(PoolError):
    """It was found invalid, dropped or included within the last half hour."""

    def __init__(self) -> None:
        super().__init__("TemporarilyBanned")


class AlreadyImported(PoolError):
    """It is in the pool already."""

    def __init__(self, tx_hash: bytes) -> None:
        super().__init__(f"AlreadyImported(0x{tx_hash.hex()})")
        self.hash = tx_hash


class TooLowPriority(PoolError):
    """Others in the pool provide the same tags, and their priorities together (`old`) are not below `new`."""

    def __init__(self, old: int, new: int) -> None:
        super().__init__(f"TooLowPriority {{ old: {old}, new: {new} }}")
        self.old = old
        self.new = new


class CycleDetected(PoolError):
    """It would replace a transaction that it depends on."""

    def __init__(self) -> None:
        super().__init__("CycleDetected")


class ImmediatelyDropped(PoolError):
    """The pool is full of transactions with a higher priority."""

    def __init__(self) -> None:
        super().__init__("ImmediatelyDropped")


class Unactionable(PoolError):
    """It must not be sent to peers, and this node makes no blocks: no block could include it."""

    def __init__(self) -> None:
        super().__init__("Unactionable")


class NoTagsProvided(PoolError):
    """It provides no tag, so nothing would keep it from being included twice."""

    def __init__(self) -> None:
        super().__init__("NoTagsProvided")
