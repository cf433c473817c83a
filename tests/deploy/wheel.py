"""The wheel of this project, as the release script builds it, and the packages that it needs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from scripts.absolute_links import main
from tests.conftest import ROOT

URL = "https://example.org/someone/cfnode"
RELEASE = ROOT / ".cache" / "release"
TOOLS = RELEASE / "tools" / "bin" / "python"
WHEELS = RELEASE / "wheels"


def project_copy(folder: Path) -> Path:
    """Return the project as it is built: tracked files, links made absolute."""
    folder.mkdir()
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
    for name in ("README.md", "pyproject.toml"):
        (folder / name).write_text((ROOT / name).read_text())
    main(folder, URL + "/")
    return folder


def built_wheel(copy: Path, out: Path) -> Path:
    """Return the wheel of a copy, without the internet; skip the test where the tools are missing."""
    if not TOOLS.exists():
        pytest.skip("the tools that build are not here: scripts/deb --fetch installs them")
    variables = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
    line = [TOOLS, "-m", "build", "--no-isolation", "--wheel", "--outdir", out, copy]
    subprocess.run(line, env=variables, check=True, capture_output=True, timeout=300)
    (wheel,) = out.iterdir()
    return wheel


def give_build_tools(environment: Path) -> None:
    """Let `pip install .` in an environment build without the internet: only its builds see the tools."""
    if not TOOLS.exists() or not WHEELS.is_dir():
        pytest.skip("packages and the tools that build are not here: scripts/deb --fetch installs them")
    (tools,) = RELEASE.glob("tools/lib/python3*/site-packages")
    (packages,) = environment.glob("lib/python3*/site-packages")
    is_build = "any('_in_process' in word for word in sys.orig_argv)"
    line = f"import sys; {is_build} and sys.path.append({str(tools)!r})\n"
    (packages / "build_tools.pth").write_text(line)


OFFLINE = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(WHEELS), "PIP_NO_BUILD_ISOLATION": "false"}
"""Variables of pip: packages from the folder, and builds with the tools of the environment."""
