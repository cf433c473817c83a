"""The command of a further Python process that is isolated from environment and working directory.

The process uses no variables of the environment, no user's packages and no working directory, but finds the
modules of this process. It writes its bytecode where this process does, and none where this process writes
none.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

__all__ = ["SEARCH", "isolated_python"]

SEARCH = "import json, sys; sys.path = json.loads(sys.argv.pop(1)); "
"""The beginning of each program: its first argument is the module search path."""


def isolated_python(program: str, *arguments: str) -> list[str]:
    """Return the command of a process that runs `program`, with the arguments in `sys.argv[1:]`."""
    search = json.dumps([entry for entry in sys.path if entry and Path(entry).is_absolute()])
    return [sys.executable, "-I", *_bytecode_flags(), "-c", program, search, *arguments]


def _bytecode_flags() -> list[str]:
    if sys.dont_write_bytecode:
        return ["-B"]
    return ["-X", f"pycache_prefix={Path(sys.pycache_prefix).resolve()}"] if sys.pycache_prefix else []
