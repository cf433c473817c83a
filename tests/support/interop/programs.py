"""Programs written by others: their scripts, and what they report."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parents[2] / "interop"


def report_of(*command: str, **environment: str) -> dict[str, Any]:
    """Return the JSON line that a peer prints last."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, **environment}, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


def script_of(name: str, node_modules: Path, folder: Path) -> str:
    """Return a script of `tests/interop`, laid where it finds the peers."""
    script = folder / name
    script.write_text((SCRIPTS / name).read_text())
    (folder / "node_modules").symlink_to(node_modules)
    return str(script)
