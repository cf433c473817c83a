"""Choice of the call that belongs to an owner or a batch.

A single call is used; several are printed as a table to choose from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from cfnode.cli.exits import CommandFailure, ExitCode

if TYPE_CHECKING:
    from cfnode.cli.recover.steps import Recovery
    from cfnode.sdk.recovery import Candidates, Payload, Progress, RecoveryError

__all__ = ["choose", "find_by_number"]


def choose(recovery: Recovery, owner: str, chain: str | None, archive: str | None) -> Payload:
    """Return the call that belongs to an owner. Raise Failure if several do."""
    from cfnode.sdk.recovery import FindCandidates

    with _progress(recovery) as note:
        candidates = recovery.sdk.call(FindCandidates(owner, chain, archive, recovery.eth_rpc, note))
    return _only(recovery, candidates, owner)


def find_by_number(
    recovery: Recovery, chain: str, number: int, archive: str | None, reason: RecoveryError
) -> Payload:
    """Return the call that pays what the broadcast `number` should have paid, which is on offer by no number.

    It is the call for the failed transfer of a batch, the whole of an aborted batch, or a call that the State
    Chain has given up. Raises `reason`, with what the search found, if there is none.
    """
    from cfnode.sdk import SdkError, TransportError
    from cfnode.sdk.recovery import AlreadySent, BeingSigned, Expired, FindCallsOfBatch

    try:
        with _progress(recovery) as note:
            candidates = recovery.sdk.call(FindCallsOfBatch(chain, number, archive, recovery.eth_rpc, note))
    except (AlreadySent, BeingSigned, TransportError):
        raise
    except SdkError as error:
        if isinstance(error, Expired) and isinstance(reason, Expired):
            raise  # the search has the proof
        reason.message = f"{reason.message}; {error.message}"
        raise reason from None
    return _only(recovery, candidates, f"the broadcast {number}")


@contextmanager
def _progress(recovery: Recovery) -> Iterator[Callable[[Progress], None]]:
    """Display how far a search is; an interruption says which blocks have been read."""
    from cfnode.cli.progress import counting

    progress_text = ""
    with counting("looking for the call", quiet=recovery.as_json) as advance:

        def note(progress: Progress) -> None:
            nonlocal progress_text
            progress_text = f"; {progress.span} have been read"
            advance(progress.span, progress.count, progress.most)

        try:
            yield note
        except KeyboardInterrupt:
            raise CommandFailure(f"interrupted{progress_text}", ExitCode.INTERRUPTED) from None


def _only(recovery: Recovery, candidates: Candidates, owner: str) -> Payload:
    from cfnode.sdk.recovery import candidate

    recovery.report["asked"] = list(candidates.asked)
    if candidates.asked and recovery.is_verbose:
        recovery.say(f"Searched {', then '.join(candidates.asked)}.")
    if len(candidates.calls) > 1:
        recovery.report["candidates"] = [candidate(payload) for payload in candidates.calls]
        if not recovery.as_json:
            _print_table(recovery, candidates.calls)
        raise CommandFailure(
            f"{len(candidates.calls)} calls may belong to {owner}: choose one with CHAIN and its number",
            ExitCode.SEVERAL_CALLS,
        )
    return candidates.calls[0]


def _print_table(recovery: Recovery, calls: tuple[Payload, ...]) -> None:
    """Print the calls, and below them the command for each of those which have a number of their own."""
    from cfnode.cli.tables import print_table
    from cfnode.sdk.recovery import amount_text, subject

    rows = [
        (
            f"{payload.chain} {payload.broadcast_id}",
            amount_text(payload) if not payload.is_whole_batch else subject(payload),
            "" if payload.is_whole_batch else payload.recipient_text,
            "" if payload.message is None else f"{len(payload.message)} bytes",
        )
        for payload in calls
    ]
    print_table(("call", "pays", "to", "message"), rows, "no call")
    for payload in calls:
        if (command := recovery.command(payload)) is not None:
            click.echo(command)
