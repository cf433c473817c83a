"""`cfnode config show`: the value of each flag, and where it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import click

from cfnode.cli.config.choosing import chosen_commands, complete_words
from cfnode.cli.config.example import default_of
from cfnode.cli.examples import verbatim_examples
from cfnode.cli.exits import CommandFailure
from cfnode.cli.options import json_option
from cfnode.cli.output import print_json
from cfnode.cli.settings.names import CONFIG_VARIABLE, Path, key_of, options_of
from cfnode.cli.settings.option import ValueOrigin, load, loaded_file, named_file, origin
from cfnode.cli.settings.secrets import masked

__all__ = ["show"]

DEFAULT_IN_HELP = re.compile(r"\[default: ((?:[^][]|\[[^]]*\])*)\]")


@dataclass(frozen=True, slots=True)
class FlagRow:
    """A flag of a command. `note`: what an unset flag means."""

    path: Path
    key: str
    value: Any
    note: str
    origin: ValueOrigin

    @property
    def is_default(self) -> bool:
        return self.origin == ValueOrigin()

    def text(self) -> str:
        """Return the value for a line of text."""
        if self.value is None or self.value == []:
            return f"({self.note})" if self.note else "-"
        if isinstance(self.value, bool):
            return str(self.value).lower()
        return " ".join(self.value) if isinstance(self.value, list) else str(self.value)

    def to_json(self) -> dict[str, Any]:
        """Return the row with the source of its value, and the source's variable or file and line."""
        value_origin = self.origin
        if value_origin.file is not None:
            source: dict[str, Any] = {
                "source": "file",
                "file": str(value_origin.file),
                "line": value_origin.line,
            }
        elif value_origin.variable is not None:
            source = {"source": "variable", "variable": value_origin.variable}
        else:
            source = {"source": "flag" if value_origin.is_flag else "default"}
        note = {"note": self.note} if self.value is None and self.note else {}
        return {"key": self.key, "value": self.value, **note, **source}


@click.command("show", context_settings={"ignore_unknown_options": True})
@click.option(
    "--config",
    "file",
    envvar=CONFIG_VARIABLE,
    type=click.Path(path_type=FilePath),
    metavar="FILE",
    help="Configuration file to read.  [default: ~/.config/cfnode/config.toml]",
)
@json_option
@click.argument(
    "words", metavar="[COMMAND [FLAG]...]", nargs=-1, type=click.UNPROCESSED, shell_complete=complete_words
)
@click.pass_context
@verbatim_examples
def show(ctx: click.Context, file: FilePath | None, as_json: bool, words: tuple[str, ...]) -> None:
    r"""Print the value of each flag of COMMAND, and where it comes from.

    A value comes from a flag, a variable, a line of the configuration file, or the default. Without COMMAND,
    or for a group, only values that are no defaults are printed. FLAGs are those with which the command would
    be started. Secrets are hidden.

    \b
      cfnode config show run
      cfnode config show swap quote --network dev
    """
    file = named_file(ctx, "file", file)
    count = next((index for index, word in enumerate(words) if word.startswith("-")), len(words))
    names, flags = words[:count], list(words[count:])
    commands = list(chosen_commands(ctx, names))
    is_one = [path for path, _ in commands] == [names]
    if flags and not is_one:
        raise click.UsageError("FLAGs need the COMMAND to which they belong: write it before them", ctx)
    all_rows = [row for path, command in commands for row in _rows(ctx, path, command, flags, file)]
    rows = all_rows if is_one else [row for row in all_rows if not row.is_default]
    loaded = loaded_file(ctx)
    if as_json:
        print_json({"file": None if loaded is None else str(loaded), "commands": _by_command(rows)})
        return
    click.echo(f"configuration file: {'none' if loaded is None else loaded}")
    for line in _lines(rows, with_command=not is_one):
        click.echo(line)


def _rows(
    ctx: click.Context, path: Path, command: click.Command, flags: list[str], file: FilePath | None
) -> Iterator[FlagRow]:
    """Yield the flags of a command. Raise Failure for values that the command would refuse."""
    with click.Context(
        command, info_name=" ".join(path), parent=ctx.find_root(), **command.context_settings
    ) as inner:
        parsed, extra, _ = command.make_parser(inner).parse_args(list(flags))
        if extra:
            raise click.UsageError(
                f"{extra[0]!r} is not a flag of `cfnode {' '.join(path)}`; its --help lists them", ctx
            )
        load(inner, path, file)
        for option in options_of(command):
            if option.hidden and key_of(option) not in _names(parsed):
                continue
            value, source = option.consume_value(inner, parsed)
            value_origin = origin(inner, option, source)
            if value_origin != ValueOrigin():
                _check(inner, option, value, source)
            plain = default_of(inner, option) if value_origin == ValueOrigin() else value
            yield FlagRow(path, key_of(option), _plain(option, inner, plain), _note(option), value_origin)


def _names(parsed: Any) -> set[str]:
    return {name.replace("_", "-") for name in parsed}


def _check(ctx: click.Context, option: click.Option, value: Any, source: click.core.ParameterSource) -> None:
    ctx.set_parameter_source(option.name or "", source)
    try:
        option.process_value(ctx, value)
    except click.UsageError as error:
        error.ctx = error.ctx or ctx
        if isinstance(error, click.BadParameter):
            error.param = error.param or option
        raise
    except click.ClickException as error:
        raise CommandFailure(f"{option.opts[0]}: {error.message}") from None


def _plain(option: click.Option, ctx: click.Context, value: Any) -> Any:
    """Return the value for JSON.

    Numbers, switches and lists are of the option's type, all else is as it was written.
    """
    hidden = masked(option, value)
    if hidden is not value:
        return hidden
    if option.is_bool_flag and value is None:
        return None if option.secondary_opts else False
    typed = None if value is None else option.type_cast_value(ctx, value)
    if isinstance(typed, tuple):
        return [str(item) for item in typed]
    return typed if isinstance(typed, (bool, int, float)) else None if value is None else str(value)


def _note(option: click.Option) -> str:
    """Return what the help names as the default of an option without a value."""
    match = DEFAULT_IN_HELP.search(option.help or "")
    return " ".join(match[1].split()) if match else ""


def _by_command(rows: list[FlagRow]) -> dict[str, list[dict[str, Any]]]:
    commands: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        commands.setdefault(" ".join(row.path), []).append(row.to_json())
    return commands


def _lines(rows: list[FlagRow], *, with_command: bool) -> Iterator[str]:
    """Yield lines with columns: the flag, its value, where it comes from."""
    names = [f"{' '.join(row.path)} {row.key}" if with_command else row.key for row in rows]
    texts = [row.text() for row in rows]
    width = max(map(len, names), default=0)
    value_width = min(40, max(map(len, texts), default=0))
    for name, text, row in zip(names, texts, rows, strict=True):
        yield f"{name:<{width}}  {text:<{value_width}}  {row.origin}"
