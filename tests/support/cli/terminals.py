"""What a command prints at a terminal of some width, with colours or without, and into a pipe."""

from __future__ import annotations

import re

__all__ = ["PLACES", "plain"]

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def _terminal(columns: int) -> dict[str, str]:
    return {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": str(columns), "LINES": "24"}


PLACES: dict[str, dict[str, str]] = {
    "80 columns": _terminal(80),
    "60 columns": _terminal(60),
    "60 columns without colour": _terminal(60) | {"NO_COLOR": "1"},
    "140 columns": _terminal(140),
    "pipe": {"TERM": "dumb", "COLUMNS": "60"},
}
"""The environment of a command, by where it prints."""


def plain(printed: str) -> list[str]:
    """The lines that were printed, without colours."""
    return _COLOURS.sub("", printed).splitlines()
