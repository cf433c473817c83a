"""The `--config` option, and the variables of each option of a command.

`configured` prepares the command's options. It names the variables of each option, and adds `--config`, which
reads the file before all other options and gives click the values as defaults. So click itself keeps the
order: command line, environment, file, default.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Final

import click

from cfnode.cli.settings.names import (
    CONFIG_VARIABLE,
    NOT_CONFIGURED,
    VARIABLE_PREFIX,
    Path,
    options_of,
    variables_of,
)

__all__ = [
    "JSON_FLAGS",
    "PARSED",
    "WANTS_JSON",
    "ConfigOption",
    "ValueOrigin",
    "configured",
    "leading_file",
    "load",
    "loaded_file",
    "named_file",
    "origin",
    "with_origins",
]

JSON_FLAGS: Final = ("--json", "--json-lines")
"""Options that ask for JSON."""
WANTS_JSON: Final = "cfnode.wants_json"
"""Whether errors are printed as JSON, in the `meta` of the context."""
PARSED: Final = "cfnode.parsed"
"""The context of the command whose line was read last, in the `meta` of all contexts."""
_LEADING_FILE: Final = "cfnode.leading_config_file"
_LOADED: Final = "cfnode.config"
_FLAG: Final = "--config"


@dataclass(frozen=True, slots=True)
class Loaded:
    """The file of a command, None if there is none, and the lines of its values by the parameter's name."""

    file: FilePath | None = None
    lines: dict[str, int] = field(default_factory=dict)


class ConfigOption(click.Option):
    """The option `--config FILE` of the command with the path `words`."""

    def __init__(self, words: Path) -> None:
        variable = "_".join((VARIABLE_PREFIX, *words, "…")).replace("-", "_").upper()
        super().__init__(
            [_FLAG],
            type=click.Path(path_type=FilePath),
            metavar="FILE",
            envvar=CONFIG_VARIABLE,
            is_eager=True,
            expose_value=False,
            callback=_load,
            help=f"Configuration file, also {CONFIG_VARIABLE}; each flag is also a variable, {variable}",
        )
        self.words = words
        self.group = "Other"

    def add_to_parser(self, parser: click.parser._OptionParser, ctx: click.Context) -> None:
        """Note the command, and a variable of `--json`, in case its line is malformed."""
        super().add_to_parser(parser, ctx)
        ctx.meta[PARSED] = ctx
        _note_json(ctx)


def configured(command: click.Command, path: Path) -> click.Command:
    """Give a command, or each below a group, the variables of its options and `--config`; return it."""
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            configured(below, (*path, name))
        return command
    if any(isinstance(param, ConfigOption) for param in command.params):
        return command
    for option in options_of(command):
        if option.show_envvar:
            option.help, option.show_envvar = f"{option.help}  [env var: {option.envvar}]", False
        option.envvar = variables_of(path, option)
    if path[0] not in NOT_CONFIGURED:
        command.params.append(ConfigOption(path))
    return command


def leading_file(ctx: click.Context, args: list[str]) -> list[str]:
    """Record the file of a leading `--config FILE`, and return the other arguments."""
    if not args:
        return args
    flag, is_joined, file = args[0].partition("=")
    if flag != _FLAG:
        return args
    if not is_joined and len(args) < 2:
        if ctx.resilient_parsing:  # a shell completes the name of the file
            return args
        raise click.BadOptionUsage(
            _FLAG, f"Option '{_FLAG}' requires an argument: write `{_FLAG} FILE`.", ctx
        )
    ctx.meta[_LEADING_FILE] = FilePath(file if is_joined else args[1])
    return args[1 if is_joined else 2 :]


def _load(ctx: click.Context, param: click.Parameter, file: FilePath | None) -> None:
    """Give the context the values of the file as defaults. Raise Failure for errors in it."""
    root = ctx.find_root()
    if ctx.resilient_parsing or not isinstance(root.command, click.Group):
        return
    assert isinstance(param, ConfigOption)
    load(ctx, param.words, named_file(ctx, param.name, file))
    _note_json(ctx)


