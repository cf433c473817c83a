"""Blocks of the documentation, pasted into a shell by a person with an empty home."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path

from tests.deploy.programs import started
from tests.process import NodeProcess, environment
from tests.support.forking import write_command


class Shell:
    """A shell of a newcomer, with `cfnode` on its path."""

    def __init__(self, home: Path, url: str | None = None, **variables: str) -> None:
        self._home, self._url, self._variables = home, url, variables
        write_command(home / "cfnode")

    def program(self, name: str, commands: str) -> None:
        """Write a program of that name."""
        path = self._home / name
        path.write_text(f"#!/bin/sh\n{commands}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def run(self, commands: str) -> str:
        """Run commands at the node, not the documented address; return the output. Each must succeed."""
        env = {**environment(self._home), **self._variables, "PATH": f"{self._home}:{os.environ['PATH']}"}
        if self._url is not None:
            env["CFNODE_URL"] = self._url
            commands = commands.replace("http://127.0.0.1:9944", self._url)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands],
            cwd=self._home,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def started_by(folder: Path, commands: str, **variables: str) -> AbstractContextManager[NodeProcess]:
    """Return the node that the last of the commands starts, on free ports; the others have to succeed."""
    before, run = re.split(r"^(?=cfnode (?:run|-))", commands, maxsplit=1, flags=re.MULTILINE)
    return started(folder, ["bash", "-euo", "pipefail", "-c", f"{before}exec {run}"], **variables)
