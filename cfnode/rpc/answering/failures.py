"""Error replies to failed calls, and the collected answers to a batch.

An error stands under the call's id; the answers to a batch are in the order of its entries.
"""

from __future__ import annotations

from typing import Final

from cfnode.core import jsonrpc
from cfnode.core.jsonrpc import ErrorCode, RpcError
from cfnode.rpc.answering.reply import TooLargeError, batch
from cfnode.rpc.table.errors import explain
from cfnode.serving.reply import NOTHING, Reply

__all__ = ["Replies", "failed", "failure"]

_LIMIT: Final = "Exceeded max limit of {}"


def failure(identity: bytes, error: RpcError) -> Reply:
    """Return an error reply; empty if the client sent no id."""
    return Reply(jsonrpc.failure(identity, error)) if identity else NOTHING


def failed(identity: bytes, method: str, error: Exception, max_bytes: int) -> Reply:
    """Return the answer to a call whose handler raised `error`.

    `max_bytes`: the maximum size of an answer. An unforeseen exception of a handler costs its own call and a
    log line, no more.
    """
    if isinstance(error, TooLargeError):
        error = RpcError(ErrorCode.RESPONSE_TOO_BIG, "Response is too big", _LIMIT.format(max_bytes))
    return failure(identity, error if isinstance(error, RpcError) else explain(error, method))


class Replies:
    """The answers to a batch, in the order of arrival. `max_bytes`: their maximum total size."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._size = 0
        self._replies: dict[int, Reply] = {}

    def put(self, place: int, reply: Reply) -> None:
        """Add the answer to the entry at `place`; it is empty for a notification."""
        self._size += reply.size + 1
        if reply and not self.are_too_big:
            self._replies[place] = reply

    @property
    def are_too_big(self) -> bool:
        """Whether the answers exceed `max_bytes`."""
        return self._size > self._max_bytes

    @property
    def together(self) -> Reply:
        """The reply to the batch: the answers in the order of the entries, or one error for all."""
        if self.are_too_big:
            text, limit = "The batch response was too large", _LIMIT.format(self._max_bytes)
            return failure(jsonrpc.NULL, RpcError(ErrorCode.BATCH_RESPONSE_TOO_BIG, text, limit))
        return batch(self._replies[index] for index in sorted(self._replies))
