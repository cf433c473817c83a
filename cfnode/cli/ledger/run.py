"""`cfnode ledger run`: the books, kept by following a node until a signal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cfnode.cli import logs
from cfnode.cli.credentials import node_token
from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.ledger.options import database_option, opened
from cfnode.cli.options import json_errors_option, node_option
from cfnode.cli.stopping import stop_on_signal
from cfnode.cli.values import AccountId, NodeUrl, WholeNumber

if TYPE_CHECKING:
    from cfnode.ledger.balances import Comparison
    from cfnode.ledger.follower import Follower
    from cfnode.ledger.webhooks.deliverer import Deliverer

__all__ = ["run"]


@click.command()
@node_option()
@database_option
@click.option(
    "--archive",
    type=NodeUrl(),
    metavar="URL",
    help="HTTP address of an archive node, for blocks that the node has forgotten.",
)
@click.option(
    "--account",
    "accounts",
    type=AccountId(),
    multiple=True,
    metavar="ACCOUNT",
    help="Keep only records of this account and its affiliates (repeatable). Default: all accounts.",
)
@click.option(
    "--first-block",
    type=WholeNumber(1),
    metavar="NUMBER",
    help="First block of new books. Default: the one after the newest finalized block.",
)
@click.option(
    "--once", is_flag=True, help="Stop at the newest finalized block; exit code 1 if a figure differs."
)
@click.option("--log", metavar="FILTER", multiple=True, help="Log filter, such as `warn` or `ledger=debug`.")
@json_errors_option
@click.pass_context
def run(
    ctx: click.Context,
    url: str,
    database: str | None,
    archive: str | None,
    accounts: tuple[str, ...],
    first_block: int | None,
    once: bool,
    log: tuple[str, ...],
) -> None:
    """Follow the finalized blocks of a node and write the books, until Ctrl-C or SIGTERM.

    It works with any State Chain node, and may be interrupted anywhere. Every 100 blocks it compares the
    books with the chain; a difference is logged as an error, and noted. It also sends the webhooks.
    """
    try:
        logs.set_up(log)
    except logs.LogFilterError as error:
        raise click.UsageError(str(error), ctx) from None
    with opened(database) as books_database:
        import trio

        from cfnode.ledger.books import Books
        from cfnode.ledger.follower import Follower, Source
        from cfnode.ledger.webhooks.deliverer import Deliverer

        source = Source(url, archive, first_block, accounts, node_token(url))
        follower, deliverer = Follower(source, Books(books_database)), Deliverer(books_database)
        outcome = trio.run(_until_stopped, follower, deliverer, once)
    if outcome is not None and outcome.differences:
        raise CommandFailure(
            f"{len(outcome.differences)} figures differ: `cfnode ledger check`", ExitCode.FAILURE
        )


async def _until_stopped(follower: Follower, deliverer: Deliverer, once: bool) -> Comparison | None:
    import trio

    from cfnode.ledger.errors import LedgerError
    from cfnode.web.hangup import nothing_to_reload, on_hangups

    outcome, failure = None, None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stop_on_signal, nursery.cancel_scope)
        await nursery.start(on_hangups, nothing_to_reload)
        try:
            if not once:
                nursery.start_soon(_deliver, follower, deliverer)
            outcome = await follower.run(once=once)
            await deliverer.run(once=True)
        except LedgerError as error:  # raised outside of the nursery, which would make a group of it
            failure = error
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return outcome


async def _deliver(follower: Follower, deliverer: Deliverer) -> None:
    """Send webhooks, as soon as this process is the one that follows the node."""
    await follower.leads.wait()
    await follower.restarts.keep("the delivery of webhooks", deliverer.run)
