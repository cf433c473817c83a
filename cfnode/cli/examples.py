r"""Examples in the help of a command, which click prints line by line where a `\b` precedes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["verbatim_examples"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def verbatim_examples(function: _Function) -> _Function:
    r"""Replace each `\b` in the raw docstring of a command by the character that click looks for.

    Click does not wrap a paragraph whose first line is that character (U+0008).
    """
    if function.__doc__ is not None:
        function.__doc__ = function.__doc__.replace(r"\b", "\b")
    return function
