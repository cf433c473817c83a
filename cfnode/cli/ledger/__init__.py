"""`cfnode ledger`: commands that keep the books of a broker, check them and read them."""

from __future__ import annotations

import click

from cfnode.cli.examples import verbatim_examples
from cfnode.cli.groups import CommandGroup
from cfnode.cli.ledger.check import check
from cfnode.cli.ledger.find import find
from cfnode.cli.ledger.partner import partner
from cfnode.cli.ledger.run import run
from cfnode.cli.ledger.show import show
from cfnode.cli.ledger.statement import statement
from cfnode.cli.ledger.webhook import webhook

__all__ = ["ledger"]


@click.group(
    cls=CommandGroup,
    epilog="The books are in an SQLite file, or in PostgreSQL by --database. SQLite needs "
    "`pip install 'cfnode[ledger]'`, PostgreSQL `pip install 'cfnode[postgres]'`.",
)
@verbatim_examples
def ledger() -> None:
    r"""Keep the books of what happens on the chain: channels, swaps, fees, payouts.

    \b
      cfnode ledger run --node http://127.0.0.1:9944      follow a node, until Ctrl-C
      cfnode ledger show swaps --from 2026-01-01          read the books
      cfnode ledger statement --month 2026-11             a month for the accountant, with totals
      cfnode ledger check                                 compare them with the chain
    """


for command in (run, check, show, find, statement, webhook, partner):
    ledger.add_command(command)
