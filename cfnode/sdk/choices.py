"""Error text for an unknown option, network, chain or asset, with the valid ones."""

from __future__ import annotations

from collections.abc import Iterable

from cfnode.core.suggestions import closest

__all__ = ["unknown_value"]

_MAX_EXCERPT_CHARS = 40
"""Characters of an unknown value that an error quotes."""


def unknown_value(kind: str, value: object, valid: Iterable[str]) -> str:
    """Return `unknown chain 'Bitcon'; did you mean Bitcoin? Choose from Arbitrum, Bitcoin, …`."""
    names = list(valid)
    text = str(value)[:_MAX_EXCERPT_CHARS]
    closest_names = closest(text, names)[:1]
    hint = f"did you mean {closest_names[0]}? Choose" if closest_names else "choose"
    return f"unknown {kind} {text!r}; {hint} from {', '.join(names)}"
