"""Choice of the call that belongs to an owner or a batch.

A single call is used; several are printed as a table to choose from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from cfnode.cli.exits import ExitCode, Failure

if TYPE_CHECKING:
    from cfnode.cli.recover.steps import Recovery
    from cfnode.sdk.recovery import Candidates, Payload, Progress, RecoveryError

__all__ = ["choose", "find_by_number"]


def choose(work: Recovery, owner: str, chain: str | None, archive: str | None) -> Payload:
    """Return the call that belongs to an owner. Raise Failure if several do."""
    from cfnode.sdk.recovery import FindCandidates

    with _progress(work) as note:
        found = work.sdk.call(FindCandidates(owner, chain, archive, work.eth_rpc, note))
    return _only(work, found, owner)


def find_by_number(
    work: Recovery, chain: str, number: int, archive: str | None, reason: RecoveryError
) -> Payload:
    """Return the call that pays what the broadcast `number` should have paid, which is on offer by no number.

    It is the call for the failed transfer of a batch, the whole of an aborted batch, or a call that the State
    Chain has given up. Raises `reason`, with what the search found, if there is none.
    """
    from cfnode.sdk import SdkError, TransportError
    from cfnode.sdk.recovery import AlreadySent, BeingSigned, Expired, FindCallsOfBatch

    try:
        with _progress(work) as note:
            found = work.sdk.call(FindCallsOfBatch(chain, number, archive, work.eth_rpc, note))
    except (AlreadySent, BeingSigned, TransportError):
        raise
    except SdkError as error:
        if isinstance(error, Expired) and isinstance(reason, Expired):
            raise  # the search has the proof
        reason.message = f"{reason.message}; {error.message}"
        raise reason from None
    return _only(work, found, f"the broadcast {number}")


@contextmanager
def _progress(work: Recovery) -> Iterator[Callable[[Progress], None]]:
    """Display how far a search is; an interruption says which blocks have been read."""
    from cfnode.cli.progress import counting

    read = ""
    with counting("looking for the call", quiet=work.as_json) as advance:

        def note(progress: Progress) -> None:
            nonlocal read
            read = f"; {progress.span} have been read"
            advance(progress.span, progress.count, progress.most)

        try:
            yield note
        except KeyboardInterrupt:
            raise Failure(f"interrupted{read}", ExitCode.INTERRUPTED) from None


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
