"""Programs of others that a test needs: where one is missing the test is skipped, with the reason."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

DEPLOY = ROOT / "docs" / "deploy"
LIMIT_S = 120.0


def program(name: str, package: str = "") -> str:
    """The path of a program, also in /usr/sbin; skips the test where it is missing."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if found is None:
        pytest.skip(f"{name} is not here: install the package {package or name}")
    return found


def output_of(*arguments: str | Path, code: int = 0) -> str:
    """What a program printed, both streams; fails with it on another exit code."""
    done = subprocess.run(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == code, f"{arguments[0]} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout
