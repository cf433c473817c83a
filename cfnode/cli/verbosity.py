"""The `--verbose` option: more explanations, and a server's own text below what it means."""

from __future__ import annotations

import click

__all__ = ["is_verbose", "verbose_option"]

_KEY = "cfnode.verbose"


def _note(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.meta[_KEY] = value


verbose_option = click.option(
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=_note,
    help="Explain more, and print the text of a refusal as the node or the broker sent it.",
)


def is_verbose() -> bool:
    """Return whether the running command prints the texts of servers."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get(_KEY))
