"""Commands of `cfnode` in this process."""

from __future__ import annotations

from click.testing import CliRunner

from cfnode.cli import cli


def run(*arguments: str, stdin: str | None = None) -> tuple[int, str, str]:
    done = CliRunner().invoke(cli, arguments, input=stdin)
    return done.exit_code, done.stdout, done.stderr
