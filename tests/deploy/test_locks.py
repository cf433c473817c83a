"""The locked requirements are those of the project, each with its hashes, and name no index."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement

from tests.conftest import ROOT
from tests.deploy.programs import DEPLOY

LOCKS = ("requirements.lock", "build.lock")


def pinned(name: str) -> dict[str, str]:
    """Return the versions by package."""
    text = (DEPLOY / name).read_text()
    return dict(re.findall(r"^([a-z0-9-]+)==([^ ]+)", text, re.MULTILINE))


def wanted(name: str) -> list[str]:
    """Return the requirements of which a lock file is made."""
    if name == "build.lock":
        lines = (DEPLOY / "build.in").read_text().splitlines()
        return [line for line in lines if not line.startswith("#")]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    further = [*extras["ledger"], *extras["postgres"], *extras["web"]]
    return [*project["dependencies"], *(line for line in further if not line.startswith("cfnode["))]


@pytest.mark.parametrize("name", LOCKS)
def test_each_requirement_is_locked_to_a_version_that_it_allows(name: str) -> None:
    """Lock each requirement to a version that it allows."""
    versions = pinned(name)
    for requirement in map(Requirement, wanted(name)):
        version = versions[requirement.name.lower().replace("_", "-")]
        assert version in requirement.specifier, f"{requirement}: {version}; run scripts/lock"


@pytest.mark.parametrize("name", LOCKS)
def test_each_package_has_hashes_and_no_index_is_named(name: str) -> None:
    """Lock each package with a hash, and name no index: a mirror may serve it."""
    text = (DEPLOY / name).read_text()
    for block in re.split(r"\n(?=[a-z])", text)[1:]:
        assert "--hash=sha256:" in block, block
    assert "://" not in text
    assert "--index" not in text
