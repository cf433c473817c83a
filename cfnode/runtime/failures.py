"""Failures of calls in the executor process: how the process reports them, and how the node raises them."""

from __future__ import annotations

from cfnode.core.scale import ScaleError
from cfnode.core.trie import MissingNode, TrieError
from cfnode.runtime.calls import (
    BlockRefused,
    Deadline,
    ExecutorMessageTooLarge,
    HostFault,
    LocalFault,
    Missing,
    OutOfMemory,
    ProofRefused,
    RuntimeTrap,
    StoreFault,
    UnknownFunction,
    UnsupportedCode,
)
from cfnode.runtime.frames import Failed, FailureKind
from cfnode.store import StateDiscarded, StoreError, UnknownBlock

__all__ = ["REPORTED", "raised", "reported"]

REPORTED = (
    LocalFault,
    RuntimeTrap,
    UnknownFunction,
    BlockRefused,
    MissingNode,
    TrieError,
    ScaleError,
    UnknownBlock,
    StateDiscarded,
    StoreError,
)
"""The errors of a call that the process reports; any other ends it."""

_BY_TEXT = {
    FailureKind.TRAP: RuntimeTrap,
    FailureKind.UNSUPPORTED_CODE: UnsupportedCode,
    FailureKind.BLOCK_REFUSED: BlockRefused,
    FailureKind.PROOF_REFUSED: ProofRefused,
    FailureKind.STORE_FAULT: StoreFault,
    FailureKind.OUT_OF_MEMORY: OutOfMemory,
    FailureKind.MESSAGE_TOO_LARGE: ExecutorMessageTooLarge,
    FailureKind.HOST_FAULT: HostFault,
}
"""The errors that consist of their text."""
_KINDS: dict[type[Exception], FailureKind] = {error: kind for kind, error in _BY_TEXT.items()}


def reported(request: int, error: Exception) -> Failed:
    """Return the report of an error in `REPORTED`."""
    match error:
        case MissingNode():
            return Failed(request, FailureKind.MISSING_NODE, str(error), error.key, error.child)
        case UnknownBlock():
            return Failed(request, FailureKind.UNKNOWN_BLOCK, str(error), error.block)
        case StateDiscarded():
            return Failed(request, FailureKind.STATE_DISCARDED, str(error), error.block)
        case Deadline():
            return Failed(request, FailureKind.DEADLINE, error.function, repr(error.seconds).encode())
        case UnknownFunction():
            return Failed(request, FailureKind.UNKNOWN_FUNCTION, error.function)
        case ScaleError():
            return Failed(request, FailureKind.TRAP, str(error))
        case TrieError():
            return Failed(request, FailureKind.PROOF_REFUSED, str(error))
        case StoreError():
            return Failed(request, FailureKind.STORE_FAULT, str(error))
        case _ if (kind := _KINDS.get(type(error))) is not None:
            return Failed(request, kind, str(error))
        case _:
            return Failed(request, FailureKind.HOST_FAULT, f"{type(error).__name__}: {error}")


def raised(failed: Failed) -> Exception:
    """Return the error that the process reported, as the node raises it."""
    match failed.kind:
        case FailureKind.MISSING_NODE:
            return Missing(failed.key, failed.child)
        case FailureKind.UNKNOWN_BLOCK:
            return UnknownBlock(failed.key)
        case FailureKind.STATE_DISCARDED:
            return StateDiscarded(failed.key)
        case FailureKind.DEADLINE:
            return Deadline(failed.text, float(failed.key))
        case FailureKind.UNKNOWN_FUNCTION:
            return UnknownFunction(failed.text)
        case kind:
            return _BY_TEXT[kind](failed.text)
