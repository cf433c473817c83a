"""What an index gets: absolute links, addresses, one version; and a wheel that can be built again."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from cfnode import __version__
from scripts.absolute_links import LINK
from tests.conftest import ROOT
from tests.deploy.programs import output_of, program
from tests.deploy.wheel import TOOLS, URL, built_wheel, project_copy

NO_AUDIT = "(--no-audit builds without it; look them up before you upload anything)"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the project, made ready for an index."""
    return project_copy(tmp_path / "copy")


def test_links_of_the_readme_are_absolute_and_lead_to_files(copy: Path) -> None:
    """Make the README's links absolute, each to a file that exists: an index has no other files."""
    text = (copy / "README.md").read_text()
    assert LINK.findall(text) == []
    paths = re.findall(rf"\]\({URL}/blob/main/([^)#]+)\)", text)
    assert "docs/guide/sdk.md" in paths
    pictures = re.findall(rf"!\[[^\]]+\]\({URL}/raw/main/([^)]+)\)", text)
    assert pictures == ["docs/guide/first-swap.svg", "docs/guide/web-page-now.png"]
    for path in paths + pictures:
        assert (ROOT / path).exists(), path


def test_the_project_has_addresses_and_one_version(copy: Path) -> None:
    """Name the project's addresses, and its version in one place."""
    project = tomllib.loads((copy / "pyproject.toml").read_text())["project"]
    assert project["urls"]["Source"] == URL
    assert project["urls"]["Changelog"].startswith(URL)
    assert project["dynamic"] == ["version"]
    assert "version" not in project
    assert f"## {__version__}" in (ROOT / "docs" / "CHANGELOG.md").read_text()


def test_the_wheel_is_the_same_when_it_is_built_again(copy: Path, tmp_path: Path) -> None:
    """Build the wheel twice to the same bytes."""
    built = []
    for turn in ("first", "second"):
        wheel = built_wheel(copy, tmp_path / turn)
        assert wheel.name == f"cfnode-{__version__}-py3-none-any.whl"
        built.append(wheel.read_bytes())
    assert built[0] == built[1]


def printed_by_the_audit(*before: str, tools: Path = TOOLS.parent.parent) -> list[str]:
    """Return the lines of `audit` of scripts/release_tools, which has to fail."""
    if not TOOLS.exists():
        pytest.skip("the tools that build are not here: scripts/deb --fetch installs them")
    ready = f"cd {ROOT}; python={sys.executable}; . scripts/release_tools"
    output_of("sh", "-c", ready)
    return output_of(*before, "sh", "-c", f"{ready}; tools={tools}; audit", code=1).splitlines()


def test_a_look_up_of_vulnerabilities_without_a_network_fails_with_one_reason() -> None:
    """Fail a look-up of vulnerabilities without a network with one reason and the advice."""
    alone = [program("unshare", "util-linux"), "--user", "--map-root-user", "--net"]
    reason, advice = printed_by_the_audit(*alone)
    assert reason.startswith("no look-up of known vulnerabilities: pip-audit cannot reach https://pypi.org.")
    assert advice == NO_AUDIT


def test_a_look_up_at_a_mirror_without_records_fails_with_the_package(tmp_path: Path) -> None:
    """With what pip-audit prints where a mirror answers each request for a record with 404."""
    (tmp_path / "bin").mkdir()
    audit = tmp_path / "bin" / "pip-audit"
    line = "ERROR:pip_audit._cli:anyio: Dependency not found on PyPI and could not be audited: anyio (4.16.0)"
    audit.write_text(f'#!/bin/sh\necho "{line}" >&2\nexit 1\n')
    audit.chmod(0o755)
    reason, mirror, advice = printed_by_the_audit(tools=tmp_path)
    assert reason.startswith("no look-up of known vulnerabilities: anyio: Dependency not found on PyPI")
    assert mirror.startswith("A mirror may lack pypi.org's records")
    assert advice == NO_AUDIT
