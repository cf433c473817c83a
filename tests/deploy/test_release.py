"""What an index gets: absolute links, addresses, one version; and a wheel that can be built again."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from cfnode import __version__
from scripts.absolute_links import LINK, main
from tests.conftest import ROOT

URL = "https://example.org/someone/cfnode"
TOOLS = ROOT / ".cache" / "release" / "tools" / "bin" / "python"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The project as the release script builds it: tracked files, links made absolute."""
    folder = tmp_path / "copy"
    folder.mkdir()
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
    for name in ("README.md", "pyproject.toml"):
        (folder / name).write_text((ROOT / name).read_text())
    main(folder, URL + "/")
    return folder


def test_links_of_the_readme_are_absolute_and_lead_to_files(copy: Path) -> None:
    text = (copy / "README.md").read_text()
    assert LINK.findall(text) == []
    paths = re.findall(rf"\]\({URL}/blob/main/([^)#]+)\)", text)
    assert "docs/guide/sdk.md" in paths
    for path in paths:
        assert (ROOT / path).exists(), path


def test_the_project_has_addresses_and_one_version(copy: Path) -> None:
    project = tomllib.loads((copy / "pyproject.toml").read_text())["project"]
    assert project["urls"]["Source"] == URL
    assert project["urls"]["Changelog"].startswith(URL)
    assert project["dynamic"] == ["version"]
    assert "version" not in project
    assert f"## {__version__}" in (ROOT / "docs" / "CHANGELOG.md").read_text()


def test_the_wheel_is_the_same_when_it_is_built_again(copy: Path, tmp_path: Path) -> None:
    if not TOOLS.exists():
        pytest.skip("the tools that build are not here: scripts/deb --fetch installs them")
    built = []
    for turn in ("first", "second"):
        out = tmp_path / turn
        given = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
        line = [TOOLS, "-m", "build", "--no-isolation", "--wheel", "--outdir", out, copy]
        subprocess.run(line, env=given, check=True, capture_output=True, timeout=300)
        (wheel,) = out.iterdir()
        assert wheel.name == f"cfnode-{__version__}-py3-none-any.whl"
        built.append(wheel.read_bytes())
    assert built[0] == built[1]