def named_file(ctx: click.Context, name: str, file: FilePath | None) -> FilePath | None:
    """Return the file of the parameter `name`; a `--config` before the command precedes its variable."""
    leading: FilePath | None = ctx.meta.get(_LEADING_FILE)
    is_typed = ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    return file if is_typed or leading is None else leading


def load(ctx: click.Context, path: Path, chosen_file: FilePath | None) -> None:
    """Read the file for the command of the context: the given one, or the default one if it exists."""
    from cfnode.cli.settings.file import default_file

    file = chosen_file or default_file()
    if file is None or (chosen_file is None and not file.exists()):
        ctx.meta[_LOADED] = Loaded()
        return
    from cfnode.cli.settings.checking import faults, refuse_faults, values
    from cfnode.cli.settings.file import read_config

    root = ctx.find_root()
    assert isinstance(root.command, click.Group)
    config = read_config(file)
    refuse_faults(faults(config, root.command, root, only=path))
    file_values = values(config, path, ctx.command)
    ctx.default_map = {name: value for name, (value, _) in file_values.items()}
    ctx.meta[_LOADED] = Loaded(file, {name: line for name, (_, line) in file_values.items()})


def _note_json(ctx: click.Context) -> None:
    """Print errors as JSON if a variable or the file sets `--json` or `--json-lines`."""
    for option in options_of(ctx.command):
        if not set(JSON_FLAGS).isdisjoint(option.opts):
            value, _ = option.consume_value(ctx, {})
            with suppress(click.BadParameter):  # click reports it when it processes this option
                ctx.meta[WANTS_JSON] = ctx.meta.get(WANTS_JSON) or option.type_cast_value(ctx, value) is True


# --- where a value comes from


@dataclass(frozen=True, slots=True)
class ValueOrigin:
    """Source of a value: exactly one of the sources, or none for the default."""

    is_flag: bool = False
    variable: str | None = None
    file: FilePath | None = None
    line: int | None = None

    def __str__(self) -> str:
        """Name the source: `file:line`, the variable, `flag` or `default`."""
        if self.file is not None:
            return f"{self.file}:{self.line}"
        return self.variable or ("flag" if self.is_flag else "default")


def loaded_file(ctx: click.Context) -> FilePath | None:
    """Return the configuration file that was read for the command of the context."""
    loaded: Loaded = ctx.meta.get(_LOADED, Loaded())
    return loaded.file


def origin(
    ctx: click.Context, option: click.Option, source: click.core.ParameterSource | None
) -> ValueOrigin:
    """Return where click found the value of an option."""
    sources = click.core.ParameterSource
    if source is sources.ENVIRONMENT:
        names = [option.envvar] if isinstance(option.envvar, str) else [*(option.envvar or ())]
        automatic = f"{ctx.auto_envvar_prefix}_{(option.name or '').upper()}"
        return ValueOrigin(variable=next((name for name in names if os.environ.get(name)), automatic))
    if source is sources.DEFAULT_MAP:
        loaded: Loaded = ctx.meta.get(_LOADED, Loaded())
        return ValueOrigin(file=loaded.file, line=loaded.lines.get(option.name or ""))
    return ValueOrigin(is_flag=source is sources.COMMANDLINE)


def with_origins(error: click.UsageError) -> click.UsageError:
    """Return the error with the sources of the values of the flags in it.

    Values from the command line are left out.
    """
    if error.ctx is None:
        return error
    param = error.param if isinstance(error, click.BadParameter) else None
    words = set(re.split(r"[\s;:,=]+", error.message))
    origins = []
    for option in options_of(error.ctx.command):
        if option is param or not words.isdisjoint(option.opts):
            value_origin = origin(error.ctx, option, error.ctx.get_parameter_source(option.name or ""))
            if value_origin.variable or value_origin.file:
                origins.append(f"{option.opts[0]} comes from {value_origin}")
    if not origins:
        return error
    return click.UsageError(f"{error.format_message().removesuffix('.')} ({'; '.join(origins)}).", error.ctx)
