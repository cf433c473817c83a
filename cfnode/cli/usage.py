"""Next steps for malformed command lines: click's own errors name the fault, and not what to do.

`with_next_step` passes each usage error of the program. A type of ours states in its own error what it takes.
"""

from __future__ import annotations

import click

from cfnode.cli.settings.option import PARSED, with_origins

__all__ = ["with_next_step"]

_EXTRA = ("Got unexpected extra argument", "Got an unexpected extra argument")
"""Beginnings of click's error for arguments that a command does not take; it has no class of its own."""
_TAKES_NONE = "does not take a value"
"""A part of click's error for a flag with a value."""


def with_next_step(error: click.UsageError, root: click.Context) -> click.UsageError:
    """Return the error with the sources of its values, and with what to do if it does not say so."""
    error.ctx = error.ctx or root.meta.get(PARSED)  # click gives none to errors about an option's value
    step = _step(error, error.ctx or root)
    named = with_origins(error)
    if not step:
        return named
    return click.UsageError(f"{named.format_message().strip().removesuffix('.')}{step}", error.ctx)


def _step(error: click.UsageError, ctx: click.Context) -> str:
    """Return what follows the message of an error; "" for an error that says what to do."""
    if isinstance(error, click.NoSuchOption):
        return "" if error.possibilities else f"; `{ctx.command_path} --help` lists the options"
    if isinstance(error, click.MissingParameter):
        return _missing(error, ctx)
    if isinstance(error, click.BadOptionUsage):
        return _used(error, ctx)
    if isinstance(error, click.BadArgumentUsage):
        return f": write `{_line(ctx)}`"
    if isinstance(error, click.BadParameter):
        return _refused(error, ctx)
    if error.message.startswith(_EXTRA):
        return f": leave it out, or quote a value that contains blanks: `{_line(ctx)}`"
    return ""


def _missing(error: click.MissingParameter, ctx: click.Context) -> str:
    param = error.param
    if isinstance(param, click.Option):
        return f": add `{_usage(param, ctx)}`"
    return f": write `{_line(ctx)}`"


def _used(error: click.BadOptionUsage, ctx: click.Context) -> str:
    """Return the step for an option without its values, or for a flag with one."""
    option = next(
        (
            param
            for param in ctx.command.get_params(ctx)
            if isinstance(param, click.Option) and error.option_name in (*param.opts, *param.secondary_opts)
        ),
        None,
    )
    if _TAKES_NONE in error.message:
        return f": write `{error.option_name}` alone"
    return f": write `{error.option_name} VALUE`" if option is None else f": write `{_usage(option, ctx)}`"


def _refused(error: click.BadParameter, ctx: click.Context) -> str:
    """Return the step for a value that a type of click refuses."""
    param = error.param
    if param is None or not type(param.type).__module__.startswith("click.") or param.callback is not None:
        return ""
    if isinstance(param.type, click.Path):
        return ": check the path"
    return f"; `{ctx.command_path} --help` lists what it takes"


def _usage(option: click.Option, ctx: click.Context) -> str:
    """Return an option as a command line has it: `--fund ASSET=AMOUNT`."""
    name = max(option.opts, key=len)
    return name if option.is_flag else f"{name} {option.make_metavar(ctx)}"


def _line(ctx: click.Context) -> str:
    """Return the command with its arguments: `cfnode swap quote SOURCE DESTINATION AMOUNT`."""
    pieces = [piece for piece in ctx.command.collect_usage_pieces(ctx) if piece != "[OPTIONS]"]
    return " ".join((ctx.command_path, *pieces))
