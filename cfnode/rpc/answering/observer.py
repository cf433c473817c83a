"""The interface through which the server reports its calls and connections: counts and times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

__all__ = ["Observer"]


class Observer(Protocol):
    """An observer that counts calls and connections; `protocol` is `http` or `ws`."""

    def call_started(self, protocol: str, method: str) -> None:
        """Count a call of a known method that starts."""

    def call_finished(
        self, protocol: str, method: str, seconds: float, *, is_error: bool, is_rate_limited: bool
    ) -> None:
        """Count a call that has been answered, and the seconds that it took."""

    def session_opened(self) -> None:
        """Count a WebSocket connection that opens."""

    def session_closed(self) -> None:
        """Count a WebSocket connection that has closed."""

    def watch_exposure(self, namespace: str, is_exposed: Callable[[], bool]) -> None:
        """Watch whether strangers may use the methods of a namespace; called once for `broker` and `lp`."""
