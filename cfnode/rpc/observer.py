"""What does the server report of its calls and connections? Counts and times, to an observer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

__all__ = ["Observer"]


class Observer(Protocol):
    """An observer that counts calls and connections; `protocol` is `http` or `ws`."""

    def rpc_call_started(self, protocol: str, method: str) -> None:
        """Called when a call of a known method starts."""

    def rpc_call_finished(
        self, protocol: str, method: str, seconds: float, *, is_error: bool, is_rate_limited: bool
    ) -> None:
        """Called when it has been answered."""

    def rpc_session_opened(self) -> None:
        """Called when a WebSocket connection opens."""

    def rpc_session_closed(self) -> None:
        """Called when it has closed."""

    def watch_exposure(self, namespace: str, is_exposed: Callable[[], bool]) -> None:
        """Called once for `broker` and for `lp`: whether strangers may use these methods."""
