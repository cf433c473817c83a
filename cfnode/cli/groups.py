"""How does a group of commands list them? In the order in which one needs them, none cut short."""

from __future__ import annotations

import click

__all__ = ["Group"]

_WHOLE = 1_000
"""Letters of a line of help before click cuts it: none has as many."""


class Group(click.Group):
    """Commands in the order in which they were added, each with the first sentence of its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, command.get_short_help_str(_WHOLE)) for name, command in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
