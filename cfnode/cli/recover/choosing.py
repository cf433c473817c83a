"""Choice of the call that belongs to an owner or a batch.

A single call is used; several are printed as a table to choose from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cfnode.cli.exits import ExitCode, Failure

if TYPE_CHECKING:
    from cfnode.cli.recover.steps import Recovery
    from cfnode.sdk.recovery import Candidates, NoSuchCall, Payload

__all__ = ["choose", "find_batch"]


def choose(work: Recovery, owner: str, chain: str | None, archive: str | None) -> Payload:
    """Return the call that belongs to an owner. Raise Failure if several do."""
    from cfnode.cli.progress import counting
    from cfnode.sdk.recovery import FindCandidates, Progress

    read = ""
    with counting("looking for the call", quiet=work.as_json) as advance:

        def note(progress: Progress) -> None:
            nonlocal read
            read = f"; {progress.span} have been read"
            advance(progress.span, progress.count, progress.most)

        try:
            found = work.sdk.call(FindCandidates(owner, chain, archive, work.eth_rpc, note))
        except KeyboardInterrupt:
            raise Failure(f"interrupted{read}", ExitCode.INTERRUPTED) from None
    return _only(work, found, owner)


def find_batch(work: Recovery, chain: str, number: int, archive: str | None, batch: NoSuchCall) -> Payload:
    """Return the call for the failed transfer of a batch, or for the whole of an aborted one.

    Raises `batch` if there is none.
    """
    from cfnode.sdk.recovery import AlreadySent, BeingSigned, FindCallsOfBatch, RecoveryError

    try:
        found = work.sdk.call(FindCallsOfBatch(chain, number, archive, work.eth_rpc))
    except (AlreadySent, BeingSigned):
        raise
    except RecoveryError as error:
        batch.message = f"{batch.message}; {error.message}"
        raise batch from None
    return _only(work, found, f"the batch {number}")


def _only(work: Recovery, found: Candidates, owner: str) -> Payload:
    from cfnode.sdk.recovery import candidate

    work.report["asked"] = list(found.asked)
    if found.asked and work.is_verbose:
        work.say(f"Searched {', then '.join(found.asked)}.")
    if len(found.calls) > 1:
        work.report["candidates"] = [candidate(each) for each in found.calls]
        if not work.as_json:
            _print_table(work, found.calls)
        raise Failure(
            f"{len(found.calls)} calls may belong to {owner}: choose one with CHAIN and its number",
            ExitCode.SEVERAL_CALLS,
        )
    return found.calls[0]


def _print_table(work: Recovery, calls: tuple[Payload, ...]) -> None:
    """Print the calls, and below them the command for each of those which have a number of their own."""
    from cfnode.cli.tables import print_table
    from cfnode.sdk.recovery import amount_text

    rows = [
        (
            f"{each.chain} {each.broadcast_id}",
            amount_text(each),
            each.recipient_text,
            "" if each.message is None else f"{len(each.message)} bytes",
        )
        for each in calls
    ]
    print_table(("call", "pays", "to", "message"), rows, "no call")
    for each in calls:
        if (command := work.command(each)) is not None:
            click.echo(command)
