"""`cfnode swap status` and `cfnode swap watch`: the state of a swap, once or until its end."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.exits import CommandFailure
from cfnode.cli.options import every_option
from cfnode.cli.output import print_json, print_text
from cfnode.cli.sdk_errors import reported
from cfnode.cli.swap.options import client, flags_of, service_options
from cfnode.cli.swap.receipt import headline, progress, receipt, steps_reached
from cfnode.cli.tables import print_command, print_record
from cfnode.cli.values import Units
from cfnode.swaps.timing import STATE_CHAIN_MS

if TYPE_CHECKING:
    from cfnode.sdk import SwapStatus
    from cfnode.sdk.models.payout import FailedPayout

__all__ = ["status", "watch"]

DEV_POLL_S = 1.0


_quoted_option = click.option(
    "--quoted",
    type=Units(),
    metavar="AMOUNT",
    help="Output that the quote promised, in whole coins; the receipt compares the swap with it.",
)


@click.command()
@click.argument("reference")
@_quoted_option
@service_options
def status(reference: str, quoted: Decimal | None, as_json: bool, **options: Any) -> None:
    """Print the status of the swap of REFERENCE: a deposit channel's id, a swap id or a transaction."""
    with reported(), client(**options) as sdk:
        swap_status = sdk.get_status_v2(reference)
    flags = flags_of(**options)
    if as_json:
        print_json(_document(swap_status, flags))
        return
    _print_end(swap_status, flags, quoted)


@click.command()
@click.argument("reference")
@_quoted_option
@every_option(None, text="Polling interval in seconds.  [default: a block's time: 6; 1 for dev]")
@service_options
def watch(reference: str, quoted: Decimal | None, every: float | None, as_json: bool, **options: Any) -> None:
    """Follow the swap of REFERENCE to its end and print its receipt; --json prints each change as a line."""
    from cfnode.cli.progress import waiting

    swap_status: SwapStatus | None = None
    reached = 0
    stopped_text, flags = "stopped watching; the swap itself continues", flags_of(**options)
    with reported(stopped_text), client(**options) as sdk:
        changes, line = sdk.watch_status(reference, seconds=every or _pace(options["network"])), ""
        while swap_status is None or not swap_status.is_final:
            with waiting(headline(swap_status) if swap_status else "asking", quiet=as_json):
                swap_status = next(changes)
            reached = max(reached, steps_reached(swap_status))
            text = _line(swap_status, flags) if as_json else progress(swap_status, reached)
            if text != line:
                line = text
                print_text(line if as_json else f"{datetime.now():%H:%M:%S}  {line}")
    if not as_json:
        print_text("")
        _print_end(swap_status, flags, quoted)
    if swap_status.state == "FAILED":
        is_explained = not as_json and _lost(swap_status) is not None
        why = "" if is_explained else _failure(swap_status)
        raise CommandFailure("the swap has failed" + (f": {why}" if why else ""))


def _pace(network: str) -> float:
    """Return the seconds between two requests about a swap.

    A development chain may be much faster than the others.
    """
    return DEV_POLL_S if network == "dev" else STATE_CHAIN_MS / 1000


def _document(swap_status: SwapStatus, flags: tuple[str, ...]) -> dict[str, Any]:
    """Return the status as JSON; a failed swap also has `failedPayout`."""
    payout = _lost(swap_status)
    return swap_status.to_json() | ({} if payout is None else {"failedPayout": payout.to_json(*flags)})


def _line(swap_status: SwapStatus, flags: tuple[str, ...]) -> str:
    """Return a change as JSON on one line."""
    import msgspec

    return msgspec.json.encode(_document(swap_status, flags)).decode()


def _print_end(swap_status: SwapStatus, flags: tuple[str, ...], quoted: Decimal | None) -> None:
    """Print the receipt, and for a failed payout where the money is and the command that recovers it."""
    print_record(receipt(swap_status, quoted), headline(swap_status))
    payout = _lost(swap_status)
    if payout is None:
        return
    print_text(f"\n{payout.explanation}")
    if (command := payout.command(*flags)) is not None:
        print_command("Recover it", command)


def _lost(swap_status: SwapStatus) -> FailedPayout | None:
    """Return the failed payout of a swap that has failed, or None."""
    return swap_status.failed_payout if swap_status.state == "FAILED" else None


def _failure(swap_status: SwapStatus) -> str | None:
    for part in (swap_status.deposit, swap_status.swap_egress, swap_status.refund_egress):
        if part is not None and part.failure is not None:
            return f"{part.failure.mode}: {part.failure.reason.get('message', '')}"
    return None
