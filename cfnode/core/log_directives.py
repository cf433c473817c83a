"""Log filters as the official node reads them: `--log`, `RUST_LOG` and `system_addLogFilter`.

A filter is a list of directives with commas between them: a level for all targets, `target=level`, or a
target alone, which means each of its levels. Levels are words in any case, or the digits 0 (off) to 5
(trace). A directive for a span (`target[span]=level`) is accepted and has no effect: no line here belongs to
a span. The grammar is that of `EnvFilter` in the crate tracing-subscriber.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["LEVELS", "Directive", "DirectiveError", "parse_directives"]

LEVELS: Final = {"off": 60, "error": 40, "warn": 30, "info": 20, "debug": 10, "trace": 5}
"""The levels in the order of their digits, with their numbers in Python's logging."""
_BY_DIGIT: Final = {str(digit): name for digit, name in enumerate(LEVELS)}
_DIRECTIVE: Final = re.compile(r"(?P<target>[\w:.-]+)?(?P<span>\[[^\]]*\])?(?:=(?P<level>[^=]*))?")
_MAX_REPEATED: Final = 80
"""Characters of a malformed directive that an error repeats."""


class DirectiveError(ValueError):
    """A malformed directive; the text names it."""


@dataclass(frozen=True, slots=True)
class Directive:
    """The lowest level that a target logs.

    The parts of a target have `.` between them; the empty target is that of all lines.
    """

    target: str
    level: int


def parse_directives(text: str) -> Iterator[Directive]:
    """Yield the directives of a filter in their order; raise DirectiveError."""
    for part in text.split(","):
        if part := part.strip():
            yield from _directive(part)


def _directive(part: str) -> Iterator[Directive]:
    if (level := _level(part)) is not None:
        yield Directive("", level)
        return
    match = _DIRECTIVE.fullmatch(part)
    level = _level(match["level"]) if match and match["level"] else LEVELS["trace"]
    if level is None:
        raise DirectiveError(
            f"{part[:_MAX_REPEATED]!r}: the level is one of {', '.join(LEVELS)}, or a digit from 0 to 5"
        )
    if match is None or not (match["target"] or match["span"]):
        raise DirectiveError(f"{part[:_MAX_REPEATED]!r}: a target has letters, digits and ::")
    if match["span"] is None:
        yield Directive(match["target"].replace("::", "."), level)


def _level(text: str) -> int | None:
    """Return the level (a number of Python's logging) of a word or a digit, None for other texts."""
    return LEVELS.get(_BY_DIGIT.get(text, text.lower()))
