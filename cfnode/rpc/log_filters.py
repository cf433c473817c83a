"""How do log levels change while the node runs? By `target=level` pairs for the loggers below `cfnode`."""

from __future__ import annotations

import logging
from typing import Final

LEVELS: Final = {
    "off": logging.CRITICAL + 10,
    "error": logging.ERROR,
    "warn": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
    "trace": logging.DEBUG // 2,
}
MAX_DIRECTIVES: Final = 64


class LogFilterError(ValueError):
    """A malformed directive; the text names it."""


class LogFilters:
    """Changes of log levels, and their undoing."""

    def __init__(self) -> None:
        self._before: dict[logging.Logger, int] = {}

    def add(self, directives: str) -> None:
        """Apply `target=level,…`; a bare level applies to all targets, a bare target gets level `trace`."""
        parts = [part.strip() for part in directives.split(",") if part.strip()]
        if len(parts) > MAX_DIRECTIVES:
            raise LogFilterError(f"more than {MAX_DIRECTIVES} directives")
        for logger, level in [_directive(part) for part in parts]:
            self._before.setdefault(logger, logger.level)
            logger.setLevel(level)

    def reset(self) -> None:
        """Undo all changes."""
        for logger, level in self._before.items():
            logger.setLevel(level)
        self._before.clear()


def _directive(part: str) -> tuple[logging.Logger, int]:
    target, separator, level = part.rpartition("=")
    if not separator and level not in LEVELS:
        target, level = level, "trace"
    if level not in LEVELS:
        raise LogFilterError(f"{part!r}: the level is one of {', '.join(LEVELS)}")
    if not all(character.isalnum() or character in ":_-." for character in target):
        raise LogFilterError(f"{part!r}: a target has letters, digits and ::")
    name = f"cfnode.{target.replace('::', '.')}" if target else "cfnode"
    return logging.getLogger(name), LEVELS[level]
