"""Content of a configuration file, read by tomllib, and the line of each key and table.

tomllib keeps no line numbers, but each statement of a valid document is a document itself: a header, or a key
with its value. So lines are joined until they parse, and what they define is on the first of them.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from cfnode.cli.exits import CommandFailure, ExitCode

__all__ = ["ConfigFile", "Fault", "default_file", "read_config"]

MAX_CONFIG_FILE_BYTES: Final = 1 << 20
"""Bytes of a file that are read."""
VALUE_ENDS: Final = ("]", "}", '"""', "'''")
"""Ends of a value of several lines; one of them is on its last line."""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A parsed file; `lines` has the line of each table and key, by its path."""

    path: Path
    tables: dict[str, Any] = field(default_factory=dict)
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict)

    def line(self, key_path: tuple[str, ...]) -> int:
        """Return the first line of a key or of a table, or that of the nearest table around it."""
        while key_path:
            if lines := [line for path, line in self.lines.items() if path[: len(key_path)] == key_path]:
                return min(lines)
            key_path = key_path[:-1]
        return 1


@dataclass(frozen=True, slots=True)
class Fault:
    """An error in a configuration file. `key`: with its section, as in `run.rpc-port`; empty for syntax."""

    file: Path
    line: int
    key: str
    text: str

    def __str__(self) -> str:
        """Return the line of an error message: file, line, key and fault."""
        return f"{self.file}:{self.line}: {self.key}{': ' if self.key else ''}{self.text}"


class ConfigSyntaxError(CommandFailure):
    """Error for a file that is not TOML."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault), ExitCode.CONFIGURATION)
        self.fault = fault


def default_file(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the path of the default file; None without a home directory.

    It is `$XDG_CONFIG_HOME/cfnode/config.toml`, or below `~/.config`.
    """
    home, folder = environ.get("HOME", ""), environ.get("XDG_CONFIG_HOME", "")
    if not folder.startswith("/"):
        if not home.startswith("/"):
            return None
        folder = f"{home}/.config"
    return Path(folder, "cfnode", "config.toml")


def read_config(path: Path) -> ConfigFile:
    """Read a file. Raise Failure if it cannot be read or is not TOML."""
    text = _text(path)
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigSyntaxError(_syntax_fault(path, text, error)) from None
    except RecursionError:
        raise ConfigSyntaxError(Fault(path, 1, "", "not TOML that can be read: nested too deeply")) from None
    return ConfigFile(path, tables, dict(_lines(text)))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_CONFIG_FILE_BYTES + 1)
        if len(content) > MAX_CONFIG_FILE_BYTES:
            text = f"{path} is larger than {MAX_CONFIG_FILE_BYTES} bytes, too large for a configuration file"
            raise CommandFailure(f"{text}; name another", ExitCode.CONFIGURATION)
        return content.decode().replace("\r\n", "\n")
    except OSError as error:
        text = f"cannot read {path}: {error.strerror}; check the path"
        raise CommandFailure(text, ExitCode.CONFIGURATION) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigSyntaxError(Fault(path, line, "", "this is not UTF-8 text: save it as such")) from None


def _syntax_fault(path: Path, text: str, error: tomllib.TOMLDecodeError) -> Fault:
    """Return the error with its line, without that line's text, which may hold a secret."""
    reason, _, place = str(error).rpartition(" (at ")
    digits = place.removeprefix("line ").partition(",")[0]
    line = int(digits) if digits.isdigit() else text.count("\n") + 1  # else at the end of the document
    return Fault(path, line, "", f"not TOML: {reason or error}; correct this line")


def _lines(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the path and the line of each table and key of a valid document."""
    table: tuple[str, ...] = ()
    statement, first = "", 1
    for number, line in enumerate(text.split("\n"), 1):
        first = first if statement else number
        is_continued = bool(statement)
        statement += f"{line}\n"
        if is_continued and not any(end in line for end in VALUE_ENDS):
            continue
        try:
            defined = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue
        if statement.lstrip().startswith("["):
            table = next(_paths(defined))
            yield table, first
        else:
            yield from (((*table, *path), first) for path in _paths(defined))
        statement = ""


def _paths(tables: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the path of each innermost value."""
    for key, value in tables.items():
        if isinstance(value, list) and value == [{}]:  # the header of an array of tables
            yield (key,)
        elif isinstance(value, dict) and value:
            yield from ((key, *inner_path) for inner_path in _paths(value))
        else:
            yield (key,)
