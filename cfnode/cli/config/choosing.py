"""Commands that the words of `cfnode config` name: one, those of a group, or all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from cfnode.cli.settings.names import NOT_CONFIGURED, Path, commands_below

__all__ = ["chosen_commands", "complete_words"]


def chosen_commands(ctx: click.Context, words: Sequence[str]) -> Iterator[tuple[Path, click.Command]]:
    """Return the commands below the words, with their paths. Raise UsageError for unknown words."""
    command, path, parent = ctx.find_root().command, Path(), ctx.find_root()
    for word in words:
        if not isinstance(command, click.Group):
            raise click.UsageError(f"`cfnode {' '.join(path)}` has no commands: leave {word!r} out", ctx)
        _, child, _ = command.resolve_command(parent, [word])
        assert child is not None
        command, path = child, (*path, word)
        parent = click.Context(command, info_name=word, parent=parent)
    if path[:1] and path[0] in NOT_CONFIGURED:
        raise click.UsageError(f"`cfnode {path[0]}` reads no configuration file: name another command", ctx)
    return commands_below(command, parent, path)


def complete_words(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return, for a shell, the names that may follow the words that are typed."""
    command = ctx.find_root().command
    for word in ctx.params.get(param.name) or ():
        child = command.get_command(ctx, word) if isinstance(command, click.Group) else None
        if child is None:
            return []
        command = child
    names = command.list_commands(ctx) if isinstance(command, click.Group) else []
    return [name for name in names if name.startswith(incomplete) and name not in NOT_CONFIGURED]
