"""How does a command print its result? As one JSON value, or as a document that may go into a file.

A file gets its name when it is whole.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import click

from cfnode.cli.exits import Failure

__all__ = ["output_option", "print_json", "written_to"]

output_option = click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write to FILE instead of standard output.",
)


@contextmanager
def written_to(output: Path | None) -> Iterator[TextIO]:
    """Write the document here. A file that stood there stays as it was if anything goes wrong."""
    if output is None:
        yield sys.stdout
        return
    beside = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        with beside.open("w") as file:
            yield file
        beside.replace(output)
    except OSError as error:
        raise Failure(f"cannot write {output}: {error.strerror}") from None
    finally:
        beside.unlink(missing_ok=True)


def print_json(document: Any, *, is_line: bool = False) -> None:
    """One JSON value on standard output, in lines to read or (`is_line`) in one line for a stream of them."""
    import msgspec

    text = msgspec.json.encode(document)
    click.echo(text if is_line else msgspec.json.format(text, indent=2))
