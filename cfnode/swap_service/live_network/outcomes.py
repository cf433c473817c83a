"""Outcomes of failed calls to the broker: nothing was opened, or it is not known whether."""

from __future__ import annotations

from typing import Final

from cfnode.core.jsonrpc import ErrorCode
from cfnode.ledger.errors import CallError, NodeError

__all__ = ["UnknownOutcome", "opened_nothing"]

POOL_CLIENT_ERROR: Final = -32024
"""Code of each fault of a submission, before and after it was sent."""
_NOTHING_DONE: Final = frozenset(
    (
        *(ErrorCode.PARSE_ERROR, ErrorCode.INVALID_REQUEST, ErrorCode.METHOD_NOT_FOUND),
        *(ErrorCode.INVALID_PARAMS, ErrorCode.CALL_FAILED, ErrorCode.SERVER_BUSY),
        *(-32020, -32021, -32026),
    )
)
"""Codes of calls that did nothing, of JSON-RPC and of Chainflip's nodes: malformed, refused by a dry run, not
synced, busy."""
_NOT_IN_THE_POOL: Final = range(1000, 1100)
"""Codes of Substrate for a transaction that the pool refuses."""
_PERHAPS_DONE: Final = ("may still be executed", "end of stream", "transaction 0x")
"""Texts in a submission's faults after it was sent; those of the status stream begin with a quote."""


class UnknownOutcome(NodeError):
    """Request that was sent without an answer that states whether a channel was opened."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"it is not known whether the channel was opened: {reason}")


def opened_nothing(error: CallError) -> bool:
    """Return whether a node refused a broker's call before it was in a block.

    The error's code decides, and for the code of all faults of a submission its text. An error that is not
    listed counts as unknown: False.
    """
    if error.code != POOL_CLIENT_ERROR:
        return error.code in _NOTHING_DONE or error.code in _NOT_IN_THE_POOL
    text = str(error).removeprefix(f"{error.method}: ")
    return not text.startswith('"') and not any(phrase in text for phrase in _PERHAPS_DONE)
