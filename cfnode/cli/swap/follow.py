"""`cfnode swap status` and `cfnode swap watch`: the state of a swap, once or until its end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.exits import CommandFailure
from cfnode.cli.options import every_option
from cfnode.cli.output import print_json, print_text
from cfnode.cli.sdk_errors import reported
from cfnode.cli.swap.options import client, eth_rpc_option, flags_of, repeated_options, service_options
from cfnode.cli.swap.receipt import headline, progress, receipt, steps_reached
from cfnode.cli.tables import print_command, print_record
from cfnode.cli.values import Units
from cfnode.swaps.fate import EXPLANATIONS
from cfnode.swaps.timing import STATE_CHAIN_MS

if TYPE_CHECKING:
    from cfnode.sdk import SwapSDK, SwapStatus
    from cfnode.sdk.models.payout import FailedPayout

__all__ = ["status", "watch"]

DEV_POLL_S = 1.0
_SENT = "already sent: "
"""The beginning of AlreadySent's text."""


_quoted_option = click.option(
    "--quoted",
    type=Units(),
    metavar="AMOUNT",
    help="Output that the quote promised, in whole coins; the receipt compares the swap with it.",
)


_eth_rpc_option = eth_rpc_option(
    "Node of the payout's EVM chain: says of a failed payout whether it was recovered already."
)


@click.command()
@click.argument("reference")
@_quoted_option
@_eth_rpc_option
@service_options
def status(
    reference: str, quoted: Decimal | None, eth_rpc: str | None, as_json: bool, **options: Any
) -> None:
    """Print the status of the swap of REFERENCE: a deposit channel's id, a swap id or a transaction."""
    with reported(), client(**options) as sdk:
        swap_status = sdk.get_status_v2(reference)
        end = _end_of(sdk, swap_status, eth_rpc, flags_of(**options))
    if as_json:
        print_json(_document(swap_status, end))
        return
    _print_end(swap_status, end, quoted)


@click.command()
@click.argument("reference")
@_quoted_option
@_eth_rpc_option
@every_option(None, text="Polling interval in seconds.  [default: a block's time: 6; 1 for dev]")
@service_options
def watch(
    reference: str,
    quoted: Decimal | None,
    eth_rpc: str | None,
    every: float | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Follow the swap of REFERENCE to its end and print its receipt; --json prints each change as a line.

    The command fails if the swap has failed, unless --eth-rpc shows that its payout was recovered.
    """
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
            end = _end_of(sdk, swap_status, eth_rpc, flags)
            text = _line(swap_status, end) if as_json else progress(swap_status, reached)
            if text != line:
                line = text
                print_text(line if as_json else f"{datetime.now():%H:%M:%S}  {line}")
    if not as_json:
        print_text("")
        _print_end(swap_status, end, quoted)
    if swap_status.state == "FAILED" and not (end is not None and end.is_recovered):
        is_explained = not as_json and end is not None
        why = "" if is_explained else _failure(swap_status)
        raise CommandFailure("the swap has failed" + (f": {why}" if why else ""))


def _pace(network: str) -> float:
    """Return the seconds between two requests about a swap.

    A development chain may be much faster than the others.
    """
    return DEV_POLL_S if network == "dev" else STATE_CHAIN_MS / 1000


@dataclass(frozen=True, slots=True)
class _Lost:
    """A failed payout, what the node of its EVM chain knows of a recovery, and the options of commands.

    `is_recovered` is None if that is unknown; `finding` is the node's answer, or why there is none.
    """

    payout: FailedPayout
    is_recovered: bool | None
    finding: str
    flags: tuple[str, ...]

    @property
    def command(self) -> str | None:
        return None if self.is_recovered else self.payout.command(*self.flags)

    @property
    def explanation(self) -> str:
        """What failed, and where the money is."""
        payout = self.payout
        if not self.is_recovered or payout.fate is None:
            return payout.explanation
        return payout.explanation.removesuffix(EXPLANATIONS[payout.fate]).rstrip()

    def to_json(self) -> dict[str, Any]:
        """Return the failed payout as JSON, with `isRecovered` if a node of its chain has answered."""
        document = self.payout.to_json(*self.flags)
        if self.is_recovered is None:
            return document
        changed = {"explanation": f"{self.explanation} {self.finding}".rstrip(), "command": self.command}
        return document | changed | {"isRecovered": self.is_recovered}


def _end_of(
    sdk: SwapSDK, swap_status: SwapStatus, eth_rpc: str | None, flags: tuple[str, ...]
) -> _Lost | None:
    """Return the failed payout of a swap that has failed, or None."""
    payout = swap_status.failed_payout if swap_status.state == "FAILED" else None
    if payout is None:
        return None
    if eth_rpc is None or not payout.is_recoverable:
        return _Lost(payout, None, "", flags)
    flags = (*flags, *repeated_options([("--eth-rpc", eth_rpc)]))
    return _Lost(payout, *_recovery(sdk, payout, eth_rpc), flags)


def _recovery(sdk: SwapSDK, payout: FailedPayout, eth_rpc: str) -> tuple[bool | None, str]:
    """Return whether the payout's call was sent, by the contracts on its chain, and the finding as text."""
    from cfnode.sdk import SdkError
    from cfnode.sdk.recovery import AlreadySent, FindCandidates

    try:
        sdk.call(FindCandidates(payout.reference, payout.chain, None, eth_rpc))
    except AlreadySent as error:
        return True, f"Recovered: {error.message.removeprefix(_SENT)}."
    except SdkError as error:
        return None, f"Whether it was recovered already is unknown: {error.message}"
    return False, ""


def _document(swap_status: SwapStatus, end: _Lost | None) -> dict[str, Any]:
    """Return the status as JSON; a failed swap also has `failedPayout`."""
    return swap_status.to_json() | ({} if end is None else {"failedPayout": end.to_json()})


def _line(swap_status: SwapStatus, end: _Lost | None) -> str:
    """Return a change as JSON on one line."""
    import msgspec

    return msgspec.json.encode(_document(swap_status, end)).decode()


def _print_end(swap_status: SwapStatus, end: _Lost | None, quoted: Decimal | None) -> None:
    """Print the receipt, and for a failed payout where the money is and the command that recovers it."""
    outcome = "; it was recovered" if end is not None and end.is_recovered else ""
    print_record(receipt(swap_status, quoted), f"{headline(swap_status)}{outcome}")
    if end is None:
        return
    print_text(f"\n{end.explanation}")
    if end.finding:
        print_text(end.finding)
    if (command := end.command) is not None:
        print_command("Recover it", command)


def _failure(swap_status: SwapStatus) -> str | None:
    for part in (swap_status.deposit, swap_status.swap_egress, swap_status.refund_egress):
        if part is not None and part.failure is not None:
            return f"{part.failure.mode}: {part.failure.reason.get('message', '')}"
    return None
