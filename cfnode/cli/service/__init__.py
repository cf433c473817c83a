"""`cfnode service`: the group of commands that serve swap SDKs on a live network."""

from __future__ import annotations

import click

from cfnode.cli.examples import verbatim_examples
from cfnode.cli.groups import CommandGroup
from cfnode.cli.service.run import run

__all__ = ["service"]


@click.group(
    cls=CommandGroup, epilog="The books come from `cfnode ledger run`, which runs next to the service."
)
@verbatim_examples
def service() -> None:
    r"""Serve quotes, statuses and channels to swap SDKs, from a node and the books.

    \b
      cfnode service run --node http://127.0.0.1:9944 --check     try node and books, then run without --check
    """


service.add_command(run)
