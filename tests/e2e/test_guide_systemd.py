"""The steps of the systemd page, as root of a namespace with folders of the test as /etc, /opt and /var/lib.

`sudo` runs its arguments, since the test is root there. systemctl is the real one, which enables units where
no systemd runs, but for `--now`, the start itself: test_systemd.py runs the unit's command line.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cfnode import __version__
from tests.deploy.programs import program
from tests.deploy.wheel import OFFLINE, give_build_tools, project_copy
from tests.documentation import block

pytestmark = pytest.mark.world

PAGE = "docs/guide/deployment.md"
HOST_ETC = ("passwd", "group", "shadow", "gshadow", "login.defs", "ssl", "ld.so.cache", "alternatives")
"""What useradd, python and pip read."""
SUDO = 'exec "$@"'
SYSTEMCTL = """for word; do
  shift
  [ "$word" = --now ] || set -- "$@" "$word"
done
exec /usr/bin/systemctl "$@\""""


class Machine:
    """A machine of the test's own: the system's programs, with folders that the steps may change."""

    def __init__(self, folder: Path) -> None:
        self._unshare = program("unshare", "util-linux")
        self.root, self.project = folder / "root", project_copy(folder / "project")
        for name in ("etc/systemd/system", "opt", "var/lib"):
            (self.root / name).mkdir(parents=True)
        for name in HOST_ETC:
            self._copy(Path("/etc") / name)
        tools = folder / "tools"
        tools.mkdir()
        for name, commands in (("sudo", SUDO), ("systemctl", SYSTEMCTL)):
            (tools / name).write_text(f"#!/bin/sh\n{commands}\n")
            (tools / name).chmod(0o755)
        (tools / "python3").symlink_to(Path(sys.base_prefix) / "bin" / "python3")
        self._path = f"{tools}:/usr/sbin:/usr/bin:/sbin:/bin"

    def _copy(self, path: Path) -> None:
        target = self.root / "etc" / path.name
        if path.is_dir():
            shutil.copytree(path, target, symlinks=True, ignore_dangling_symlinks=True, ignore=_unreadable)
        elif path.exists() and os.access(path, os.R_OK):
            shutil.copy(path, target)

    def run(self, commands: str) -> str:
        """Run commands in the project's folder, each of which has to succeed, and return their output."""
        mounts = "\n".join(f"mount --bind {self.root / name} /{name}" for name in ("etc", "opt", "var/lib"))
        variables = {
            "HOME": "/var/lib",
            "PATH": self._path,
            "SYSTEMD_OFFLINE": "1",
            **OFFLINE,
            "PIP_ROOT_USER_ACTION": "ignore",
        }
        line = [self._unshare, "--user", "--map-root-user", "--mount", "bash", "-euo", "pipefail", "-c"]
        done = subprocess.run(
            [*line, f"{mounts}\n{commands}"],
            cwd=self.project,
            env=variables,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def _unreadable(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if not os.access(Path(folder) / name, os.R_OK)]


def mode(path: Path) -> int:
    """Return the permissions of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def test_the_steps_install_the_service_and_give_it_a_broker_key(tmp_path: Path) -> None:
    """Install the service by the page's steps, with its key and settings private and its units enabled."""
    program("systemctl", "systemd")
    machine = Machine(tmp_path)
    user, environment, *steps = block(PAGE, "sudo useradd").splitlines()
    machine.run(f"{user}\n{environment}")
    give_build_tools(machine.root / "opt" / "cfnode")
    machine.run("\n".join(steps))
    etc = machine.root / "etc"
    assert "\ncfnode:" in (etc / "passwd").read_text()
    assert machine.run("/opt/cfnode/bin/cfnode --version") == f"cfnode {__version__}\n"
    assert mode(etc / "cfnode" / "cfnode.env") == 0o644
    enabled = etc / "systemd" / "system" / "multi-user.target.wants" / "cfnode.service"
    assert str(enabled.readlink()) == "/etc/systemd/system/cfnode.service"

    (machine.project / "keys").mkdir()
    (machine.project / "keys" / "signing_key_file").write_text("0b" * 32)
    machine.run(block(PAGE, "sudo install -D -m 0600 keys"))
    assert mode(etc / "cfnode" / "keys" / "signing_key_file") == 0o600
    assert machine.run("systemd-analyze verify --man=no cfnode.service 2>&1") == ""

    machine.run(block(PAGE, "sudo install -D -m 0600 docs/deploy/systemd/ledger.env"))
    assert mode(etc / "cfnode" / "ledger.env") == 0o600
    enabled = enabled.with_name("cfnode-ledger.service")
    assert str(enabled.readlink()) == "/etc/systemd/system/cfnode-ledger.service"
    assert machine.run("systemd-analyze verify --man=no cfnode-ledger.service 2>&1") == ""
    machine.run("/opt/cfnode/bin/python -c 'import alembic, psycopg, sqlalchemy'")

    machine.run(block(PAGE, "sudo install -D -m 0600 docs/deploy/systemd/service.env"))
    assert mode(etc / "cfnode" / "service.env") == 0o600
    enabled = enabled.with_name("cfnode-service.service")
    assert str(enabled.readlink()) == "/etc/systemd/system/cfnode-service.service"
    assert machine.run("systemd-analyze verify --man=no cfnode-service.service 2>&1") == ""
