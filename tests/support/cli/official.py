"""`cfnode run` without starting anything: the context of its arguments."""

from __future__ import annotations

import click

from cfnode.cli import cli

__all__ = ["RUN", "parsed"]


def _run_command() -> click.Command:
    with click.Context(cli) as ctx:
        command = cli.get_command(ctx, "run")
    assert command is not None
    return command


RUN = _run_command()


def parsed(*arguments: str) -> click.Context:
    """The context of `cfnode run` with these arguments; nothing is started."""
    return RUN.make_context("run", list(arguments))
