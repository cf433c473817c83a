"""`cfnode wait`: polling of a node's JSON-RPC until the node is ready."""

from __future__ import annotations

import time

import click

from cfnode.cli import client
from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.options import json_option, node_option, timeout_option
from cfnode.cli.output import print_json
from cfnode.cli.values import WholeNumber
from cfnode.core.foreign import block_number, whole_number
from cfnode.core.safe_text import origin_of

WAIT_POLL_S = 0.2
"""Polling interval in seconds."""


def unmet(url: str, synced: bool, block: int | None, finalized: int | None) -> str | None:
    """Return the condition that is not met yet, as text; None if all are met.

    Raises NodeUnreachable, CallRefused.
    """
    with client.reading(url):
        return _unmet(url, synced, block, finalized)


def _unmet(url: str, synced: bool, block: int | None, finalized: int | None) -> str | None:
    health = client.call(url, "system_health", [], timeout=5)
    if synced and health["isSyncing"]:
        return f"the node is still syncing, with {whole_number(health['peers'], 32)} peers"
    if synced and health["shouldHavePeers"] and not health["peers"]:
        return "the node has no peers"
    if block is not None:
        best = block_number(client.call(url, "chain_getHeader", [], timeout=5))
        if best < block:
            return f"the best block is {best}, not yet {block}"
    if finalized is not None:
        head = client.call(url, "chain_getFinalizedHead", [], timeout=5)
        number = block_number(client.call(url, "chain_getHeader", [head], timeout=5))
        if number < finalized:
            return f"the finalized block is {number}, not yet {finalized}"
    return None


@click.command()
@click.option(
    "--synced", is_flag=True, help="Wait until isSyncing is false (and there are peers, if needed)."
)
@click.option("--block", type=WholeNumber(min=0), help="Wait until the best block has this number.")
@click.option("--finalized", type=WholeNumber(min=0), help="Wait until this number is finalized.")
@timeout_option(minimum=0, text="Maximum seconds in total.")
@node_option()
@json_option
def wait(
    synced: bool, block: int | None, finalized: int | None, timeout: float, url: str, as_json: bool
) -> None:
    """Wait until a node answers and meets all conditions; exit code 5 after the timeout."""
    began = time.monotonic()
    deadline = began + timeout
    while True:
        try:
            missing, name = unmet(url, synced, block, finalized), "TIMEOUT"
        except client.ClientAccessRefused:
            raise
        except client.NodeUnreachable as error:
            missing, name = error.message, error.name
        if missing is None:
            if as_json:
                print_json({"node": origin_of(url), "seconds": round(time.monotonic() - began, 3)})
            elif not synced and block is None and finalized is None:
                click.echo(
                    f"{origin_of(url)} answers; --synced, --block and --finalized wait for more", err=True
                )
            return
        if time.monotonic() >= deadline:
            raise CommandFailure(
                f"after {timeout:g} s: {missing}; raise --timeout to wait longer", ExitCode.NETWORK, name=name
            )
        time.sleep(min(WAIT_POLL_S, max(0.0, deadline - time.monotonic())))
