"""What an error that says what to do contains: a request, a suggestion, or a command."""

from __future__ import annotations

import re

__all__ = ["NEXT_STEP"]

_REQUESTS = (
    "add", "ask", "begin", "check", "choose", "copy", "correct", "deregister", "exchange", "give", "insert",
    "leave", "look", "make", "name", "open", "pip install", "raise", "repeat", "round", "run", "send", "set",
    "start", "try", "unset", "use", "wait", "write",
)  # fmt: skip
NEXT_STEP = re.compile(
    rf"(?:^|[.:;,(] |[;:,] or |\band )(?:{'|'.join(_REQUESTS)})\b|did you mean|`cfnode |--help\b",
    re.IGNORECASE,
)
"""A verb in the imperative at the beginning of a clause, a similar name, or a command to run."""
