"""Codes that log in once: for the link that a service prints when it starts, of this process alone."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from typing import Final

__all__ = ["MAX_CODE_CHARS", "OneTimeCodes"]

CODE_LIFETIME_S: Final = 600.0
MAX_CODES: Final = 16
MAX_CODE_CHARS: Final = 64


class OneTimeCodes:
    """Codes, each valid for ten minutes and once; `clock` has seconds that only grow."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._codes: dict[str, float] = {}

    def offer(self) -> str:
        """Return a new code; of many the oldest end."""
        code = secrets.token_urlsafe(24)
        self._codes[code] = self._clock() + CODE_LIFETIME_S
        while len(self._codes) > MAX_CODES:
            del self._codes[next(iter(self._codes))]
        return code

    def take(self, presented: str) -> bool:
        """Return whether a code is valid, and end it. Compares with each code, in the same time."""
        matching, now = None, self._clock()
        for code, end in self._codes.items():
            if hmac.compare_digest(code.encode(), presented.encode()) and now < end:
                matching = code
        if matching is None:
            return False
        del self._codes[matching]
        return True
