"""Changes of log levels while the node runs, by `target=level` pairs for the loggers below `cfnode`."""

from __future__ import annotations

import logging
from typing import Final

from cfnode.core.log_directives import DirectiveError, parse_directives

MAX_DIRECTIVES: Final = 64


class LogFilters:
    """The changes of log levels that can be undone."""

    def __init__(self) -> None:
        self._before: dict[logging.Logger, int] = {}

    def add(self, directives: str) -> None:
        """Apply `target=level,…`. Raises DirectiveError."""
        if directives.count(",") >= MAX_DIRECTIVES:
            raise DirectiveError(f"more than {MAX_DIRECTIVES} directives")
        for directive in list(parse_directives(directives)):
            logger = logging.getLogger(f"cfnode.{directive.target}" if directive.target else "cfnode")
            self._before.setdefault(logger, logger.level)
            logger.setLevel(directive.level)

    def reset(self) -> None:
        """Undo all changes."""
        for logger, level in self._before.items():
            logger.setLevel(level)
        self._before.clear()
