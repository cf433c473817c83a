"""Flags of the official node that `cfnode run` accepts without effect, and those that it refuses.

A flag without meaning here is accepted, so that a command line keeps working, and is listed in one warning at
start. A flag for a function that cfnode lacks is refused with the reason. Both are rows of `official.flags`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from cfnode.cli.official.flags import BY_NAME, FLAGS, Flag, Treatment
from cfnode.cli.official.grammar import ClapOption
from cfnode.cli.official.options import as_in

IGNORED_KEY = "cfnode.ignored_flags"
DEVELOPMENT_KEY = "cfnode.development_flags"


def note_ignored(ctx: click.Context, param: click.Parameter, value: object) -> None:
    """Record that a flag without effect was given."""
    if value:
        ctx.meta.setdefault(IGNORED_KEY, []).append(param.opts[0])


def note_development(ctx: click.Context, param: click.Parameter, value: object) -> None:
    """Record that a flag was given which needs `--dev`; `check_development` refuses it without."""
    if value:
        ctx.meta.setdefault(DEVELOPMENT_KEY, []).append(param.opts[0])


def refuse(ctx: click.Context, param: click.Parameter, value: object) -> None:
    """Raise UsageError (exit code 2) with the flag and the reason, if the flag was given."""
    if value:
        raise click.UsageError(f"{param.opts[0]}: {BY_NAME[param.opts[0]].note}", ctx)


CALLBACKS = {
    Treatment.IGNORED: note_ignored,
    Treatment.DEVELOPMENT: note_development,
    Treatment.REFUSED: refuse,
}


def accepted_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags without effect and the refused ones to a command, hidden from its help."""
    for flag in reversed(FLAGS):
        if callback := CALLBACKS.get(flag.treatment):
            command = _hidden(flag, callback)(command)
    return command


def also_accepted(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator with which a subcommand of the official node ignores these flags."""

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            command = _hidden(BY_NAME[name], _report_ignored)(command)
        return command

    return decorated


def _report_ignored(ctx: click.Context, param: click.Parameter, value: object) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"Ignoring {param.opts[0]}, which has no meaning for this command.", err=True)


def _hidden(flag: Flag, callback: Callable[..., None]) -> Callable[..., Any]:
    names, attributes = as_in(flag, (flag.name,), {})
    return click.option(
        *names, cls=ClapOption, hidden=True, expose_value=False, callback=callback, **attributes
    )


def ignored_flags(ctx: click.Context) -> list[str]:
    """Return the accepted flags that were given, in order."""
    return list(ctx.meta.get(IGNORED_KEY, []))


def development_flags(ctx: click.Context) -> list[str]:
    """Return the given flags that need `--dev`, in order."""
    return list(ctx.meta.get(DEVELOPMENT_KEY, []))


def check_development(ctx: click.Context, is_development: bool) -> None:
    """Raise UsageError for a flag that needs `--dev`, if that was not given."""
    for name in development_flags(ctx):
        if not is_development:
            raise click.UsageError(f"{name} needs --dev: {BY_NAME[name].note}", ctx)
