"""Page of the command line: each command with its help, and an entry with an anchor for each flag.

The anchor of `--rpc-port` of `cfnode run` is `run-rpc-port`: the words of the command, then the flag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from cfnode.cli.settings.names import key_of

WIDTH = 80
"""Columns of a command's help: what the site displays next to its navigation without scrolling."""
HEAD = """# Command line

Generated from the commands. Each flag links to itself, so that others can link to it; `-h` or `--help` prints
the same at a terminal. [Variables and keys](settings.md) has the other ways to set a flag.
"""


def cli_page() -> str:
    """Return the page of every command."""
    from cfnode.cli import cli

    parts = [HEAD]
    for ctx in contexts(cli, "cfnode", None):
        parts.append(f"## {ctx.command_path}\n\n```text\n{_text(ctx)}\n```\n")
        parts += [f"{title}{entries}\n" for title, entries in _flags(ctx)]
    return "\n".join(parts)


def contexts(command: click.Command, name: str, parent: click.Context | None) -> Iterator[click.Context]:
    """Yield the context of a command and of all below it."""
    settings = command.context_settings
    with click.Context(command, info_name=name, parent=parent, max_content_width=WIDTH, **settings) as ctx:
        ctx.terminal_width = WIDTH
        yield ctx
        if isinstance(command, click.Group):
            for below in command.list_commands(ctx):
                subcommand = command.get_command(ctx, below)
                assert subcommand is not None
                yield from contexts(subcommand, below, ctx)


def anchor_of(path: tuple[str, ...], option: click.Option) -> str:
    """Return the anchor of a command's flag: `run-rpc-port`."""
    return "-".join((*(path or ("cfnode",)), key_of(option)))


def listed_options(ctx: click.Context) -> list[click.Option]:
    """Return the options that have an entry: all but `--help` and hidden ones."""
    own_help = ctx.command.get_help_option(ctx)
    return [
        option
        for option in ctx.command.get_params(ctx)
        if isinstance(option, click.Option) and not option.hidden and option is not own_help
    ]


def path_of(ctx: click.Context) -> tuple[str, ...]:
    """Return the words of a command after `cfnode`."""
    return tuple(ctx.command_path.split()[1:])


def _text(ctx: click.Context) -> str:
    """Return a command's help without its options."""
    command, formatter = ctx.command, ctx.make_formatter()
    command.format_usage(ctx, formatter)
    command.format_help_text(ctx, formatter)
    if isinstance(command, click.Group):
        command.format_commands(ctx, formatter)
    command.format_epilog(ctx, formatter)
    return "\n".join(line.rstrip() for line in formatter.getvalue().rstrip().splitlines())


def _flags(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """Yield the heading of each group of flags, "" for an only one, and its entries."""
    groups: dict[str, list[str]] = {}
    for option in listed_options(ctx):
        record = option.get_help_record(ctx)
        assert record is not None
        anchor = anchor_of(path_of(ctx), option)
        entry = f'- <a id="{anchor}"></a>[`{record[0]}`](#{anchor}): {_escaped(record[1])}'
        groups.setdefault(getattr(option, "group", "Other"), []).append(entry)
    for title, entries in groups.items():
        yield f"{title}:\n\n" if len(groups) > 1 else "", "\n".join(entries)


def _escaped(text: str) -> str:
    """Return a help text on one line, in which nothing but backticks means anything to Markdown."""
    code = re.compile(r"(`[^`]*`)")
    parts = code.split(" ".join(text.split()))
    return "".join(
        part if code.fullmatch(part) else re.sub(r"<(?=[\w/!])", "&lt;", part.replace("*", r"\*"))
        for part in parts
    )
