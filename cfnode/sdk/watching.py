"""What does somebody who watches a swap want to hear? Each change once, and no hiccup of the service."""

from __future__ import annotations

from dataclasses import replace

from cfnode.sdk.calls.statuses import channel_of, swap_reference
from cfnode.sdk.errors import BackendError, SdkError, TransportError
from cfnode.sdk.models.status import SwapStatus

__all__ = ["StatusWatch"]

_NOT_FOUND, _TOO_MANY = 404, 429


class StatusWatch:
    """Receives what each look at a status gave, and tells what is new.

    A look that fails for a reason that may pass is made again: no connection, a service that is restarted, a
    channel that was opened so lately that the service has not heard of it. More than `failures` in a row are
    an error all the same.
    """

    def __init__(self, reference: str | int, failures: int) -> None:
        self.is_over = False
        self._is_channel = channel_of(swap_reference(reference)) is not None
        self._failures = failures
        self._failed = 0
        self._last: SwapStatus | None = None

    def receive(self, seen: SwapStatus | SdkError) -> SwapStatus | None:
        """The status if it has changed, None if not; raises the error that will not pass."""
        if isinstance(seen, SdkError):
            self._failed += 1
            if self._failed > self._failures or not self._may_pass(seen):
                raise seen
            return None
        self._failed, self.is_over = 0, seen.is_final
        # The service's own clock goes on in every answer.
        last, self._last = self._last, replace(seen, last_statechain_update_at=None)
        return seen if last != self._last else None

    def _may_pass(self, error: SdkError) -> bool:
        if isinstance(error, BackendError):
            is_unheard_of = error.status == _NOT_FOUND and self._is_channel and self._last is None
            return is_unheard_of or error.status == _TOO_MANY
        return isinstance(error, TransportError) and error.retryable
