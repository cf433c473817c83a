"""`cfnode swap status` and `cfnode swap watch`: what is the state of a swap?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.exits import Failure
from cfnode.cli.options import every_option
from cfnode.cli.output import console, print_json, print_text
from cfnode.cli.sdk_errors import reported
from cfnode.cli.swap.options import client, repeated_options, service_options, units
from cfnode.core.assets import Asset, asset_by_symbol

if TYPE_CHECKING:
    from cfnode.sdk import SwapStatus
    from cfnode.sdk.models.transfer import Egress

__all__ = ["status", "watch"]

_STEPS = ("WAITING", "RECEIVING", "SWAPPING", "SENDING", "SENT", "COMPLETED")
_MEANINGS = {
    "WAITING": "for the deposit",
    "RECEIVING": "the deposit is unconfirmed",
    "SWAPPING": "in the pools",
    "SENDING": "to the receiver",
    "SENT": "waiting for the chain",
    "COMPLETED": "done",
    "FAILED": "failed",
}


@click.command()
@click.argument("reference")
@service_options
def status(reference: str, as_json: bool, **options: Any) -> None:
    """Print the status of the swap of REFERENCE: a deposit channel's id, a swap id or a transaction."""
    with reported(), client(**options) as sdk:
        found = sdk.get_status_v2(reference)
    flags = _flags(**options)
    if as_json:
        print_json(_document(found, flags))
        return
    _print_status(found)
    if advice := _advice(found, flags):
        print_text(advice)


@click.command()
@click.argument("reference")
@every_option()
@service_options
def watch(reference: str, every: float, as_json: bool, **options: Any) -> None:
    """Follow the swap of REFERENCE until it ends; --json prints one object per line for each change."""
    from cfnode.cli.progress import waiting

    found: SwapStatus | None = None
    left, flags = "stopped watching; the swap itself continues", _flags(**options)
    with reported(left), client(**options) as sdk:
        changes, line = sdk.watch_status(reference, seconds=every), ""
        while found is None or not found.is_final:
            with waiting(_MEANINGS.get(found.state, "") if found else "asking", quiet=as_json):
                found = next(changes)
            if (text := _line(found, as_json, flags)) != line:
                print_text(line := text)
    if found.state == "FAILED":
        if not as_json and (advice := _advice(found, flags)):
            print_text(advice)
        raise Failure("the swap has failed" + (f": {why}" if (why := _failure(found)) else ""))


def _flags(network: str, node: str | None, backend: str | None) -> tuple[str, ...]:
    """The options with which `cfnode recover` uses the same services."""
    return repeated_options((("--network", network), ("--node", node), ("--backend", backend)))


def _advice(found: SwapStatus, flags: tuple[str, ...]) -> str:
    """An explanation of a failed swap's payout, and the command that recovers it."""
    if found.state != "FAILED" or (payout := found.failed_payout) is None:
        return ""
    command = payout.command(*flags)
    return payout.explanation if command is None else f"{payout.explanation}\nRecover it: {command}"


def _document(found: SwapStatus, flags: tuple[str, ...]) -> dict[str, Any]:
    """The status as JSON; a failed swap also has `failedPayout`."""
    payout = found.failed_payout if found.state == "FAILED" else None
    return found.to_json() | ({} if payout is None else {"failedPayout": payout.to_json(*flags)})


def _line(found: SwapStatus, as_json: bool, flags: tuple[str, ...]) -> str:
    """A change on one line: the whole status as JSON, or a summary."""
    import msgspec

    if as_json:
        return msgspec.json.encode(_document(found, flags)).decode()
    done = _STEPS.index(found.state) + 1 if found.state in _STEPS else 0
    bar = "●" * done + "○" * (len(_STEPS) - done)
    return f"{bar}  {found.state:<10} {_MEANINGS.get(found.state, '')}{_detail(found)}"


def _detail(found: SwapStatus) -> str:
    if found.swap is not None and found.swap.dca is not None and found.state == "SWAPPING":
        dca = found.swap.dca
        return f", {dca.executed_chunks} of {dca.executed_chunks + dca.remaining_chunks} chunks"
    if found.state == "COMPLETED" and found.refund_egress is not None:
        return ", refunded" + (" in part" if found.swap_egress is not None else "")
    return ""


def _print_status(found: SwapStatus) -> None:
    from rich.table import Table

    source = _asset(found.src_chain, found.src_asset)
    destination = _asset(found.dest_chain, found.dest_asset)
    table = Table(show_header=False, title=f"{found.state}: {_MEANINGS.get(found.state, '')}{_detail(found)}")
    rows = {
        "swap": found.swap_id,
        "channel": found.deposit_channel and found.deposit_channel.id,
        "deposit to": found.deposit_channel and found.deposit_channel.deposit_address,
        "deposited": source and found.deposit and units(found.deposit.amount, source),
        "receiver": found.dest_address,
        _outcome("sent", found.swap_egress): _amount(found.swap_egress, destination),
        "sent as": found.swap_egress and found.swap_egress.tx_ref,
        _outcome("refunded", found.refund_egress): _amount(found.refund_egress, source),
        "failure": _failure(found),
    }
    for name, value in rows.items():
        if value:
            table.add_row(name, str(value))
    console().print(table)


def _outcome(done: str, egress: Egress | None) -> str:
    """The name of an amount in the table, which depends on the success of the payout."""
    return f"not {done}" if egress is not None and egress.failure is not None else done


def _amount(egress: Egress | None, asset: Asset | None) -> str:
    return "" if egress is None or asset is None else units(egress.amount, asset)


def _failure(found: SwapStatus) -> str | None:
    for part in (found.deposit, found.swap_egress, found.refund_egress):
        if part is not None and part.failure is not None:
            return f"{part.failure.mode}: {part.failure.reason.get('message', '')}"
    return None


def _asset(chain: str | None, symbol: str | None) -> Asset | None:
    try:
        return asset_by_symbol(chain or "", symbol or "")
    except KeyError:
        return None
