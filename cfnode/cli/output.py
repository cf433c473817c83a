"""Output of a command: one JSON value, or a document to standard output or a file.

A file gets its name only when it is complete.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from cfnode.cli.exits import CommandFailure
from cfnode.core.safe_text import without_controls

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "console",
    "output_option",
    "print_json",
    "print_list",
    "print_text",
    "replaced",
    "written_to",
]

_CONTROLS = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

output_option = click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write to FILE instead of standard output.",
)


@contextmanager
def replaced(output: Path) -> Iterator[Path]:
    """Yield a temporary path; the file there becomes `output` if no error occurs."""
    temporary = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(output)
    except OSError as error:
        raise CommandFailure(f"cannot write {output}: {error.strerror}; check the path") from None
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def written_to(output: Path | None) -> Iterator[TextIO]:
    """Yield the file to write the document to. On an error an existing file stays unchanged."""
    if output is None:
        yield sys.stdout
        return
    with replaced(output) as temporary, temporary.open("w") as file:
        yield file


def console() -> Console:
    """Return a console for tables: as wide as the terminal, else wide enough for every table.

    A text in brackets is no markup there, and control characters are replaced: cells repeat what servers
    write.
    """
    from rich.console import Console
    from rich.text import Text

    class Plain(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(without_controls(text), **options)

    plain_console = Plain(markup=False, emoji=False)
    return plain_console if plain_console.is_terminal else Plain(markup=False, emoji=False, width=140)


def print_json(document: Any, *, is_line: bool = False) -> None:
    """Print one JSON value on standard output, indented, or on one line (`is_line`) for a stream."""
    import msgspec

    text = msgspec.json.encode(document)
    click.echo(_safe(text if is_line else msgspec.json.format(text, indent=2)))


def print_list(entries: Iterable[Any], *, as_lines: bool) -> None:
    """Print entries, while they are read, as one JSON array, or each on a line of its own (`as_lines`)."""
    import msgspec

    separator = "["
    for entry in entries:
        text = _safe(msgspec.json.encode(entry))
        click.echo(text if as_lines else f"{separator}\n{text}", nl=as_lines)
        separator = ","
    if not as_lines:
        click.echo("[]" if separator == "[" else "\n]")


def _safe(text: bytes) -> str:
    """Return JSON without control characters that a terminal would obey."""
    return _CONTROLS.sub(_escaped, text.decode())


def _escaped(match: re.Match[str]) -> str:
    """Return a control character as JSON writes it.

    JSON itself requires that for the first 32 only.
    """
    return f"\\u{ord(match[0]):04x}"


def print_text(text: str, *, err: bool = False) -> None:
    """Print lines that may repeat what another program wrote, without its control characters."""
    click.echo(without_controls(text), err=err)
