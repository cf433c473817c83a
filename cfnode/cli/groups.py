"""A group of commands in the order of use, which suggests names for an unknown command.

It lists them in the order in which a user needs them, with their full help line. For a mistyped command it
suggests similar ones; for a command of another group it prints the whole path.
"""

from __future__ import annotations

from collections.abc import Iterator

import click

__all__ = ["CommandGroup"]

_MAX_HELP_CHARACTERS = 1_000
"""Characters of a help line before click cuts it: no line has as many."""


class CommandGroup(click.Group):
    """Commands in the order in which they were added, each with the first sentence of its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order of their declaration."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the section Commands of the help text: names and first sentences."""
        rows = [
            (name, command.get_short_help_str(_MAX_HELP_CHARACTERS))
            for name, command in self.commands.items()
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read `help COMMAND`, which the official node has, as `COMMAND --help`."""
        if args and args[0] == "help":
            args = [*args[1:], "--help"]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first argument names. Raises UsageError with similar names."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            raise click.UsageError(_unknown(name, self, ctx), ctx)
        return super().resolve_command(ctx, args)


def _unknown(name: str, group: click.Group, ctx: click.Context) -> str:
    """Return the error for an unknown command of a group."""
    from cfnode.core.suggestions import closest  # needed by few command lines

    root = ctx.find_root()
    suggestions = closest(name, group.list_commands(ctx))
    if not suggestions and isinstance(root.command, click.Group):
        paths = dict(_paths(root.command, root))
        suggestions = [path for path, last_word in paths.items() if last_word == name.lower()]
    if not suggestions:
        return f"No such command {name!r}; `{ctx.command_path} --help` lists the commands"
    return f"No such command {name!r}. Did you mean {' or '.join(map(repr, suggestions))}?"


def _paths(root: click.Group, ctx: click.Context) -> Iterator[tuple[str, str]]:
    """Yield (`cfnode swap quote`, `quote`) for each command of the program."""
    for name in root.list_commands(ctx):
        yield f"{ctx.info_name} {name}", name
        command = root.get_command(ctx, name)
        if isinstance(command, click.Group):
            for inner in command.list_commands(ctx):
                yield f"{ctx.info_name} {name} {inner}", inner
