"""Figures of an earlier commit of this repository, measured next to those of the code in this folder."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[2]
"""The folder of the present code."""


def unpack(commit: str, folder: Path) -> bool:
    """Unpack the package as it was at a commit; return whether the commit is in this copy."""
    command = ["git", "-C", str(HERE), "archive", commit, "cfnode"]
    packed = subprocess.run(command, capture_output=True, check=False)
    if packed.returncode:
        return False
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return True


def measure(code: Path, program: str) -> dict[str, Any]:
    """Return what a program of this folder prints as JSON, run with the package in `code`."""
    command = [sys.executable, "-P", str(Path(__file__).with_name(program))]
    environment = os.environ | {"PYTHONPATH": str(code)}
    output = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
    figures: dict[str, Any] = json.loads(output)
    return figures
