"""Options that several commands share.

Each one is defined once, so that it has the same name, variable, default, help text and errors in every
command.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from cfnode.cli.credentials import TOKEN_FILE_VARIABLE, note_token_file
from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.values import NodeUrl, Seconds
from cfnode.cli.verbosity import verbose_option

__all__ = [
    "DEFAULT_URL",
    "NODE_VARIABLE",
    "every_option",
    "json_errors_option",
    "json_lines_option",
    "json_option",
    "node_option",
    "only_one",
    "overrides",
    "require_one",
    "timeout_option",
    "typed_node_flag",
]

NODE_VARIABLE = "CFNODE_URL"
DEFAULT_URL = "http://127.0.0.1:9944"
_Command = TypeVar("_Command", bound=Callable[..., Any])
_Value = TypeVar("_Value")
_Other = TypeVar("_Other")

json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help='Print JSON, errors too: {"error": {"code", "message"}}.',
)

json_lines_option = click.option(
    "--json-lines",
    "as_lines",
    is_flag=True,
    help="Print JSON with one object per line, instead of an array.",
)
"""The flag of commands that print a list, next to `--json`."""

json_errors_option = click.option(
    "--json",
    is_flag=True,
    expose_value=False,
    help='Print errors as JSON: {"error": {"code", "message"}}; other output stays the same.',
)
"""The `--json` of commands that print a JSON document, or nothing."""


def node_option(
    name: str = "url",
    *,
    default: str | None = DEFAULT_URL,
    text: str = "HTTP address of the node.",
) -> Callable[[_Command], _Command]:
    """Return the option `--node URL`, also from the environment; the parameter is called `name`.

    `--url` is its older name. With it come `--token-file FILE`, the node's bearer token, and `--verbose`.
    """
    node = click.option(
        "--node",
        "--url",
        name,
        envvar=NODE_VARIABLE,
        show_envvar=True,
        type=NodeUrl(),
        metavar="URL",
        default=default,
        show_default=default is not None,
        help=text,
    )
    return lambda command: node(_token_file(verbose_option(command)))


def typed_node_flag(url: str) -> str:
    """Return ` --node URL` for a printed command; empty if CFNODE_URL or the default has the address."""
    source = click.get_current_context().get_parameter_source("url")
    return f" --node={url}" if source is ParameterSource.COMMANDLINE else ""


_token_file = click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    envvar=TOKEN_FILE_VARIABLE,
    show_envvar=True,
    expose_value=False,
    callback=note_token_file,
    help="File with the bearer token that the node requires.",
)


def timeout_option(
    default: float = 60.0, *, minimum: float = 0.1, text: str = "Maximum seconds to wait."
) -> Callable[[_Command], _Command]:
    """Return the option `--timeout SECONDS`."""
    return click.option(
        "--timeout", type=Seconds(minimum), default=default, show_default=True, metavar="SECONDS", help=text
    )


def every_option(
    default: float | None = 6.0, *, text: str = "Polling interval in seconds."
) -> Callable[[_Command], _Command]:
    """Return the option `--every SECONDS`: a polling interval; None if the command chooses one."""
    return click.option(
        "--every",
        type=Seconds(),
        default=default,
        show_default=default is not None,
        metavar="SECONDS",
        help=text,
    )


def require_one(purpose: str, option: tuple[str, object], other: tuple[str, object]) -> None:
    """Raise Failure (usage) unless one of two options has a value, and the other has none.

    Each is its text, such as `--price PRICE`, and its value; `purpose` names what they set.
    """
    if (option[1] is None) != (other[1] is None):
        return
    names = option[0].split()[0], other[0].split()[0]
    fault = f"no {purpose} is given" if option[1] is None else f"{names[0]} and {names[1]} exclude each other"
    raise CommandFailure(f"{fault}: give {option[0]} or {other[0]}", ExitCode.USAGE)


def only_one(
    name: str, value: _Value | None, other_name: str, other: _Other | None
) -> tuple[_Value | None, _Other | None]:
    """Return two exclusive parameters; of two given ones the less explicit becomes None.

    Raises Failure (usage) if both are on the command line; if both are in the environment, or both in the
    configuration file, the first one counts.
    """
    if value is None or other is None:
        return value, other
    ctx = click.get_current_context()
    if _rank(ctx, name) == _rank(ctx, other_name) == 0:
        raise CommandFailure(
            f"{_flag(name)} and {_flag(other_name)} exclude each other: give one of them", ExitCode.USAGE
        )
    return (None, other) if overrides(ctx, other_name, name) else (value, None)


def overrides(ctx: click.Context, name: str, other_name: str) -> bool:
    """Return whether a parameter's source precedes another's: command line, environment, file, default."""
    return _rank(ctx, name) < _rank(ctx, other_name)


_SOURCES = (
    click.core.ParameterSource.COMMANDLINE,
    click.core.ParameterSource.ENVIRONMENT,
    click.core.ParameterSource.DEFAULT_MAP,
)


def _rank(ctx: click.Context, name: str) -> int:
    """Return the rank of a parameter's source; 0 for the most explicit one, the command line."""
    source = ctx.get_parameter_source(name)
    return _SOURCES.index(source) if source in _SOURCES else len(_SOURCES)


def _flag(name: str) -> str:
    """Return the flag of a parameter of the running command."""
    params = click.get_current_context().command.params
    return next(param.opts[0] for param in params if param.name == name)
