"""Reading of a chain specification from a file."""

from __future__ import annotations

from pathlib import Path

from cfnode.core.chainspec import ChainSpec, ChainSpecError, parse

__all__ = ["MAX_SPEC_FILE", "read_spec"]

MAX_SPEC_FILE = 1 << 30
HEAD_BYTES = 4096
"""Bytes in which the object has to begin: a device, or another file, may go on without end."""


def read_spec(path: Path) -> ChainSpec:
    """Read the chain that a file specifies. Raises ChainSpecError, which names the file and the fault."""
    try:
        with path.open("rb") as file:
            begins = file.peek(HEAD_BYTES)[:HEAD_BYTES].lstrip().startswith(b"{")
            content = file.read(MAX_SPEC_FILE + 1 if begins else HEAD_BYTES)
    except OSError as error:
        raise ChainSpecError(str(path), "", f"cannot be read: {error.strerror}") from None
    return parse(content, str(path))
