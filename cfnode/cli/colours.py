"""Colours by meaning: states and amounts in tables and records, and the word that begins an error.

A colour repeats what the text says already. No colour is printed into a pipe or a file, or with NO_COLOR set.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Final

import click

__all__ = ["marked", "style_of"]

_GOOD: Final = "green"
_BUSY: Final = "yellow"
_BAD: Final = "red"
_AMOUNT: Final = "cyan"
_STATES: Final = {
    **dict.fromkeys(("completed", "done", "paid", "registered", "in sync", "sent", "credited"), _GOOD),
    **dict.fromkeys(
        ("waiting", "receiving", "swapping", "sending", "syncing", "scheduled", "signing", "boosted"), _BUSY
    ),
    **dict.fromkeys(("refunded", "partly_refunded", "unregistered", "not syncing"), _BUSY),
    **dict.fromkeys(
        ("failed", "expired", "aborted", "invalid", "ignored", "cut off", "no new blocks", "unavailable"),
        _BAD,
    ),
    "blocks arrive, but none becomes final": _BAD,
}
"""Beginnings of values that name a state."""
_STATE: Final = re.compile("|".join(sorted(map(re.escape, _STATES), key=len, reverse=True)))
_VALUE: Final = re.compile(r"\d[\d,]*(\.\d+)? ([A-Z][a-z]+/)?[A-Z]{3,6}(?![A-Za-z])")
_WORD_END: Final = re.compile(r"[^a-z_]|\Z")


def style_of(value: str) -> str:
    """Return the style of a value: of the state with which it begins, or of an amount; "" for others."""
    lower = value[:60].lower()
    match = _STATE.match(lower)
    if match is not None and _WORD_END.match(lower, match.end()):
        return _STATES[match[0]]
    amount = _VALUE.match(value)
    return _AMOUNT if amount is not None and amount[0].rpartition(" ")[2] in _symbols() else ""


def _symbols() -> frozenset[str]:
    """Return the texts and symbols of assets."""
    from cfnode.core.assets import ASSETS, asset_text

    return frozenset(text for asset in ASSETS.values() for text in (asset_text(asset), asset.symbol))


def marked(word: str) -> str:
    """Return a word that begins an error, in red on a terminal."""
    is_plain = bool(os.environ.get("NO_COLOR")) or not sys.stderr.isatty()
    return word if is_plain else click.style(word, fg=_BAD)
