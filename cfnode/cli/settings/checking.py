"""Checks of a configuration file: names of commands and flags, and types of values.

A command checks all names on the way to its own section, and the values that it uses; so a mistake in the
section of another command does not stop a node. `cfnode config check` checks everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path as FilePath
from typing import Any

import click

from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.settings.file import ConfigFile, Fault
from cfnode.cli.settings.names import (
    NOT_CONFIGURED,
    SHARED,
    Path,
    commands_below,
    key_of,
    options_of,
    other_spellings,
    shared_key,
)
from cfnode.cli.settings.secrets import instead_of, is_secret

__all__ = ["INTEGER", "LIST", "SWITCH", "Value", "faults", "refuse_faults", "values", "wanted"]

Value = tuple[Any, int]
"""A value as a flag takes it, and its line."""


def values(file: ConfigFile, path: Path, command: click.Command) -> dict[str, Value]:
    """Return a file's values for a command by the parameter's name; the innermost section counts."""
    typed_values = {}
    for option in options_of(command):
        for table in _sections(path):
            key = key_of(option) if table else shared_key(path, option)
            key_path = (*table, key or "")
            value = _at(file, key_path)
            if value is not None and not isinstance(value, dict):
                typed_values[option.name or ""] = _as_typed(value), file.line(key_path)
    return typed_values


def faults(file: ConfigFile, root: click.Group, ctx: click.Context, only: Path = ()) -> list[Fault]:
    """Return all errors of a file, or with `only` those that concern this command."""
    errors = list(_wrong_names(file, root, ctx, (), only))
    for path, command in _checked_commands(file, root, ctx, only):
        errors += _wrong_values(file, path, command)
    return sorted(dict.fromkeys(errors), key=lambda fault: fault.line)


def refuse_faults(errors: list[Fault]) -> None:
    """Raise Failure with a line for each error, if there are any."""
    if errors:
        raise CommandFailure("\n".join(map(str, errors)), ExitCode.CONFIGURATION)


def _sections(path: Path) -> Iterator[Path]:
    """Return the sections of a command, from the outermost: (), (swap,), (swap, quote)."""
    return (path[:depth] for depth in range(len(path) + 1))


def _at(file: ConfigFile, key_path: Path) -> Any:
    value: Any = file.tables
    for key in key_path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _checked_commands(
    file: ConfigFile, root: click.Group, ctx: click.Context, only: Path
) -> Iterator[tuple[Path, click.Command]]:
    has_shared = any(not isinstance(value, dict) for value in file.tables.values())
    names = only[:1] or [name for name in root.list_commands(ctx) if has_shared or name in file.tables]
    for name in names:
        command = None if name in NOT_CONFIGURED else root.get_command(ctx, name)
        if command is not None:
            commands = commands_below(command, ctx, (name,))
            yield from (entry for entry in commands if not only or entry[0] == only)


# --- names


def _wrong_names(
    file: ConfigFile, command: click.Command, ctx: click.Context, table: Path, only: Path
) -> Iterator[Fault]:
    """Yield unknown keys and sections in a section and in those inside it.

    With `only`, the inner sections are those that concern this command.
    """
    content = _at(file, table)
    keys, spellings = _keys(command, ctx, table)
    listed = [key for key, is_hidden in keys.items() if not is_hidden]
    sections = _subsections(command, ctx, table)
    for name, value in content.items():
        key_path = (*table, name)
        if isinstance(value, dict) and name in sections:
            below = command.get_command(ctx, name) if isinstance(command, click.Group) else None
            if below is not None and (not only or only[: len(key_path)] == key_path):
                yield from _wrong_names(file, below, ctx, key_path, only)
        elif isinstance(value, dict):
            hint = _like(name, sections) or " `cfnode --help` lists the commands, which are the sections."
            yield _fault(file, key_path, f"unknown section [{'.'.join(key_path)}].{hint}")
        elif name in sections:
            yield _fault(
                file, key_path, f"this is a section: write [{'.'.join(key_path)}] and its keys below it"
            )
        elif name in spellings:
            yield _fault(file, key_path, f"unknown key. Write {spellings[name]}")
        elif name not in keys:
            yield _fault(file, key_path, f"unknown key.{_like(name, listed) or _elsewhere(table)}")


def _keys(command: click.Command, ctx: click.Context, table: Path) -> tuple[dict[str, bool], dict[str, str]]:
    """Return a section's keys, whether each is hidden, and what to write instead of other spellings.

    A group's keys are those of its commands.
    """
    if not table:
        return dict.fromkeys(SHARED.values(), False), {}
    keys, spellings = dict[str, bool](), dict[str, str]()
    for _, below in commands_below(command, ctx, table):
        for option in options_of(below):
            keys[key_of(option)] = option.hidden
            spellings |= other_spellings(option)
    return keys, {name: text for name, text in spellings.items() if name not in keys}


def _subsections(command: click.Command, ctx: click.Context, table: Path) -> list[str]:
    names = command.list_commands(ctx) if isinstance(command, click.Group) else []
    return [name for name in names if table or name not in NOT_CONFIGURED]


def _like(name: str, names: list[str]) -> str:
    from cfnode.core.suggestions import did_you_mean

    return did_you_mean(name, names)


def _elsewhere(table: Path) -> str:
    """Return a hint about the keys of a section."""
    if table:
        return f" `cfnode {' '.join(table)} --help` lists the flags."
    return (
        " Above all sections there may be "
        + ", ".join(SHARED.values())
        + "; flags are in sections, as [run]."
    )


# --- values


def _wrong_values(file: ConfigFile, path: Path, command: click.Command) -> Iterator[Fault]:
    """Yield values of wrong types, and secrets."""
    with click.Context(command, info_name=" ".join(path)) as ctx:
        for option in options_of(command):
            for table in _sections(path):
                key = key_of(option) if table else shared_key(path, option)
                place = (*table, key or "")
                value = _at(file, place)
                if value is None or isinstance(value, dict):
                    continue
                if is_secret(option, value) and not option.hidden:
                    instead = instead_of(command, path, option)
                    yield _fault(file, place, f"a secret must not be in a configuration file: {instead}")
                elif text := _refusal(ctx, option, value):
                    yield _fault(file, place, text)


def _refusal(ctx: click.Context, option: click.Option, value: Any) -> str:
    """Explain why a value does not fit the option; empty if it does."""
    kind = wanted(option)
    if not _fits(kind, value):
        return f"give {kind}, not {_described(value)}"
    try:
        option.process_value(ctx, _as_typed(value))
    except click.ClickException as error:
        return error.message
    return ""


LIST = 'a list, as in ["…"]'
SWITCH = "true or false"
INTEGER = "an integer"
TEXT = "a text in quotes or a number"


def wanted(option: click.Option) -> str:
    """Return the TOML type of an option, in words."""
    if option.multiple or option.nargs != 1:
        return LIST
    if option.is_bool_flag:
        return SWITCH
    return INTEGER if isinstance(option.type, type(click.INT)) else TEXT


def _fits(kind: str, value: Any) -> bool:
    if kind == LIST:
        return isinstance(value, list) and all(_fits(TEXT, item) for item in value)
    if kind == SWITCH:
        return isinstance(value, bool)
    return isinstance(value, int if kind == INTEGER else (str, int, float)) and not isinstance(value, bool)


def _described(value: Any) -> str:
    names = {bool: "true or false", int: "an integer", float: "a number", str: "a text", list: "a list"}
    return names.get(type(value), "a date or time")


def _as_typed(value: Any) -> Any:
    """Return the value as the command line would have it.

    Numbers are text, `~` is replaced as by the shell; switches stay.
    """
    if isinstance(value, list):
        return [_as_typed(item) for item in value]
    if isinstance(value, str) and value.startswith("~/"):
        with suppress(RuntimeError):  # there is no home directory
            return str(FilePath(value).expanduser())
    return value if isinstance(value, bool) else str(value)


def _fault(file: ConfigFile, place: Path, text: str) -> Fault:
    return Fault(file.path, file.line(place), ".".join(place), text)
