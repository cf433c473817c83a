"""Which options do many commands have? One name, one variable, one meaning and one help text each.

An option that two commands share is built here, so that it reads, defaults and fails the same in both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from cfnode.cli.exits import ExitCode, Failure
from cfnode.cli.values import NodeUrl, Seconds

__all__ = [
    "DEFAULT_URL",
    "NODE_VARIABLE",
    "every_option",
    "json_errors_option",
    "json_option",
    "node_option",
    "only_one",
    "timeout_option",
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
    help='Print JSON, an error too: {"error": {"code", "message"}}.',
)

json_errors_option = click.option(
    "--json",
    is_flag=True,
    expose_value=False,
    help='Print an error as JSON: {"error": {"code", "message"}}; what is printed otherwise stays the same.',
)
"""For commands that print a document, which is JSON as it is, or nothing."""


def node_option(
    name: str = "url",
    *,
    default: str | None = DEFAULT_URL,
    text: str = "The node's HTTP address.",
) -> Callable[[_Command], _Command]:
    """`--node URL`, also from the environment; the parameter is called `name`. `--url` is its older name."""
    return click.option(
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


def timeout_option(
    default: float = 60.0, *, least: float = 0.1, text: str = "Seconds to wait."
) -> Callable[[_Command], _Command]:
    """`--timeout SECONDS`."""
    return click.option(
        "--timeout", type=Seconds(least), default=default, show_default=True, metavar="SECONDS", help=text
    )


def every_option(default: float = 6.0) -> Callable[[_Command], _Command]:
    """`--every SECONDS`: the pause of a command that goes on asking."""
    return click.option(
        "--every",
        type=Seconds(),
        default=default,
        show_default=True,
        metavar="SECONDS",
        help="Seconds between two questions.",
    )


def only_one(
    name: str, value: _Value | None, other_name: str, other: _Other | None
) -> tuple[_Value | None, _Other | None]:
    """Two parameters that exclude each other; what is typed beats what the environment has.

    Both typed is a Failure (usage); of two that the environment has, the first counts.
    """
    if value is None or other is None:
        return value, other
    typed, other_typed = _is_typed(name), _is_typed(other_name)
    if typed and other_typed:
        raise Failure(f"{_flag(name)} and {_flag(other_name)} exclude each other", ExitCode.USAGE)
    return (None, other) if other_typed else (value, None)


def _is_typed(name: str) -> bool:
    """Whether a parameter of the running command is on its command line, not in the environment."""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def _flag(name: str) -> str:
    """The option that gives a parameter of the running command its value."""
    params = click.get_current_context().command.params
    return next(param.opts[0] for param in params if param.name == name)
