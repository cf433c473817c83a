"""Cursor over finalized blocks for an account's fills.

It leaves no gap and repeats no block, also when the node is unreachable for a while.
"""

from __future__ import annotations

from cfnode.sdk.errors import BadAnswer, SdkError, TransportError
from cfnode.sdk.lp.answers import BlockFills

__all__ = ["FILL_POLL_S", "FillCursor", "Patience", "failures_in_a_minute"]

FILL_POLL_S = 6.0
"""Polling interval: one State Chain block."""
UNREACHABLE_NODE_TIMEOUT_S = 60.0
"""Seconds for which an unreachable node is tried again."""
MIN_FAILURES = 5


def failures_in_a_minute(seconds: float) -> int:
    """Return how many tries in a row may fail, `seconds` apart: those of a minute, at least five."""
    return max(MIN_FAILURES, int(UNREACHABLE_NODE_TIMEOUT_S / max(seconds, 0.01)))


class Patience:
    """A counter of a connection's failures in a row; `most` of them may be temporary."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._failed = 0

    def fail(self, error: SdkError) -> None:
        """Count a failure; raise the error if it is permanent, or one of too many."""
        self._failed += 1
        is_temporary = isinstance(error, TransportError) and error.retryable
        if self._failed > self._most or not is_temporary:
            raise error

    def succeed(self) -> None:
        """Reset the count: the connection works again."""
        self._failed = 0


class FillCursor:
    """A cursor that receives the result of each request for fills, and returns the blocks that follow."""

    def __init__(self, since: int | None, failures: int) -> None:
        self.next = since
        self._patience = Patience(failures)

    def receive(self, result: tuple[BlockFills, ...] | SdkError) -> tuple[BlockFills, ...]:
        """Return the blocks in their order; raise a permanent error, or the last of too many in a row.

        Raises BadAnswer for a block that does not follow the last one.
        """
        if isinstance(result, SdkError):
            self._patience.fail(result)
            return ()
        self._patience.succeed()
        for block in result:
            if block.block_number != self.next:
                text = f"the node answered with block {block.block_number} in place of {self.next}"
                raise BadAnswer(text, url="", sent=True, retryable=False)
            self.next = block.block_number + 1
        return result
