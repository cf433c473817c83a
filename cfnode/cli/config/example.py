"""`cfnode config example`: a commented configuration file, written from the flags of the commands.

Each key is a comment with the default of its flag; a flag without a default has a placeholder instead.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import click

from cfnode.cli.config.choosing import chosen_commands, complete_words
from cfnode.cli.options import json_errors_option
from cfnode.cli.settings.checking import INTEGER, LIST, SWITCH, wanted
from cfnode.cli.settings.names import SHARED, Path, key_of, options_of
from cfnode.cli.settings.secrets import takes_secret

__all__ = ["default_of", "example"]

WIDTH = 100
HEAD = """\
# Configuration of cfnode. Each key is a flag with its default or a placeholder: remove its # to set it.
# The command line and the variables (CFNODE_…) take precedence. Secrets do not belong here.
# Check the file with `cfnode config check FILE`, use it with --config FILE or CFNODE_CONFIG=FILE.
"""


@click.command("example")
@click.argument("words", metavar="[COMMAND]...", nargs=-1, shell_complete=complete_words)
@json_errors_option
@click.pass_context
def example(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Print a commented configuration file with each flag of COMMAND, by default of all commands."""
    commands = list(chosen_commands(ctx, words))
    click.echo(HEAD)
    if not words:
        click.echo("\n".join([*_shared(), ""]))
    for path, command in commands:
        click.echo("\n".join(_section(path, command)))


def _shared() -> Iterator[str]:
    yield "# For each command with the flag:"
    for key in SHARED.values():
        yield f'# {key} = "…"'


def _section(path: Path, command: click.Command) -> Iterator[str]:
    yield f"[{'.'.join(path)}]"
    yield from _comment(command.get_short_help_str(limit=1_000))
    yield ""
    options = [option for option in options_of(command) if not option.hidden]
    with click.Context(command, info_name=" ".join(path)) as ctx:
        for group, members in groupby(options, lambda option: getattr(option, "group", "")):
            if group:
                yield from (f"# --- {group}", "")
            for option in members:
                yield from _key(ctx, option)


def _key(ctx: click.Context, option: click.Option) -> Iterator[str]:
    """Yield the help of an option, and its line; nothing for one that takes a secret and nothing else."""
    metavar = option.make_metavar(ctx)
    if takes_secret(option) and "FILE" not in metavar:
        return
    yield from _comment(option.help or "")
    if isinstance(option.type, click.Choice):
        yield from _comment(f"One of {', '.join(map(str, option.type.choices))}.")
    yield f"# {key_of(option)} = {_value(option, metavar, default_of(ctx, option))}"
    yield ""


def _value(option: click.Option, metavar: str, default: Any) -> str:
    """Return the value in TOML; a placeholder if there is no default.

    TOML writes texts and lists as JSON does.
    """
    kind = wanted(option)
    if kind == SWITCH:
        return "true" if default else "false"
    if default is not None and default != ():
        return json.dumps(list(default) if kind == LIST else default, ensure_ascii=False, default=str)
    if kind == INTEGER:
        return metavar.split()[0]
    if isinstance(option.type, click.Choice):
        metavar = str(option.type.choices[0])
    placeholder = json.dumps(metavar, ensure_ascii=False)
    return f"[{placeholder}]" if kind == LIST else placeholder


def default_of(ctx: click.Context, option: click.Option) -> Any:
    """Return the default of an option; None if it has none."""
    default = option.get_default(ctx)
    return default if isinstance(default, (str, int, float, tuple, list)) else None


def _comment(text: str) -> Iterator[str]:
    for line in textwrap.wrap(text.replace("\b", ""), WIDTH - 2, break_long_words=False):
        yield f"# {line}"
