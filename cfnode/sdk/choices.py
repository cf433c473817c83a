"""How does an error name the valid values? In one format for options, networks, chains and assets."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["unknown_value"]

_EXCERPT = 40
"""Characters of an unknown value that an error quotes."""


def unknown_value(kind: str, value: object, valid: Iterable[str]) -> str:
    """`unknown chain 'Bitcon'; did you mean Bitcoin? Choose from Arbitrum, Bitcoin, …`."""
    from difflib import get_close_matches

    names = list(valid)
    by_lower = {name.lower(): name for name in names}
    text = str(value)[:_EXCERPT]
    close = get_close_matches(text.lower(), by_lower, n=1)
    hint = f"did you mean {by_lower[close[0]]}? Choose" if close else "choose"
    return f"unknown {kind} {text!r}; {hint} from {', '.join(names)}"
