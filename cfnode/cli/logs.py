"""Logging of the command line: filters of targets, and the text and JSON formats of a line.

Filters follow the official node's `--log` (`core/log_directives.py`); the longest matching target prefix
decides. A node also reads them from the variable RUST_LOG, over which `--log` takes precedence. Loggers are
named `cfnode.<target>`, with `.` for `::`; so `runtime::grandpa=off` silences `cfnode.runtime.grandpa`. A
line reads `2026-01-31 12:00:00 message`; warnings and errors have the level before the message.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Iterable
from types import TracebackType
from typing import TextIO

from cfnode.core.log_directives import LEVELS, DirectiveError, parse_directives
from cfnode.core.safe_text import without_controls

TRACE = LEVELS["trace"]
COLOURS = {logging.WARNING: "\x1b[33m", logging.ERROR: "\x1b[31m"}
ROOT = "cfnode"
log = logging.getLogger(f"{ROOT}.service")


class LogFilterError(ValueError):
    """A malformed filter; the message names its source and the part."""


def parse_filters(values: Iterable[str], rust_log: str = "") -> dict[str, int]:
    """Read `["info,grandpa=error"]` as `{"": INFO, "grandpa": ERROR}`.

    Later parts win, `rust_log` is the first. Raises LogFilterError.
    """
    filters = {"": logging.INFO}
    for source, value in (("RUST_LOG", rust_log), *(("--log", value) for value in values)):
        try:
            filters |= {directive.target: directive.level for directive in parse_directives(value)}
        except DirectiveError as error:
            raise LogFilterError(f"{source}: {error}") from None
    return filters


class PlainFormatter(logging.Formatter):
    """Format of one line per record; warnings and errors have their level, coloured on a terminal."""

    def __init__(self, colour: bool) -> None:
        super().__init__()
        self.colour = colour

    def format(self, record: logging.LogRecord) -> str:
        """Return one line of a record for people: time, level from warnings on, message, traceback."""
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.created))
        message = without_controls(record.getMessage())
        if record.exc_info:
            message = f"{message}\n{self.formatException(record.exc_info)}"
        if record.levelno < logging.WARNING:
            return f"{stamp} {message}"
        level = "WARN" if record.levelno < logging.ERROR else "ERROR"
        if self.colour:
            level = f"{COLOURS[min(record.levelno, logging.ERROR)]}{level}\x1b[0m"
        return f"{stamp} {level} {message}"


def level_name(level: int) -> str:
    """Return the name that `--log` has for a level, or for the next lower one: `error` if critical."""
    return next((name for name, least in LEVELS.items() if name != "off" and level >= least), "trace")


class JsonFormatter(logging.Formatter):
    """Format of one JSON object per line.

    Members: time (Unix seconds), level, target, message; a traceback is `exception`.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line of JSON: time (Unix seconds), level, target, message, exception."""
        row = {
            "time": round(record.created, 3),
            "level": level_name(record.levelno),
            "target": record.name.removeprefix(f"{ROOT}.").replace(".", "::"),
            "message": record.getMessage(),
        }
        if record.exc_info:
            row["exception"] = self.formatException(record.exc_info)
        return json.dumps(row, ensure_ascii=False)


class TolerantHandler(logging.StreamHandler[TextIO]):
    """Handler for standard error; a closed pipe must not end the node."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Report a failed write of a record, unless the stream has been closed."""
        if not isinstance(sys.exc_info()[1], (BrokenPipeError, ValueError)):
            super().handleError(record)


def set_up(
    filters: Iterable[str] = (), *, rust_log: str = "", colour: bool | None = None, form: str = "text"
) -> None:
    """Send all loggers of the project to standard error, filtered and formatted.

    `rust_log`: the filter of the variable RUST_LOG. `colour` None decides by the terminal and `NO_COLOR`.
    Raises LogFilterError.
    """
    logging.addLevelName(TRACE, "TRACE")
    levels = parse_filters(filters, rust_log)
    if colour is None:
        colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    handler = TolerantHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else PlainFormatter(colour))
    root = logging.getLogger(ROOT)
    root.handlers[:] = [handler]
    root.propagate = False
    logging.lastResort = _of_others(handler)
    if form == "json":
        _log_the_rest(logging.lastResort)
    root.setLevel(levels.pop(""))
    for target, level in levels.items():
        logging.getLogger(f"{ROOT}.{target}").setLevel(level)
    logging.getLogger("hypercorn.error").setLevel(logging.CRITICAL)


def _of_others(handler: logging.Handler) -> logging.Handler:
    """Return the handler for warnings of libraries, which then have the format of all other lines."""
    libraries_handler = TolerantHandler(sys.stderr)
    libraries_handler.setFormatter(handler.formatter)
    libraries_handler.setLevel(logging.WARNING)
    return libraries_handler


def _log_the_rest(handler: logging.Handler) -> None:
    """Log what Python prints itself: warnings, and exceptions that no code handles."""
    logging.captureWarnings(True)
    logging.getLogger("py.warnings").handlers[:] = [handler]

    def unhandled(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        log.critical("the program ended with an exception", exc_info=(kind, error, trace))

    def unraisable(details: sys.UnraisableHookArgs) -> None:
        log.error("an exception was ignored in %r", details.object, exc_info=details.exc_value)

    sys.excepthook = unhandled
    sys.unraisablehook = unraisable
