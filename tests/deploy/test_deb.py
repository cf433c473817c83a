"""The Debian package is built from locked wheels, holds what it should, and its program runs (minutes)."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from cfnode import __version__
from tests.conftest import ROOT
from tests.deploy.programs import output_of, program
from tests.lengths import WHOLE

pytestmark = pytest.mark.world

BUILD_S = 500


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the built package."""
    program("dpkg-deb", "dpkg")
    if not (ROOT / ".cache" / "release" / "wheels" / "stamp").exists():
        pytest.skip("the locked packages are not here: scripts/deb --fetch downloads them")
    if WHOLE not in os.environ:
        pytest.skip("a package takes minutes to build: scripts/test --all builds it")
    folder = tmp_path_factory.mktemp("deb")
    variables = os.environ | {"PYTHON": "/usr/bin/python3", "DEBEMAIL": "packages@debian.org"}
    built = subprocess.run(
        [ROOT / "scripts" / "deb", folder],
        env=variables,
        capture_output=True,
        text=True,
        timeout=BUILD_S,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return Path(built.stdout.strip())


def field(package: Path, name: str) -> str:
    """Return a field of the package."""
    return output_of(program("dpkg-deb"), "--field", package, name).strip()


def test_the_package_names_its_version_and_what_it_needs(package: Path) -> None:
    """Name version and needed Python in the package."""
    assert field(package, "Version") == __version__
    assert field(package, "Depends").startswith("python3 (>= 3.")


def test_settings_are_a_conffile_and_nothing_starts_on_installation(package: Path) -> None:
    """Keep settings as conffiles, start nothing on installation, and never delete keys."""
    control = package.parent / "control"
    output_of(program("dpkg-deb"), "--control", package, control)
    assert (
        control / "conffiles"
    ).read_text() == "/etc/cfnode/cfnode.env\n/etc/cfnode/ledger.env\n/etc/cfnode/service.env\n"
    scripts = "".join((control / name).read_text() for name in ("postinst", "prerm", "postrm"))
    assert "systemctl start" not in scripts and "enable --now" not in scripts
    assert "rm -" not in scripts, "keys are never deleted"


def test_the_program_runs_from_the_unpacked_package(package: Path) -> None:
    """Run the program from the unpacked package, with units, private settings and no world-writable file."""
    root = package.parent / "root"
    output_of(program("dpkg-deb"), "--extract", package, root)
    python = root / "opt" / "cfnode" / "bin" / "python"
    assert output_of(python, "-I", "-m", "cfnode", "--version") == f"cfnode {__version__}\n"
    first = (root / "opt" / "cfnode" / "bin" / "cfnode").read_text().splitlines()[0]
    assert first == "#!/opt/cfnode/bin/python"
    for unit in ("cfnode.service", "cfnode-ledger.service", "cfnode-service.service"):
        assert (root / "lib" / "systemd" / "system" / unit).exists()
    for name in ("ledger.env", "service.env"):
        assert stat.S_IMODE((root / "etc" / "cfnode" / name).stat().st_mode) == 0o600
    books = f"sqlite:///{package.parent / 'books.sqlite'}"
    text = output_of(python, "-I", "-m", "cfnode", "ledger", "show", "swaps", "--database", books, code=4)
    assert "has no books" in text  # its packages are there
    assert not [
        path for path in root.rglob("*") if path.lstat().st_mode & stat.S_IWOTH and not path.is_symlink()
    ]


def test_lintian_finds_no_error(package: Path) -> None:
    """Find no error by lintian."""
    output_of(program("lintian"), "--fail-on", "error", "--allow-root", package)
