"""Watch of a swap's status: each change once, without temporary failures of the service."""

from __future__ import annotations

from dataclasses import replace

from cfnode.sdk.calls.statuses import channel_of, swap_reference
from cfnode.sdk.errors import BackendError, SdkError, TransportError
from cfnode.sdk.models.status import SwapStatus

__all__ = ["StatusWatch"]

_NOT_FOUND, _TOO_MANY = 404, 429


class StatusWatch:
    """A watch that receives the result of each status request, and returns changes.

    A request that fails for a temporary reason is repeated: no connection, a service that restarts, a channel
    so new that the service does not know it yet. More than `failures` in a row raise the error.
    """

    def __init__(self, reference: str | int, failures: int) -> None:
        self.is_over = False
        self._is_channel = channel_of(swap_reference(reference)) is not None
        self._failures = failures
        self._failed = 0
        self._last: SwapStatus | None = None

    def receive(self, result: SwapStatus | SdkError) -> SwapStatus | None:
        """Return the status if it has changed, else None; raise a permanent error."""
        if isinstance(result, SdkError):
            self._failed += 1
            if self._failed > self._failures or not self._is_temporary(result):
                raise result
            return None
        self._failed, self.is_over = 0, result.is_final
        # The service's own clock differs in every answer.
        last, self._last = self._last, replace(result, last_statechain_update_at=None)
        return result if last != self._last else None

    def _is_temporary(self, error: SdkError) -> bool:
        if isinstance(error, BackendError):
            is_new_channel = error.status == _NOT_FOUND and self._is_channel and self._last is None
            return is_new_channel or error.status == _TOO_MANY
        return isinstance(error, TransportError) and error.retryable
