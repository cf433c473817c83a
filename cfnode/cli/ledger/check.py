"""`cfnode ledger check`: a comparison of the books with the chain, and a search for missing blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.credentials import node_token
from cfnode.cli.exits import Failure
from cfnode.cli.ledger.options import database_option, explained, opened
from cfnode.cli.options import json_option, node_option
from cfnode.cli.output import print_json

if TYPE_CHECKING:
    from cfnode.ledger.balances import Comparison
    from cfnode.ledger.books import Books, Gap
    from cfnode.ledger.recompute import TableDifference
    from cfnode.ledger.unread import UnreadKind

__all__ = ["check"]


@click.command()
@node_option()
@database_option
@click.option(
    "--recompute", is_flag=True, help="Rebuild all tables from the events in the books, and compare."
)
@json_option
def check(url: str, database: str | None, recompute: bool, as_json: bool) -> None:
    """Compare the books with the chain at their newest block.

    Compared are the free balances of all accounts in the books, their FLIP, and the earned fees of brokers.
    The exit code is 1 if a figure or a table differs, blocks are missing, or events have a shape that this
    version cannot read.
    """
    with opened(database) as books_database:
        import trio

        from cfnode.ledger.books import Books
        from cfnode.ledger.recompute import recomputed
        from cfnode.ledger.unread import unread_kinds

        books_database.require()
        books = Books(books_database)
        with explained():
            outcome = trio.run(_compared, url, books)
            tables = recomputed(books_database) if recompute else []
        gaps, unread = books.gaps(), unread_kinds(books_database)
    fault = _fault(outcome, gaps, unread, tables)
    if as_json:
        document = _document(outcome, gaps, unread, tables)
        if fault is not None:
            raise Failure(fault, report=document)
        print_json(document)
        return
    _print(outcome, gaps, unread, tables)
    if fault is not None:
        raise Failure(fault)
    click.echo("books, events and chain agree" if recompute else "books and chain agree")


def _fault(
    outcome: Comparison, gaps: list[Gap], unread: list[UnreadKind], tables: list[TableDifference]
) -> str | None:
    """Return what is wrong with the books, or None."""
    if not (outcome.differences or gaps or unread or tables):
        return None
    count = sum(kind.count for kind in unread)
    text = f"{len(outcome.differences)} figures differ, {len(gaps)} gaps are open, {count} events are unread"
    return text + (f", {len(tables)} tables differ from their events" if tables else "")


async def _compared(url: str, books: Books) -> Comparison:
    from cfnode.ledger.balances import compare
    from cfnode.ledger.chain import ChainReader
    from cfnode.ledger.client import connected
    from cfnode.ledger.errors import BrokenBooks, WrongChain

    async with connected(url, node_token(url)) as client:
        reader = ChainReader(client)
        genesis, books_genesis = await reader.genesis(), books.value("genesis")
        if books_genesis is not None and books_genesis != genesis:
            raise WrongChain(f"the node's chain has the genesis {genesis}, the books have {books_genesis}")
        outcome = await compare(reader, books)
        if outcome is None:
            raise BrokenBooks("the books are empty: `cfnode ledger run` begins them")
        return outcome


def _document(
    outcome: Comparison, gaps: list[Gap], unread: list[UnreadKind], tables: list[TableDifference]
) -> dict[str, Any]:
    return {
        "blockNumber": outcome.block.number,
        "blockHash": outcome.block.hash,
        "compared": outcome.compared,
        "differences": [
            {
                "account": difference.account,
                "asset": difference.asset,
                "figure": difference.figure,
                "books": str(difference.books),
                "chain": str(difference.chain),
            }
            for difference in outcome.differences
        ],
        "gaps": [{"first": gap.first, "last": gap.last} for gap in gaps],
        "tables": [
            {"table": table.table, "rows": table.rows, "blockNumber": table.block} for table in tables
        ],
        "unread": [
            {"kind": kind.kind, "count": kind.count, "blockNumber": kind.block, "reason": kind.reason}
            for kind in unread
        ],
    }


def _print(
    outcome: Comparison, gaps: list[Gap], unread: list[UnreadKind], tables: list[TableDifference]
) -> None:
    click.echo(f"block {outcome.block.number}: {outcome.compared} figures compared")
    for difference in outcome.differences:
        click.echo(f"differs: {difference}")
    for gap in gaps:
        click.echo(f"missing: {gap} (`cfnode ledger run --archive URL` fills it)")
    for kind in unread:
        click.echo(f"unread: {kind} (a newer version of cfnode may read them)")
    for table in tables:
        click.echo(f"differs from its events: {table}")
