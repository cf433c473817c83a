"""Commands of `cfnode`: the tree of them, and their runs in this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from click.testing import CliRunner

from cfnode.cli import cli

NODES = ("run",)
"""Commands that start a node: their flags are the official node's."""


def run(*arguments: str, stdin: str | None = None) -> tuple[int, str, str]:
    """Run a command; return exit code, output and errors."""
    done = CliRunner().invoke(cli, arguments, input=stdin)
    return done.exit_code, done.stdout, done.stderr


def commands(group: click.Group = cli, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield each command besides those that start a node, with its path."""
    with click.Context(group) as ctx:
        for name in group.list_commands(ctx):
            command = group.get_command(ctx, name)
            assert command is not None
            if isinstance(command, click.Group):
                yield from commands(command, f"{path}{name} ")
            elif path + name not in NODES:
                yield path + name, command


def option(command: click.Command, name: str) -> Any:
    """Return the option of a command, None if it has none of that name."""
    return next((param for param in command.params if name in param.opts), None)
