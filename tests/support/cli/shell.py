"""Commands of `cfnode` in a process, with the environment of a user."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.process import command, environment


class Shell:
    """Runs `cfnode` as a user with an empty home does; `file` writes a configuration file."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.variables: dict[str, str] = {}

    def file(self, text: str, name: str = "c.toml") -> str:
        """Write a file in the home folder; return its path."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """Run a command in its own process; return exit code, output and errors."""
        done = subprocess.run(
            command(*arguments),
            env=environment(self.home) | self.variables,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return done.returncode, done.stdout, done.stderr

    def in_force(self, *arguments: str) -> dict[str, dict[str, object]]:
        """Return the rows of `config show` for one command, by key."""
        code, out, err = self("config", "show", *arguments, "--json")
        assert (code, err) == (0, "")
        (rows,) = json.loads(out)["commands"].values()
        return {row.pop("key"): row for row in rows}
